"""`plan`: one JSON case per line in, one line with what Kafka would answer out, in order."""

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from rebalance_monitor.streaming.calculator import FAMILIES, WITH_PLUG_INS, OwnAssignors, Solve
from rebalance_monitor.streaming.core.model.settings import PlugIn
from .exit_codes import BAD_INPUT, CANNOT_TELL, DONE, InputError
from .input_lines import lines_of
from .outline import outline
from .output import print_json


def plan(arguments: argparse.Namespace) -> int:
    """Solve every line of cases of this family, one of FAMILIES (`solve_all`). Cases of applications to which the
    configuration gives a plug-in are solved with it, in processes of its own; if one fails, it is told in place, and
    the end is CANNOT_TELL."""
    family, path, config, output = arguments.family, arguments.file, arguments.config, arguments.output
    solve = solver(FAMILIES, family)
    if config is None:
        return solve_all(solve, path, output=output)
    if family not in WITH_PLUG_INS:
        raise InputError(f"family {family} knows no plug-ins, so it needs no --config; {', '.join(WITH_PLUG_INS)} do")
    from rebalance_monitor.streaming.plug_ins.host import PlugInHost  # most plans need neither

    host = PlugInHost(counted=True)
    own = OwnAssignors(_plug_ins(config), host)
    try:
        ended = solve_all(lambda case: WITH_PLUG_INS[family](case, own), path, output=output)
    finally:
        host.close()
    return CANNOT_TELL if own.failed and ended == DONE else ended


def _plug_ins(config: str) -> dict[str, PlugIn]:
    """The plug-in of each application of the configuration. Two clusters may have applications of one name."""
    from .opening import settings_from

    found: dict[str, PlugIn] = {}
    for cluster in settings_from(config).core_clusters().values():
        for application, known in cluster.streams.items():
            if known.plug_in is not None and found.setdefault(application, known.plug_in) != known.plug_in:
                raise InputError(
                    f"{config}: application {application} has different plug-ins in two clusters; leave one of them"
                )
    return found


def solver(families: Mapping[str, Solve], family: str) -> Solve:
    """That of this family. Raises InputError."""
    if family not in families:
        raise InputError(f"unknown family {family!r}; known are {', '.join(sorted(families))}")
    return families[family]


def solve_all(solve: Solve, path: str, *, output: str) -> int:
    """Solve every line of cases; a bad line is reported in place and gives BAD_INPUT at the end; no case at all gives
    CANNOT_TELL."""
    bad, cases = False, 0
    for number, line in enumerate(lines_of(path), start=1):
        if not line.strip():
            continue
        cases += 1
        answer, sound = _answer(solve, line, number)
        bad = bad or not sound
        if output == "json":
            print_json(answer)
        else:
            print("\n".join(outline(answer)))
    sys.stdout.flush()
    if not cases:
        print(f"rebalance-monitor: {path}: it holds no cases, so there is nothing to compute", file=sys.stderr)
        return CANNOT_TELL
    return BAD_INPUT if bad else DONE


def _answer(solve: Solve, line: bytes, number: int) -> tuple[dict[str, Any], bool]:
    try:
        case = json.loads(line)
    except UnicodeDecodeError:
        return _unsolved("not JSON: it is not UTF-8 text", number), False
    except RecursionError:
        return _unsolved("not JSON: too many brackets within each other", number), False
    except ValueError as why:
        return _unsolved(f"not JSON: {why}", number), False
    if not isinstance(case, dict):
        return _unsolved("not a case of this family: it is not a JSON object", number), False
    try:
        return {"id": case["id"], "expected": solve(case)}, True
    except KeyError as why:
        return _unsolved(f"not a case of this family: it lacks {why}", number), False
    except (ValueError, RecursionError) as why:
        return _unsolved(f"not a case of this family: {why}", number), False
    except (TypeError, AttributeError, IndexError) as why:
        return _unsolved(f"not a case of this family: a part of it has another shape ({why})", number), False


def _unsolved(why: str, line: int) -> dict[str, Any]:
    return {"id": None, "error": why, "line": line}
