"""Which processes are caught up with a task, by every end offset that its changelog may have had.

Theory (streams.md 3.6.4, 8.2). A record holds the offset sums, not the end offset E. Between two processes that report
sums the one with the larger sum lags less, whatever E is. So E decides only how far down that order "caught up"
reaches: a task with d different sums has at most d + 2 possible caught-up sets. With the acceptable lag L:

    sums      A runs the task (-2)     B 900      C 400      D nothing
    E > 900 + L                        {A}
    400 + L < E <= 900 + L             {A, B}
    L < E <= 400 + L                   {A, B, C}         possible only if 900 <= 400 + L: E is at least 900
    E <= L                             {A, B, C, D}      possible only if 900 <= L

Each set is an interval of E. Within it E still decides in which order a thread keeps its own tasks, so the two ends of
an interval are tried, and the least E that the group's earlier records allow.

Where samples of the end offsets bound E (`within`), only the sets of that interval are possible:

    400 + L < least E, most E <= 900 + L     {A, B} alone

E is at least the largest sum. But where a source topic serves as changelog, E is the group's committed offset, which
may be less (streams.md 3.6.1); of a changelog that was made anew a process may report what the one before had; a sum
may be `INCREDIBLE`. A process that reports more than E counts as one that holds nothing: its lag is E.

    L < E < 400                          {A}             B and C lag as much as D: `beyond`
    400 <= E < 900, E <= 400 + L         {A, C}          B lags as much as D
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from rebalance_monitor.assignors.streams.application import RUNNING
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds
from .observed import ObservedRecord
from .topology import key_of

FAR = 1 << 40
"""Farther behind than any acceptable lag that is tried."""
INCREDIBLE = 1 << 50
"""No changelog holds so much: a million records a second make it in 35 years."""


@dataclass(frozen=True, slots=True)
class Possible:
    """One caught-up set and an end offset that gives it; `first`: the first one listed of this set. `beyond`: the
    processes that report more than this end offset."""

    caught_up: frozenset[ProcessId]
    end: int
    first: bool = True
    beyond: frozenset[ProcessId] = frozenset()

    @property
    def ranks(self) -> tuple[frozenset[ProcessId], frozenset[ProcessId]]:
        """What is alike of end offsets under which every process lags less than the same others."""
        return self.caught_up, self.beyond


Sums = Mapping[TaskId, Mapping[ProcessId, int]]


def sums_of(record: ObservedRecord) -> dict[TaskId, dict[ProcessId, int]]:
    """By task what each process reports; of two threads of a process the later counts, as the leader reads them."""
    found: dict[TaskId, dict[ProcessId, int]] = {}
    for thread in record.threads:
        for task, total in thread.offset_sums.items():
            found.setdefault(task, {})[thread.process_id] = total
    return found


def possible(
    sums: Mapping[ProcessId, int], processes: Iterable[ProcessId], acceptable: int, floor: int, *, below: bool = False
) -> list[Possible]:
    """Every caught-up set of a task, the likeliest first: that of the least end offset that earlier records allow
    (`floor`), then the others by rising end offset. `below`: it may be below reported sums, too."""
    levels = _levels(sums)
    largest = levels[0] if levels else 0
    floor = max(floor, largest)
    ends = [floor, largest, acceptable, acceptable + 1]
    for level in levels:
        ends += [level + acceptable, level + acceptable + 1]
        if below:
            ends += [max(level - 1, 0), level]
    ends += [0] * below + [max(largest, acceptable) + acceptable + FAR]
    least = 0 if below else largest
    listed = dict.fromkeys((floor, *sorted(set(ends))))
    everybody = frozenset(processes)
    return firsts(_possible(sums, everybody, acceptable, end) for end in listed if end >= least)


def within(
    sums: Mapping[ProcessId, int], processes: Iterable[ProcessId], acceptable: int, bounds: EndBounds
) -> list[Possible] | None:
    """Every caught-up set of a task whose end offset lies within these bounds, one end offset for each; None where a
    process reports more than any of them: then the bounds are of another changelog."""
    levels = _levels(sums)
    least = max(bounds.least, levels[0]) if levels else bounds.least
    if least > bounds.most:
        return None
    everybody = frozenset(processes)
    turns = {acceptable + 1, *(level + acceptable + 1 for level in levels)}
    ends = sorted({least, *(end for end in turns if least < end <= bounds.most)})
    return [_possible(sums, everybody, acceptable, end) for end in ends]


def _levels(sums: Mapping[ProcessId, int]) -> list[int]:
    """The different sums, the largest first."""
    return sorted({total for total in sums.values() if total >= 0}, reverse=True)


def _possible(sums: Mapping[ProcessId, int], everybody: frozenset[ProcessId], acceptable: int, end: int) -> Possible:
    beyond = frozenset(one for one, total in sums.items() if total > end)
    if end <= acceptable:
        return Possible(everybody, end, beyond=beyond)
    caught_up = frozenset(one for one, total in sums.items() if total == RUNNING or 0 <= end - total <= acceptable)
    return Possible(caught_up, end, beyond=beyond)


def lag_of(sums: Mapping[ProcessId, int], process: ProcessId, end: int) -> int:
    """How far a process lags under this end offset, as the leader counts it (streams.md 3.6.2)."""
    total = sums.get(process, 0)
    return total if total < 0 else end if total > end else end - total


def least_lag(
    sums: Mapping[ProcessId, int], processes: Set[ProcessId], without: Set[ProcessId], end: int
) -> int | None:
    """The lag of whoever lags least of these processes `without` some; None where nobody is left. Most report nothing
    of most tasks, and all of those lag alike."""
    told = [lag_of(sums, process, end) for process in sums if process in processes and process not in without]
    if len(told) < len(processes) - len(processes & without):
        told.append(end)
    return min(told, default=None)


def firsts(listed: Iterable[Possible]) -> list[Possible]:
    """The same, each set's first end offset marked."""
    seen = set()
    found = []
    for possible in listed:
        found.append(replace(possible, first=possible.ranks not in seen))
        seen.add(possible.ranks)
    return found


def for_order(options: Iterable[Possible]) -> list[Possible]:
    """The same end offsets where nobody asks who is caught up."""
    return firsts(replace(one, caught_up=frozenset(), beyond=frozenset()) for one in options)


def below_sums(record: ObservedRecord, sums: Sums, bounds: Mapping[TaskId, EndBounds]) -> frozenset[TaskId]:
    """Tasks whose end offset may be below what processes report of them."""
    return frozenset(
        task
        for task in record.tasks
        if key_of(task) in record.from_sources
        or max(sums.get(task, {}).values(), default=0) > (bounds[task].most if task in bounds else INCREDIBLE - 1)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where the ideal placement and the record put a task. `copies` is None where the record may show other copies than
    the target has: while a task is withheld. `active` is None where nobody is to run it yet."""

    ideal: ProcessId
    ideal_copies: frozenset[ProcessId]
    active: ProcessId | None
    copies: frozenset[ProcessId] | None


def fits(possible: Possible, sums: Mapping[ProcessId, int], placed: Placed, *, falls_back: bool) -> bool:
    """Whether the high-availability assignor can have placed the task so, if this is its caught-up set (streams.md 4.5,
    4.6). Only what holds whatever happens to other tasks is looked at. `falls_back`: with nobody caught up, the most
    caught-up process runs the task (since 3.2)."""
    if placed.active is None:
        return True
    return all(part(possible, sums, placed, placed.active, falls_back=falls_back) for part in (_runs, _copies))


def _runs(
    possible: Possible, sums: Mapping[ProcessId, int], placed: Placed, active: ProcessId, *, falls_back: bool
) -> bool:
    """Whether the process that runs the task is the one that can run it."""
    if placed.ideal in possible.caught_up:
        return active == placed.ideal
    if possible.caught_up:
        return active in possible.caught_up
    if active == placed.ideal:
        return True
    return falls_back and lag_of(sums, active, possible.end) < lag_of(sums, placed.ideal, possible.end)


def _copies(
    possible: Possible, sums: Mapping[ProcessId, int], placed: Placed, active: ProcessId, *, falls_back: bool
) -> bool:
    """Whether the copies are where they can be. Each copy that is behind may have sent one copy to a process that is
    caught up, or at least further; it stays itself, or leaves if no warm-up is left."""
    copies, ideal, caught_up = placed.copies, placed.ideal_copies, possible.caught_up
    if copies is None:
        return True
    if len(copies) < len(ideal) or (ideal & caught_up) - copies - {active}:
        return False
    behind = (ideal | {placed.ideal}) - caught_up
    new = copies - ideal - {placed.ideal}
    if len(new) > len(behind):
        return False
    # Of two that lag alike, the one whose id is the lower counts as nearer.
    farthest = max((lag_of(sums, process, possible.end) for process in behind), default=0)
    if any(
        process not in caught_up and not (falls_back and lag_of(sums, process, possible.end) <= farthest)
        for process in new
    ):
        return False
    if active == placed.ideal and copies == ideal and caught_up:
        # A copy that is behind stayed alone: nobody else was caught up and free.
        return not (ideal - caught_up and caught_up - copies - {active})
    return True
