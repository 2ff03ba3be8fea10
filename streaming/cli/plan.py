"""`plan`: one JSON case per line in, one line with what Kafka would answer out, in order."""

import gzip
import io
import json
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from rebalance_monitor.streaming.calculator import FAMILIES, WITH_PLUG_INS, OwnAssignors, Solve
from rebalance_monitor.streaming.cli.errors import InputError
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, CANNOT_TELL, DONE
from rebalance_monitor.streaming.cli.outline import outline
from rebalance_monitor.streaming.cli.output import print_json
from rebalance_monitor.streaming.core.model.streams_settings import PlugIn

GZIP_MAGIC = b"\x1f\x8b"


def plan(family: str, path: str, config: str | None = None, *, output: str) -> int:
    """Solve every line of cases of this family (one of FAMILIES); a bad line is reported in place and gives BAD_INPUT
    at the end. Cases of applications to which the configuration gives a plug-in are solved with it, in processes of its
    own; if one fails, it is told in place, and the end is CANNOT_TELL."""
    if config is None:
        return _plan(FAMILIES[family], path, output=output)
    if family not in WITH_PLUG_INS:
        raise InputError(f"family {family} knows no plug-ins, so it needs no --config; {', '.join(WITH_PLUG_INS)} do")
    from rebalance_monitor.streaming.plug_ins.host import PlugInHost  # most plans need neither

    host = PlugInHost()
    own = OwnAssignors(_plug_ins(config), host)
    try:
        ended = _plan(lambda case: WITH_PLUG_INS[family](case, own), path, output=output)
    finally:
        host.close()
    return CANNOT_TELL if own.failed and ended == DONE else ended


def _plug_ins(config: str) -> dict[str, PlugIn]:
    """The plug-in of each application of the configuration. Two clusters may have applications of one name."""
    from rebalance_monitor.streaming.cli.opening import settings_from

    found: dict[str, PlugIn] = {}
    for cluster in settings_from(config).core_clusters().values():
        for application, known in cluster.streams.items():
            if known.plug_in is not None and found.setdefault(application, known.plug_in) != known.plug_in:
                raise InputError(
                    f"{config}: application {application} has different plug-ins in two clusters; leave one of them"
                )
    return found


def _plan(solve: Solve, path: str, *, output: str) -> int:
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
