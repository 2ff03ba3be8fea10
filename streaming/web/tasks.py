"""What a Streams group's page tells of its newest generation: who runs and copies what, and what comes next. Pure.

process     runs            copies                  behind
10.0.0.1    0_0, 1_0        1_1                     1_1: 40
10.0.0.2    0_1, 1_1        1_0 (warms up)          1_0: 51,200
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from rebalance_monitor.streaming.core.model.messages import counted, listed
from rebalance_monitor.streaming.stories.known import next_probing_ms
from rebalance_monitor.streaming.stories.story import MOST_NAMES

Object = dict[str, Any]
RUNNING = -2
MOST_TASKS = 16
"""Tasks of one process that are named; the others are counted."""
MOST_BEHIND = 6
SHOWN_OF_ID = 8
"""Characters of a process id that tell two processes of one host apart."""


@dataclass(frozen=True, slots=True)
class ProcessLine:
    """One process (`KafkaStreams` instance). `with_state`: its tasks that surely have state. `behind`: its copies that
    are furthest from the end of their changelogs; the offset sums they reported, where nobody said where these end."""

    name: str
    rack: str
    threads: int
    leads: bool
    active: str
    with_state: int
    without_state: int
    copies: str
    behind: str
    changes: str


@dataclass(frozen=True, slots=True)
class PartLine:
    """One sub-topology."""

    name: str
    reads: str
    tasks: int
    state: str
    share: str
    waiting: str
    missing: str


@dataclass(frozen=True, slots=True)
class TaskView:
    """`moves`: how far the target placement is; `not_before_ms`, `next_ms`: when it can be reached at the earliest, and
    when the next probing rebalance is, None where neither is known or due. `facts`: what else is seen."""

    moves: str
    not_before_ms: int | None
    next_ms: int | None
    facts: tuple[str, ...]
    processes: tuple[ProcessLine, ...]
    parts: tuple[PartLine, ...]


def task_view(document: Object) -> TaskView | None:
    """Of a generation's object; None for a group of another kind."""
    streams = document.get("streams")
    if streams is None:
        return None
    progress = streams["progress"] or {}
    stateful = {part["name"] for part in streams["subtopologies"] if part["stateful"]}
    return TaskView(
        moves=_moves(streams["progress"], by_target=streams["version"] is None),
        not_before_ms=progress.get("not_before_ms"),
        next_ms=next_probing_ms(streams),
        facts=tuple(_facts(streams)),
        processes=tuple(_process(process, stateful) for process in streams["processes"]),
        parts=tuple(_part(part) for part in streams["subtopologies"]),
    )


def _moves(progress: Object | None, *, by_target: bool) -> str:
    if progress is None:
        return "" if by_target else "How far tasks are from their target placement is not known"
    left, least = progress["moves_left"], progress["rebalances"]
    if not left:
        return "Every task with state is where it shall be"
    return f"{counted(left, 'move')} left, at best {counted(least, 'probing rebalance')}"


def _facts(streams: Object) -> Iterator[str]:
    progress, balance = streams["progress"], streams["balance"]
    if progress is not None and progress["moves_left"] and progress["next_ms"] is None:
        yield "no probing rebalance is set"
    if progress is not None and progress["probed"]:
        last = f", {progress['stuck']} of them since a task last moved" if progress["stuck"] else ""
        yield f"{counted(progress['probed'], 'probing rebalance')} so far with these members{last}"
    if streams["withheld"]:
        yield f"withheld until their owners give them up: {listed(streams['withheld'], MOST_NAMES)}"
    yield f"tasks with state: {_span(*balance['stateful'])} per process; without: {_span(*balance['stateless'])}"
    missing = streams["missing_standbys"]
    if missing is None:
        yield "whether copies are missing is not known (num.standby.replicas)"
    else:
        yield f"{counted(missing, 'copy')} missing" if missing else "no copy is missing"
    if not streams["roles_known"] and any(
        thread["standby"] for one in streams["processes"] for thread in one["threads"]
    ):
        yield "which copies are warm-ups is not known"


def _process(process: Object, stateful: Collection[str]) -> ProcessLine:
    threads = process["threads"]
    active = [task for thread in threads for task in thread["active"]]
    with_state = sum(task.rpartition("_")[0] in stateful for task in active)
    return ProcessLine(
        name=process["end_point"] or f"{process['host'].lstrip('/')} {process['process_id'][:SHOWN_OF_ID]}".strip(),
        rack=process["rack"] or "",
        threads=len(threads),
        leads=process["leads"],
        active=listed(sorted(active, key=_by_number), MOST_TASKS),
        with_state=with_state,
        without_state=len(active) - with_state,
        copies=listed(_copies(threads), MOST_TASKS),
        behind=_behind(process),
        changes="; ".join(_changes(threads)),
    )


def _by_number(task: str) -> tuple[str, int]:
    part, _, number = task.rpartition("_")
    return part, int(number)


def _copies(threads: list[Object]) -> Iterator[str]:
    for thread in threads:
        for task in sorted(thread["standby"], key=_by_number):
            role = (
                " (warms up)" if task in thread["warm_up"] else " (to hand over)" if task in thread["transient"] else ""
            )
            yield f"{task}{role}"


def _changes(threads: list[Object]) -> Iterator[str]:
    for what, name in (("withheld", "is to get"), ("revoked", "gave up")):
        tasks = [task for thread in threads for task in thread[what]]
        if tasks:
            yield f"{name} {listed(tasks, MOST_TASKS)}"


def _behind(process: Object) -> str:
    """The furthest copies first. Documents of groups of the new protocol have no lags."""
    copies = {task for thread in process["threads"] for task in thread["standby"]}
    lags = process.get("lags", {})
    if lags:
        worst = sorted(((lag, task) for task, lag in lags.items() if task in copies and lag), reverse=True)
        return listed([f"{task}: {lag:,}" for lag, task in worst], MOST_BEHIND)
    sums = {task: total for task, total in process["offset_sums"].items() if task in copies and total != RUNNING}
    return listed([f"{task} at {total:,}" for task, total in sorted(sums.items(), key=lambda one: one[1])], MOST_BEHIND)


def _part(part: Object) -> PartLine:
    state = {True: "yes", False: "no", None: "not known"}[part["stateful"]]
    missing = part["missing_standbys"]
    return PartLine(
        name=part["name"],
        reads=listed(sorted(part["topics"]), 4),
        tasks=part["tasks"],
        state=state,
        share=_span(part["least"], part["most"]),
        waiting=listed(part["waiting"], MOST_TASKS),
        missing="not known" if missing is None else str(missing),
    )


def _span(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
