"""`gaps`: what was gone before it could be read, and taking note of it."""

import argparse
from typing import Any

from rich.table import Table
from rich.text import Text

from .exit_codes import DONE
from .maintenance import check_printable, operator, writer
from .opening import settings_from
from .output import print_json
from .terminal import Terminal

LACKS = "gaps to acknowledge"


def show(arguments: argparse.Namespace) -> int:
    """Prints the gaps that nobody has acknowledged; with --all every one."""
    everything = arguments.everything
    with writer(settings_from(arguments.config), LACKS) as connection:
        from rebalance_monitor.streaming.store import gaps

        stored = gaps.listed(connection, everything=everything)
    objects = [_object(one) for one in stored]
    if arguments.output == "json":
        for gap in objects:
            print_json(gap)
    elif not objects:
        print("no gap" if everything else "no gap that nobody has acknowledged")
    else:
        table = Table("found", "cluster", "topic", "partition", "offsets", "reason", "acknowledged", box=None)
        for gap in objects:
            noted = gap["acknowledged"]
            who = "-" if noted is None else f"{noted['operator']} as {noted['by']} at {noted['at']}"
            span = f"{gap['from_offset']} to {gap['to_offset']}"
            cells = (gap["cluster"], gap["topic"], str(gap["partition"]), span, gap["reason"], who)
            table.add_row(gap["found"], *(Text(cell) for cell in cells))
        Terminal().print_whole(table)
    return DONE


def acknowledge(arguments: argparse.Namespace) -> int:
    """Takes note of gaps; the monitor says no more of them within seconds."""
    check_printable(arguments, "cluster", "topic")
    with writer(settings_from(arguments.config), LACKS) as connection:
        from rebalance_monitor.streaming.store import gaps

        count = gaps.acknowledge(connection, operator(), arguments.cluster, arguments.topic)
    print(f"{count} {'gap is' if count == 1 else 'gaps are'} acknowledged")
    return DONE


def _object(gap: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": "gap",
        "cluster": gap.cluster,
        "topic": gap.topic,
        "partition": gap.partition,
        "from_offset": gap.from_offset,
        "to_offset": gap.to_offset,
        "reason": gap.reason,
        "found": gap.found_at.isoformat(timespec="seconds"),
        "acknowledged": None,
    }
    if gap.acknowledged_at is not None:
        shown["acknowledged"] = {
            "at": gap.acknowledged_at.isoformat(timespec="seconds"),
            "by": gap.acknowledged_by,
            "operator": gap.acknowledged_operator,
        }
    return shown
