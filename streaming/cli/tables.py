"""What people see of a replay: one line per generation, the violations, the groups of other kinds, the sums."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.streams.words import ON_END_OFFSETS, missing_end_offsets
from rebalance_monitor.streaming.core.streams.words import summary as streams_line
from .terminal import Terminal

COLOURS = {"match": "green", "explainable": "cyan", "unexplained": "red", "not_judged": "yellow"}
OTHER_KINDS = {
    "unknown": "unknown record type",
}
SEVERITY_COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "cyan", "info": "dim"}


def clock(at_ms: int | None) -> str:
    """UTC date and time with milliseconds; the number itself where it is no day of any calendar."""
    if at_ms is None:
        return "-"
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    except (OverflowError, OSError, ValueError):
        return str(at_ms)


def print_generations(objects: list[dict[str, Any]]) -> None:
    """Tables of generations, violations, commits and groups of other kinds; then the sums, and what has no verdict."""
    console = Terminal()
    generations = [one for one in objects if one["kind"] == "generation"]
    violations = [one for one in objects if one["kind"] == "violation"]
    table = Table("time (UTC)", "group", "gen", "protocol", "members", "verdict", "cause", "why", box=None)
    for generation in generations:
        verdict = generation["verdict"]
        table.add_row(
            clock(generation["at_ms"]),
            Text(generation["group"]),
            str(generation["generation"]),
            Text(generation["protocol"] or "-"),
            str(len(generation["members"])),
            Text(verdict["grade"], style=COLOURS[verdict["grade"]]),
            Text(", ".join(cause["kind"] for cause in generation["cause"])),
            Text(_why(generation)),
        )
    if generations:
        console.print_whole(table)
    if violations:
        found = Table("opened", "resolved", "severity", "rule", "code", "message", box=None)
        for violation in violations:
            found.add_row(
                clock(violation["opened_at_ms"]),
                clock(violation["resolved_at_ms"]),
                Text(violation["severity"], style=SEVERITY_COLOURS[violation["severity"]]),
                violation["rule"],
                violation["code"],
                Text(violation["message"]),
            )
        console.print_whole(found)
    _print_commits(console, [one for one in objects if one["kind"] == "offset_commit"])
    others = [one for one in objects if one["kind"] == "other_group"]
    _print_other_groups(console, others)
    summary = objects[-1]
    grades = ", ".join(f"{count} {grade}" for grade, count in summary["grades"].items() if count)
    console.print(
        f"{counted(summary['records'], 'record')}, {counted(summary['generations'], 'generation')} "
        f"({grades or 'none'}), {counted(len(violations), 'violation')}, {summary['undecodable']} undecodable,"
        f" {counted(summary['gaps'], 'gap')}",
        soft_wrap=not console.is_terminal,
    )
    for sentence in (*_not_judged(generations, others), *_resting(generations)):
        console.print(Text(sentence))


def _progress(epoch: dict[str, Any] | None) -> str:
    """How far the members of a KIP-848 group came to a target."""
    if epoch is None:
        return ""
    if epoch["reached_ms"] is not None:
        since_ms = epoch["computed_ms"] if epoch["needed_ms"] is None else epoch["needed_ms"]
        return f"reached after {(epoch['reached_ms'] - since_ms) / 1000:.1f} s"
    if epoch["overtaken_by"] is not None:
        return f"overtaken by {epoch['overtaken_by']}"
    waiting = sum(one["state"] != "STABLE" for one in epoch["progress"])
    return f"on the way: {counted(waiting, 'member')} not stable" if waiting else "on the way"


def _print_other_groups(console: Terminal, others: list[dict[str, Any]]) -> None:
    if not others:
        return
    table = Table("group", "kind", "epoch", "members", "records", "first (UTC)", "last (UTC)", box=None)
    for group in others:
        shown = "-" if group["epoch"] is None else str(group["epoch"])
        epoch = Text("deleted", style="yellow") if group["deleted"] else Text(shown)
        when = clock(group["first_at_ms"]), clock(group["last_at_ms"])
        kind = OTHER_KINDS[group["group_kind"]]
        table.add_row(Text(group["group"] or "-"), kind, epoch, str(group["members"]), str(group["records"]), *when)
    console.print_whole(table)


def _why(generation: dict[str, Any]) -> str:
    """The verdict's reason, and what is seen in a generation beyond its verdict."""
    reason = generation["verdict"]["reason"] or _progress(generation.get("epoch"))
    return "; ".join(filter(None, (reason, streams_line(generation.get("streams")))))


def _not_judged(generations: list[dict[str, Any]], others: list[dict[str, Any]]) -> Iterator[str]:
    """One sentence for each reason why something in the capture has no verdict."""
    reasons = Counter(
        one["verdict"]["reason"] or "" for one in generations if one["verdict"]["grade"] == Grade.NOT_JUDGED
    )
    for reason, count in reasons.most_common():
        yield f"Not judged: {counted(count, 'generation')}: {reason}"
    records = sum(one["records"] for one in others)
    if others:
        yield f"Not read: {counted(records, 'record')} of a type that this version does not know."


def _resting(generations: list[dict[str, Any]]) -> Iterator[str]:
    """One sentence for each application whose verdicts rest on end offsets."""
    groups = [one["group"] for one in generations if one["verdict"]["reason"] == ON_END_OFFSETS]
    yield from (missing_end_offsets(group) for group in dict.fromkeys(groups))


def _print_commits(console: Terminal, commits: list[dict[str, Any]]) -> None:
    if not commits:
        return
    table = Table("committed (UTC)", "group", "topic", "partition", "offset", "metadata", box=None)
    for commit in commits:
        offset = Text("deleted", style="yellow") if commit["offset"] is None else Text(str(commit["offset"]))
        place = Text(commit["group"]), Text(commit["topic"]), str(commit["partition"])
        table.add_row(clock(commit["commit_ms"]), *place, offset, Text(commit["metadata"] or ""))
    console.print_whole(table)
