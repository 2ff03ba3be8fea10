"""`status`: how groups stand. All of them on one screen, harmed ones first; or each of the named in six lines."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rebalance_monitor.streaming.core.model.messages import counted, utc
from rebalance_monitor.streaming.stories.durations import duration
from rebalance_monitor.streaming.stories.expected_text import expected_text
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.stories.six_lines import SixLines, six_lines
from rebalance_monitor.streaming.stories.story import GenerationRow, story
from rebalance_monitor.streaming.web.fleet import STATES
from .exit_codes import CANNOT_TELL, DONE, FOUND, InputError
from .group_questions import Question, question_of
from .group_sources import CaughtUp
from .monitor_api import Unreachable
from .output import print_for_programs
from .terminal import Terminal

COLOURS = {
    "critical": "bold red",
    "warning": "yellow",
    "muted": "dim",
    "watched": "cyan",
    "waiting": "magenta",
    "fine": "green",
}
HARMED = ("critical", "warning")
EVERY_S = 2.0
FRAME_LINES = 5
"""Lines of the screen beside the rows of groups."""
USUAL_ROWS = 40
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GroupsShown:
    """What one look gives: groups that are asked for, with their answers where they are named. `not_read`: of what was
    asked for, by cluster."""

    at_ms: int
    readiness: CaughtUp
    groups: list[GroupFacts]
    answers: list[SixLines]
    happened: list[tuple[int, str, str]]
    not_read: dict[str, str]

    @property
    def code(self) -> int:
        if any(one.group["state"] in HARMED for one in self.groups):
            return FOUND
        return CANNOT_TELL if self.not_read else DONE


def status(arguments: argparse.Namespace) -> int:
    """FOUND where people are notified of something, CANNOT_TELL where the monitor has not caught up."""
    if arguments.watch and (arguments.capture is not None or arguments.at is not None):
        raise InputError("--watch shows what goes on now; leave out --capture and --at")
    question = question_of(arguments)
    if arguments.watch:
        return watch(question, arguments.output)
    shown = look(question)
    _print(shown, question, arguments.output)
    return shown.code


def look(question: Question) -> GroupsShown:
    source, named = question.source, bool(question.groups)
    readiness = source.readiness()
    if named:
        groups = [source.known(key) for key in question.names()]
    else:
        every = source.overview()
        question.check_cluster({one.group["cluster"] for one in every} | readiness.why.keys())
        groups = [one for one in every if question.sees((one.group["cluster"], one.group["group"]))]
    answers = [six_lines(one) for one in groups] if named else []
    happened = [] if question.since_ms is None else sorted(_happened(question, question.since_ms))
    not_read = question.not_read(readiness, {one.group["cluster"] for one in groups})
    return GroupsShown(source.at_ms, readiness, groups, answers, happened, not_read)


def watch(question: Question, output: str, sleep: Callable[[float], None] = time.sleep) -> int:
    """Until it is ended. On a terminal the screen is kept; elsewhere each change is printed."""
    console = Terminal()
    if output != "table" or not console.is_terminal:
        return _watch_lines(question, output, sleep)
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            try:
                live.update(Group(*screen(look(question), _rows(console))), refresh=True)
            except Unreachable as why:
                live.update(Text(f"{why}; it is tried again", style="red"), refresh=True)
            sleep(EVERY_S)


def _watch_lines(question: Question, output: str, sleep: Callable[[float], None]) -> int:
    before: list[Object] | str = []
    while True:
        try:
            shown = look(question)
        except Unreachable as why:
            if before != (before := f"{why}; it is tried again"):
                print(before, file=sys.stderr, flush=True)
        else:
            told = [
                {**one.group, "open": [i["violation"]["incident_id"] for i in one.open_incidents]}
                for one in shown.groups
            ]
            if before != (before := told):
                _print(shown, question, output)
        sleep(EVERY_S)


def _print(shown: GroupsShown, question: Question, output: str) -> None:
    if output != "table":
        print_for_programs(_object(shown), output)
        return
    console = Terminal()
    whole = not console.is_terminal
    for part in screen(shown, len(shown.groups) if whole else _rows(console), flat=whole):
        if isinstance(part, Table):
            console.print_whole(part)
        else:
            console.print(part, soft_wrap=True)


def _rows(console: Console) -> int:
    """So many groups fit on the screen."""
    return max(3, (console.height or USUAL_ROWS) - FRAME_LINES)


def screen(shown: GroupsShown, most: int, *, flat: bool = False) -> Iterator[Table | Text]:
    """What people see, with so many rows of groups at most. `flat`: each of the six lines is one, however long."""
    yield from _readiness(shown)
    if shown.answers:
        for known, answer in zip(shown.groups, shown.answers, strict=True):
            yield _title(known)
            if told := expected_text(known.group):
                yield Text(f"  {'expected':11}{told}")
            if flat:
                yield from (Text(f"  {name:11}{text}") for name, text in answer.lines())
            else:
                yield _lines(answer)
    else:
        yield _sums(shown)
        yield from _table(shown, most)
    for at_ms, group, text in shown.happened:
        yield Text(f"{utc(at_ms)}  {group}  {text}")


def _readiness(shown: GroupsShown) -> Iterator[Text]:
    for name, why in sorted(shown.readiness.why.items()):
        yield Text(f"The monitor has not caught up ({name}): {why}", style="yellow")


def _sums(shown: GroupsShown) -> Text:
    counts = {state: sum(one.group["state"] == state for one in shown.groups) for state in STATES}
    text = Text(f"{counted(len(shown.groups), 'group')} at {utc(shown.at_ms)}")
    for state, count in counts.items():
        if count:
            text.append(", ").append(f"{count} {state}", style=COLOURS[state])
    return text


def _table(shown: GroupsShown, most: int) -> Iterator[Table | Text]:
    if not shown.groups:
        yield Text("no group is known")
        return
    table = Table("state", "group", "gen", "members", "unassigned", "last rebalance", "what", box=None)
    several = len({one.group["cluster"] for one in shown.groups}) > 1
    for known in shown.groups[:most]:
        group = known.group
        name = f"{group['cluster']}/{group['group']}" if several else group["group"]
        at_ms = group["at_ms"]
        table.add_row(
            Text(group["state"], style=COLOURS[group["state"]]),
            Text(name, overflow="fold"),
            "-" if group["generation"] is None else str(group["generation"]),
            str(group["members"]),
            str(group["unassigned"] or "-"),
            "-" if at_ms is None else f"{duration(max(0, shown.at_ms - at_ms))} ago",
            Text(_what(known)),
        )
    yield table
    if len(shown.groups) > most:
        yield Text(f"and {len(shown.groups) - most} more, none of them worse; all: status | less", style="dim")


def _what(known: GroupFacts) -> str:
    """Rules that are broken, or what is waited for."""
    rules = [one["violation"]["rule"] for one in known.open_incidents]
    if rules:
        return ", ".join(dict.fromkeys(rules))
    until_ms = known.group["delay_until_ms"]
    if until_ms is not None:
        return f"delay until {utc(until_ms)}"
    return "no worker in the group" if known.group["state"] == "waiting" else ""


def _title(known: GroupFacts) -> Text:
    group = known.group
    team = f", team {group['team']}" if group["team"] else ""
    return Text(f"{group['group']} ({group['cluster']}{team}) at {utc(known.now_ms)}", style="bold")


def _lines(answer: SixLines) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    state = answer.what.partition(":")[0]
    for name, text in answer.lines():
        table.add_row(Text(name, style="dim"), Text(text, style=COLOURS[state] if name == "what" else ""))
    return table


def _happened(question: Question, since_ms: int) -> Iterator[tuple[int, str, str]]:
    for key in question.names():
        for document in question.source.generations(key, since_ms):
            told = story(GenerationRow(document, *key, ""))
            causes = "; ".join(told.causes) or "cause not known"
            yield document["at_ms"], key[1], f"generation {told.generation}, {told.grade}: {causes}"
        for one in question.source.incidents(key, since_ms):
            found = one["violation"]
            if found["opened_at_ms"] >= since_ms:
                yield found["opened_at_ms"], key[1], f"{found['rule']} opened: {found['message']}"
            if (found["resolved_at_ms"] or 0) >= since_ms:
                yield found["resolved_at_ms"], key[1], f"{found['rule']} was over"


def _object(shown: GroupsShown) -> Object:
    answers = {id(known): answer for known, answer in zip(shown.groups, shown.answers, strict=False)}
    return {
        "kind": "status",
        "at_ms": shown.at_ms,
        "ready": shown.readiness.ready,
        "waits_for": shown.readiness.why,
        "groups": [_group(one, answers.get(id(one))) for one in shown.groups],
        "happened": [{"at_ms": at_ms, "group": group, "text": text} for at_ms, group, text in shown.happened],
    }


def _group(known: GroupFacts, answer: SixLines | None) -> Object:
    told: Object = {
        **known.group,
        "incidents": [
            {name: one["violation"][name] for name in ("incident_id", "rule", "code", "opened_at_ms", "message")}
            for one in known.open_incidents
        ],
    }
    if answer is not None:
        lines = {name.replace(" ", "_"): text for name, text in answer.lines()}
        told["answer"] = {**lines, "since_ms": answer.since_ms, "ends_ms": answer.ends_ms}
    return told
