"""What people see of a replay: one line per generation, then the violations and the sums."""

from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from streaming.cli.terminal import Terminal

COLOURS = {"match": "green", "explainable": "cyan", "unexplained": "red", "not_judged": "yellow"}
SEVERITY_COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}


def clock(at_ms: int | None) -> str:
    """UTC time of day with milliseconds; the number itself where it is no day of any calendar."""
    if at_ms is None:
        return "-"
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    except (OverflowError, OSError, ValueError):
        return str(at_ms)


def print_generations(objects: list[dict[str, Any]]) -> None:
    """A table of generations, one of violations, and one line of sums."""
    console = Terminal()
    generations = [one for one in objects if one["kind"] == "generation"]
    violations = [one for one in objects if one["kind"] == "violation"]
    table = Table("time (UTC)", "group", "gen", "protocol", "members", "verdict", "cause", "why", box=None)
    for one in generations:
        verdict = one["verdict"]
        table.add_row(
            clock(one["at_ms"]),
            Text(one["group"]),
            str(one["generation"]),
            Text(one["protocol"] or "-"),
            str(len(one["members"])),
            Text(verdict["grade"], style=COLOURS[verdict["grade"]]),
            Text(", ".join(cause["kind"] for cause in one["cause"])),
            Text(verdict["reason"] or ""),
        )
    if generations:
        console.print_whole(table)
    if violations:
        found = Table("opened", "resolved", "severity", "rule", "code", "message", box=None)
        for one in violations:
            found.add_row(
                clock(one["opened_at_ms"]),
                clock(one["resolved_at_ms"]),
                Text(one["severity"], style=SEVERITY_COLOURS[one["severity"]]),
                one["rule"],
                one["code"],
                Text(one["message"]),
            )
        console.print_whole(found)
    _print_commits(console, [one for one in objects if one["kind"] == "offset_commit"])
    summary = objects[-1]
    grades = ", ".join(f"{count} {grade}" for grade, count in summary["grades"].items() if count)
    console.print(
        f"{summary['records']} records, {summary['generations']} generations ({grades or 'none'}), "
        f"{len(violations)} violations, {summary['undecodable']} undecodable, {summary['gaps']} gaps"
    )


def _print_commits(console: Terminal, commits: list[dict[str, Any]]) -> None:
    if not commits:
        return
    table = Table("committed (UTC)", "group", "topic", "partition", "offset", "metadata", box=None)
    for one in commits:
        offset = Text("deleted", style="yellow") if one["offset"] is None else Text(str(one["offset"]))
        place = Text(one["group"]), Text(one["topic"]), str(one["partition"])
        table.add_row(clock(one["commit_ms"]), *place, offset, Text(one["metadata"] or ""))
    console.print_whole(table)
