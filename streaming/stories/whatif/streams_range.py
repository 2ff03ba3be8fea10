"""The next rebalance of a Kafka Streams application, as a range over what end offsets decide.

The leader's own assignor computes it from what each process would report, by settings that gave the last record's
placement. Of each task with state it is open which processes count as caught up:

    runs the task in the last record, and stays      always
    has a copy, or state that is left on its disk    it may be, or not: each is tried
    nothing                                          only if the changelog is no longer than the acceptable lag; that is
                                                     tried, too, unless reports already show more

    task    A runs it, leaves    B copy    C nothing       caught up: nobody; B; all
    0_0     runs                 900       -               three ways; with 0_1, where it is the same, nine in all

All ways are tried, up to `MOST_TRIED` and `MOST_PAIRS`; beyond that those where one task is other than all
others, as many as these allow. What is told is the least and the most that any of them gives.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import prod
from typing import TypeAlias

from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.tasks import TaskId, task_of
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.streams.caught_up import FAR
from rebalance_monitor.streaming.stories.known import Published
from .change import Concerned, GroupChange, ids_to_come
from .streams_history import PlacedTasks, StreamsRound, StreamsSetting, round_of

MOST_TRIED, LEAST_TRIED = 256, 3
"""Ways in which processes have caught up, for each set of ids of processes to come: at most, and however large the
application is."""
MOST_PAIRS = 150_000
"""Tasks times processes in all ways together: some seconds of one core."""
MOST_HOLDERS = 4
"""Of one task, so many copies may each be caught up or not; of more only the first so many in the order of names."""
EVERYBODY = None
CaughtUpSet: TypeAlias = frozenset[str] | None
"""Processes that are caught up with a task beside the one that runs it; None: all."""
Way: TypeAlias = Mapping[TaskId, CaughtUpSet]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPlacement:
    """Figures of a rebalance. `moved`: tasks that go to another process; `restored`: of these, those with state of
    which the process reports nothing; `copied`: copies that begin; `least` and `most`: active tasks of a process;
    `probing`: 1 if a probing rebalance follows."""

    moved: int
    restored: int
    copied: int
    least: int
    most: int
    probing: int


@dataclass(frozen=True, slots=True)
class StreamsRange:
    """What the tried ways give; `whole`: all ways were tried."""

    ways: tuple[NextPlacement, ...]
    whole: bool

    def of(self, name: str) -> tuple[int, int]:
        """The least and the most."""
        figures = [int(getattr(one, name)) for one in self.ways]
        return min(figures), max(figures)


def next_rebalance(change: GroupChange, who: Concerned, generation: Published) -> StreamsRange | str:
    """What comes at once: those who bounce have left, and are not back. Why it cannot be computed, if it cannot."""
    now = round_of(generation, StreamsSetting())
    if isinstance(now, str):
        return now
    gone = {*who.leaving, *who.bouncing}
    running, left = _ran(generation, gone, stayed=True), _ran(generation, gone, stayed=False)
    with_state = replace(now.recorded, copies=now.recorded.copies | left.items())
    every = list(ids_to_come(replace(change, bounce=()), replace(who, bouncing=()), generation))
    affordable = MOST_PAIRS // max(len(now.tasks) * (len(now.threads) + change.join), 1)
    ids = every[: max(affordable // LEAST_TRIED, 1)]
    most = min(max(affordable // len(ids), LEAST_TRIED), MOST_TRIED)
    ways, whole = dict[NextPlacement, None](), len(ids) == len(every)
    for joining, _ in ids:
        threads = _threads(now, gone, joining)
        if not threads:
            return "no thread is left"
        coming = replace(now, threads=threads, recorded=with_state)
        tried, all_tried = ways_of(coming, running, most)
        whole = whole and all_tried
        for way in tried:
            found = placed_by(coming, running, way, now.recorded)
            if found is None:
                return "Kafka's class fails on this group"
            ways[found] = None
    return StreamsRange(tuple(ways), whole)


def _threads(now: StreamsRound, gone: set[str], joining: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """By process, once the change has happened. Each that joins is a process of its own."""
    stay = {name: tuple(one for one in threads if one not in gone) for name, threads in now.threads.items()}
    new = {member[-36:]: (member,) for member in joining}
    return {name: threads for name, threads in (*stay.items(), *new.items()) if threads}


def _ran(generation: Published, gone: set[str], *, stayed: bool) -> dict[TaskId, str]:
    """The process that runs each task, of threads that stay or of those that have gone."""
    return {
        task_of(task): str(process["process_id"])
        for process in generation["streams"]["processes"]
        for thread in process["threads"]
        if (thread["member_id"] not in gone) == stayed
        for task in thread["active"]
    }


def holders_of(coming: StreamsRound, running: Mapping[TaskId, str], task: TaskId) -> list[str]:
    """Processes that do not run the task and have state of it: a copy, or what they reported."""
    return [
        name
        for name in sorted(coming.threads)
        if running.get(task) != name and ((task, name) in coming.recorded.copies or task in coming.sums.get(name, {}))
    ]


def ways_of(coming: StreamsRound, running: Mapping[TaskId, str], most: int) -> tuple[list[Way], bool]:
    """Who is caught up with each task with state, in so many ways at most; whether these are all."""
    holders = {task: holders_of(coming, running, task) for task in coming.tasks if task in coming.ends}
    options = {task: _options(coming, task, own[:MOST_HOLDERS]) for task, own in holders.items()}
    if prod(map(len, options.values())) <= most:
        every: list[Way] = [dict(zip(options, one, strict=True)) for one in product(*options.values())]
        return every, all(len(own) <= MOST_HOLDERS for own in holders.values())
    return _some(options)[:most], False


def _options(coming: StreamsRound, task: TaskId, holders: Sequence[str]) -> list[CaughtUpSet]:
    some = chain.from_iterable(combinations(holders, count) for count in range(len(holders) + 1))
    found: list[CaughtUpSet] = [frozenset(one) for one in some]
    known = max((sums.get(task, 0) for sums in coming.sums.values()), default=0)
    return [*found, EVERYBODY] if known <= coming.configs.acceptable_recovery_lag else found


def _some(options: Mapping[TaskId, Sequence[CaughtUpSet]]) -> list[Way]:
    """All tasks alike, and one of them other than the others."""
    none: dict[TaskId, CaughtUpSet] = {task: own[0] for task, own in options.items()}
    most: dict[TaskId, CaughtUpSet] = {task: own[-1] for task, own in options.items()}
    held: dict[TaskId, CaughtUpSet] = {
        task: next(one for one in reversed(own) if one is not EVERYBODY) for task, own in options.items()
    }
    found: list[Way] = [none, held, most]
    for task, own in options.items():
        found += [{**base, task: one} for base in (none, held, most) for one in own if base[task] != one]
    return found


def placed_by(
    coming: StreamsRound, running: Mapping[TaskId, str], way: Way, before: PlacedTasks
) -> NextPlacement | None:
    """What the leader gives; None where it fails."""
    sums: dict[str, dict[TaskId, int]] = {name: {} for name in coming.threads}
    ends: dict[TaskId, int] = {}
    for task, who in way.items():
        told = {name: max(coming.sums.get(name, {}).get(task, 0), 0) for name in coming.threads}
        end = 0 if who is EVERYBODY else max(told.values()) + coming.configs.acceptable_recovery_lag + FAR
        for name in holders_of(coming, running, task):
            sums[name][task] = end if who is EVERYBODY or name in who else told[name]
        if running.get(task) in sums:
            sums[running[task]][task] = RUNNING
        ends[task] = end
    answer = coming.answer(sums, ends, coming.configs)
    return None if answer is None else figures_of(before, answer[0], sums, ends, coming.threads, probing=answer[1])


def figures_of(
    before: PlacedTasks,
    now: PlacedTasks,
    reported: Mapping[str, Collection[TaskId]],
    stateful: Collection[TaskId],
    processes: Collection[str],
    *,
    probing: bool,
) -> NextPlacement:
    """`before`: as the last record has it; `reported`: the tasks with state of which each process says something."""
    went = [(task, name) for task, name in now.active.items() if before.active.get(task) != name]
    begun = [(task, name) for task, name in now.copies - before.copies if before.active.get(task) != name]
    sizes = [sum(name == one for name in now.active.values()) for one in processes]
    return NextPlacement(
        moved=len(went),
        restored=sum(task in stateful and task not in reported.get(name, ()) for task, name in went),
        copied=len(begun),
        least=min(sizes),
        most=max(sizes),
        probing=int(probing),
    )
