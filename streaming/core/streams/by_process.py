"""Which end offsets give the record's answer, decided process by process.

Theory (streams.md 4, 6). End offsets act in two steps that are decided one after the other:

    caught-up sets      which process runs a task, and who has copies. A task whose holders in the ideal placement need
                        no move stays where it is, whatever its set: all such sets are one
                        (high-availability assignor; under the legacy sticky one end offsets place nothing)
    order by lag        which thread of a process keeps what it reported. Each process shares its tasks by itself

    10 tasks, 8 of them still, 2 with three sets each        9 placements instead of 59,049
    4 processes, each with 6 possible orders                 24 orders instead of 1,296

An order is a chain of differences between end offsets (A reports 900 of 1_0 and 400 of 1_1, and keeps 1_0 first:
E(1_1) >= E(1_0) - 900 + 400). Whether all chains hold at once, and for which end offsets, the longest paths tell.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice, pairwise, product
from typing import TypeVar

from rebalance_monitor.assignors.streams.application import UNKNOWN_SUM
from rebalance_monitor.assignors.streams.clients import Client
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.other_ends import OtherEnds
from rebalance_monitor.assignors.streams.tasks import ProcessId, TaskId, sorted_tasks
from .caught_up import Placed, Possible, Sums, lag_of
from .differences import hosts_of, thread_difference
from .observed import ObservedRecord

MOST_ORDERS = 720
"""Of one list of tasks; of a longer one not every order is tried."""
TaskEnds = Mapping[TaskId, int]
T = TypeVar("T")


@dataclass(slots=True)
class Work:
    """What is left of the work that a record may cost, in tasks times processes. `shared`: each of several searches has
    its part, so that the first one does not use up all."""

    left: int
    shared: bool = False

    def spend(self, cells: int) -> bool:
        """Whether there was so much."""
        self.left -= cells
        return self.left >= 0

    def for_each(self, searches: Sequence[T]) -> Iterator[tuple[T, "Work"]]:
        """Each with the work that it may cost; what one does not need is left for those after it."""
        for number, one in enumerate(searches):
            part = Work(self.left // (len(searches) - number)) if self.shared else self
            left = self.left - part.left
            yield one, part
            self.left = left + part.left


def placed(other: OtherEnds, record: ObservedRecord) -> dict[TaskId, Placed]:
    """Where the ideal placement (everybody caught up) and the record put each task."""
    runs, copies = other.ideal()
    active, held = record.placed()
    return {
        task: Placed(
            ideal=process,
            ideal_copies=copies[task],
            active=active.get(task),
            copies=frozenset(held[task]) if task in held else None,
        )
        for task, process in runs.items()
    }


@dataclass(frozen=True, slots=True)
class _Range:
    """End offsets of a task under which every process is given the same: from the least to the most. `beyond`: the
    processes that report more."""

    least: int
    most: int
    end: int
    beyond: frozenset[ProcessId] = frozenset()


@dataclass(frozen=True, slots=True)
class _Chain:
    """An order by lag of tasks that one thread reported: the `first` ones, and then the `rest` in any order. A thread
    has room for the first ones."""

    first: tuple[TaskId, ...]
    rest: tuple[TaskId, ...]

    def steps(self) -> Iterator[tuple[TaskId, TaskId]]:
        """Each pair of which the one must not lag more than the other."""
        yield from pairwise(self.first)
        yield from ((last, task) for last in self.first[-1:] for task in self.rest)


@dataclass(frozen=True, slots=True)
class _Order:
    """Orders of a process's tasks by lag that give its threads what the record gives them."""

    process: ProcessId
    chains: tuple[_Chain, ...]


@dataclass(slots=True)
class Decision:
    """`ends` that give the record's answer, None where none were found. `whole`: then there are none. `nearest`: those
    whose answer differs least between processes."""

    ends: TaskEnds | None = None
    whole: bool = True
    nearest: TaskEnds = field(default_factory=dict)


class ByProcess:
    """One record under one frame. `options`: for each task with state the end offsets that stand for all."""

    def __init__(
        self,
        record: ObservedRecord,
        other: OtherEnds,
        options: Mapping[TaskId, Sequence[Possible]],
        sums: Sums,
        work: Work,
        *,
        falls_back: bool,
    ) -> None:
        """`falls_back`: with nobody caught up, the most caught-up process runs the task (since 3.2)."""
        self._record, self._other, self._sums, self._work = record, other, sums, work
        self._falls_back = falls_back
        self._fitting: dict[tuple[object, ...], bool] = {}
        self._processes = record.processes()
        self._running = record.running()
        self._rank = {task: number for number, task in enumerate(sorted_tasks(options))}
        runs, copies = other.ideal()
        self._ranges = {
            task: self._ranges_of(task, listed, runs[task], copies[task]) for task, listed in options.items()
        }
        self._cells = max(len(record.tasks) * len(self._processes), 1)
        self._cost = max(self._cells // 8, 1)

    def decide(self) -> Decision:
        """Try every placement, the likeliest first. Raises LeaderFailed where the leader fails in each of them."""
        decision, least = Decision(), 1 << 30
        for chosen in product(*self._ranges.values()):
            if not self._work.spend(self._cost):
                decision.whole = False
                break
            ranges = dict(zip(self._ranges, chosen, strict=True))
            ends = {task: one.end for task, one in ranges.items()}
            try:
                self._other.place(ends)
            except LeaderFailed:
                continue
            differs = self._differs()
            if differs < least:
                least, decision.nearest = differs, ends
            if not differs and self._ordered(ranges, decision):
                break
        return decision

    def _ordered(self, ranges: Mapping[TaskId, _Range], decision: Decision) -> bool:
        """Whether orders by lag give each thread what it was given; then `ends` are there."""
        listed = []
        for process, client in self._other.clients.items():
            orders, whole = self._orders(process, client, ranges)
            if not orders:
                decision.whole = decision.whole and whole
                return False
            decision.whole = decision.whole and whole
            listed.append(orders)
        decision.ends = self._solved(ranges, listed, (), decision)
        return decision.ends is not None

    def _differs(self) -> int:
        """How many tasks and copies the record has with other processes, as far as somebody runs them."""
        size = 0
        for process, client in self._other.clients.items():
            threads = self._processes.get(process, [])
            active = {task for thread in threads for task in thread.active}
            standby = {task for thread in threads for task in thread.standby}
            size += len((self._running.intersection(client.active)) ^ active)
            size += len(self._running & (standby ^ frozenset(client.standby)))
        first = self._record.threads[0]
        told = hosts_of(first.told.partitions_by_host()), hosts_of(first.told.standby_partitions_by_host())
        active_hosts, standby_hosts = self._other.hosts()
        return size + (told != (hosts_of(active_hosts), hosts_of(standby_hosts)))

    def _orders(self, process: ProcessId, client: Client, ranges: Mapping[TaskId, _Range]) -> tuple[list[_Order], bool]:
        """The orders under which the threads get what they were given, and whether all were tried."""
        key = (process, tuple(client.active), tuple(client.standby), client.followup_deadline_ms)
        threads = self._processes.get(process, [])
        lists: list[Sequence[_Chain]] = []
        whole = True
        for thread in threads if len(threads) > 1 else ():
            for role, room in self._rooms(client, len(threads)):
                behind = tuple(
                    task
                    for task in role
                    if task in ranges and task in thread.offset_sums and self._sums[task][process] >= 0
                )
                chains = list(islice(self._chains(behind, room, process, ranges), MOST_ORDERS + 1))
                whole = whole and len(chains) <= MOST_ORDERS
                lists.append(chains)
        found: list[_Order] = []
        for chosen in product(*lists):
            order = _Order(process, chosen)
            ends = self._longest(ranges, (order,))
            if ends is None:
                continue
            tasks = [task for chain in chosen for task in (*chain.first, *chain.rest)]
            lags = {task: ends[task] - self._base(task, process, ranges[task]) for task in tasks}
            fits = self._fitting.get(known := (*key, tuple(sorted(lags, key=lambda t: (lags[t], self._rank[t])))))
            if fits is None:
                if not self._work.spend(self._cost):
                    return found, False
                told = self._other.assignments_of(client, lags)
                fits = not any(thread_difference(thread, told[thread.id]).size for thread in threads)
                self._fitting[known] = fits
            if fits:
                found.append(order)
        return found, whole

    @staticmethod
    def _rooms(client: Client, threads: int) -> Iterator[tuple[Sequence[TaskId], int]]:
        """The tasks of a process that its threads keep by lag, of each role, and for how many a thread has room at
        most."""
        actives = sum(task in client.ends for task in client.active)
        yield client.active, actives // threads
        yield client.standby, (actives + len(client.standby)) // threads - actives // threads

    def _chains(
        self, tasks: tuple[TaskId, ...], room: int, process: ProcessId, ranges: Mapping[TaskId, _Range]
    ) -> Iterator[_Chain]:
        """Every order by lag that the ranges allow; tasks that lag alike stand in the order of their ids."""
        if len(tasks) < 2 or not room:
            yield _Chain((), ())
            return
        lags = {task: self._lags(task, process, ranges[task]) for task in tasks}
        yield from (
            _Chain(first, tuple(t for t in tasks if t not in first)) for first in self._firsts(tasks, room, lags)
        )

    def _firsts(
        self, tasks: tuple[TaskId, ...], room: int, lags: Mapping[TaskId, tuple[int, int]]
    ) -> Iterator[tuple[TaskId, ...]]:
        if not tasks or not room:
            yield ()
            return
        for first in tasks:
            others = tuple(task for task in tasks if task != first)
            least, rank = lags[first][0], self._rank[first]
            if all((least, rank) < (lags[task][1], self._rank[task]) for task in others):
                yield from ((first, *rest) for rest in self._firsts(others, room - 1, lags))

    def _base(self, task: TaskId, process: ProcessId, range_: _Range) -> int:
        """What the lag is less than the end offset."""
        return 0 if process in range_.beyond else self._sums[task][process]

    def _lags(self, task: TaskId, process: ProcessId, range_: _Range) -> tuple[int, int]:
        base = self._base(task, process, range_)
        return range_.least - base, range_.most - base

    def _solved(
        self,
        ranges: Mapping[TaskId, _Range],
        listed: Sequence[Sequence[_Order]],
        chosen: tuple[_Order, ...],
        decision: Decision,
    ) -> TaskEnds | None:
        """End offsets under which one order of each process holds; None where there are none."""
        ends = self._longest(ranges, chosen)
        if ends is None or len(chosen) == len(listed):
            return ends
        for order in listed[len(chosen)]:
            if not self._work.spend(1):
                decision.whole = False
                return None
            found = self._solved(ranges, listed, (*chosen, order), decision)
            if found is not None:
                return found
        return None

    def _longest(self, ranges: Mapping[TaskId, _Range], orders: Sequence[_Order]) -> TaskEnds | None:
        """The least end offsets under which these orders hold."""
        steps = []
        for order in orders:
            for chain in order.chains:
                for near, far in chain.steps():
                    apart = self._base(far, order.process, ranges[far]) - self._base(near, order.process, ranges[near])
                    steps.append((near, far, apart + (self._rank[near] > self._rank[far])))
        ends = {task: one.least for task, one in ranges.items()}
        for _ in range(len(ends) + 1):
            changed = False
            for near, far, apart in steps:
                if ends[near] + apart > ends[far]:
                    ends[far] = ends[near] + apart
                    changed = True
            if any(end > ranges[task].most for task, end in ends.items()):
                return None
            if not changed:
                return ends
        return None

    def _ranges_of(
        self, task: TaskId, options: Sequence[Possible], active: ProcessId, copies: frozenset[ProcessId]
    ) -> tuple[_Range, ...]:
        """The end offsets of a task, in ranges under which it is placed alike; the likeliest first."""
        sums = self._sums.get(task, {})
        found: list[tuple[bool, _Range]] = []
        by_ranks: dict[object, list[Possible]] = {}
        for option in options:
            by_ranks.setdefault(option.ranks, []).append(option)
        for same in by_ranks.values():
            listed = [option.end for option in same]
            one = _Range(min(listed), max(listed), listed[0], same[0].beyond)
            found.append((self._stays(same[0], sums, active, copies), one))
        first = found[0][1]
        joined: list[tuple[bool, _Range]] = []
        for still, one in sorted(found, key=lambda each: each[1].least):
            before = joined[-1] if joined else None
            if before and still and before[0] and before[1].most + 1 == one.least and before[1].beyond == one.beyond:
                end = one.end if one == first else before[1].end
                joined[-1] = True, _Range(before[1].least, one.most, end, one.beyond)
            else:
                joined.append((still, one))
        return tuple(sorted((one for _, one in joined), key=lambda one: not one.least <= first.end <= one.most))

    def _stays(
        self, option: Possible, sums: Mapping[ProcessId, int], active: ProcessId, copies: frozenset[ProcessId]
    ) -> bool:
        """Whether the task and its copies stay where the ideal placement has them."""
        if not self._other.moves:
            return True
        if self._moves(option, sums, active):
            return False
        if self._other.order_counts:
            return not any(self._moves(option, sums, process) for process in copies)
        free = self._processes.keys() - copies - {active}
        return not any(
            self._moves(option, sums, process) and self._finds(option, sums, process, free) for process in copies
        )

    def _finds(self, option: Possible, sums: Mapping[ProcessId, int], process: ProcessId, free: Set[ProcessId]) -> bool:
        """Whether one of these processes takes a copy, because it is caught up, or lags less."""
        if free & option.caught_up:
            return True
        lag = lag_of(sums, process, option.end)
        return self._falls_back and any(lag_of(sums, other, option.end) <= lag for other in free)

    def _moves(self, option: Possible, sums: Mapping[ProcessId, int], process: ProcessId) -> bool:
        """Whether the task is to leave this process, which has it in the ideal placement. One of which nobody can tell
        its lag is not caught up, and lags least."""
        if process in option.caught_up and sums.get(process) != UNKNOWN_SUM:
            return False
        if not self._falls_back:
            return bool(option.caught_up)
        lag = lag_of(sums, process, option.end)
        return any(lag_of(sums, other, option.end) < lag for other in self._processes)
