"""`plan`: one JSON case per line in, one line with what Kafka would answer out, in order."""

import gzip
import io
import json
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from rebalance_monitor.streaming.calculator import FAMILIES, Solve
from rebalance_monitor.streaming.cli.errors import InputError
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, DONE
from rebalance_monitor.streaming.cli.outline import outline
from rebalance_monitor.streaming.cli.output import print_json

GZIP_MAGIC = b"\x1f\x8b"


def plan(family: str, path: str, *, output: str) -> int:
    """Solve every line of cases of this family (one of FAMILIES); a bad line is reported in place and gives BAD_INPUT
    at the end."""
    solve = FAMILIES[family]
    bad = False
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        answer, sound = _answer(solve, line, number)
        bad = bad or not sound
        if output == "json":
            print_json(answer)
        else:
            print("\n".join(outline(answer)))
    sys.stdout.flush()
    return BAD_INPUT if bad else DONE


def _answer(solve: Solve, line: bytes, number: int) -> tuple[dict[str, Any], bool]:
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as why:
        return _unsolved(f"not JSON: {why}", number), False
    try:
        return {"id": case["id"], "expected": solve(case)}, True
    except KeyError as why:
        return _unsolved(f"not a case of this family: it lacks {why}", number), False
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError) as why:
        return _unsolved(f"not a case of this family: {why}", number), False


def _unsolved(why: str, line: int) -> dict[str, Any]:
    return {"id": None, "error": why, "line": line}


def _lines(path: str) -> Iterator[bytes]:
    try:
        raw: BinaryIO = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115 - closed by the loop's end
    except OSError as why:
        raise InputError(f"cannot read {path}: {why.strerror}") from why
    with raw:
        peekable = io.BufferedReader(cast(io.RawIOBase, raw))
        zipped = peekable.peek(2)[:2] == GZIP_MAGIC
        source: Any = gzip.GzipFile(fileobj=peekable) if zipped else peekable
        try:
            yield from source
        except (OSError, EOFError) as why:
            raise InputError(f"cannot read {path}: {why}") from why
