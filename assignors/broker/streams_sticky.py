"""The `sticky` assignor of Streams groups (KIP-1071), as of 4.2; `assignors.broker.streams_sticky_4_1` is the first.

Actives: every task stays where it was active, else goes where it was a standby, as long as the member is below its
quota; the rest goes to the process with the lowest load (tasks by members) and there to the member with the fewest
tasks. Standbys of stateful tasks follow the same three steps, never two copies of a task in one process. Warm-up tasks,
racks, client tags and offsets play no part.

    one stateful subtopology with 3 tasks, 1 standby; A (process p) had 0_0 0_1 0_2 active, B (process q) is new
    quota 2: A keeps 0_0 and 0_1, then 0_2 goes to q: B
    standbys in descending order: 0_2 was active on A, which has room: A; 0_1 and 0_0 go to q, the only process without
    A {active 0_0 0_1, standby 0_2}, B {active 0_2, standby 0_0 0_1}

Quotas are rounded up and corrected as members fill up: a member that holds exactly the quota takes itself and its tasks
out of the division. A member that passes a quota without hitting it is never taken out; Kafka does the same.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rebalance_monitor.assignors.java_heap import JavaHeap
from rebalance_monitor.assignors.java_order import sorted_names
from rebalance_monitor.assignors.java_table import JavaTable, hash_map_order
from . import streams_sticky_4_1
from .model import NEWEST, AssignorFailed, Release
from .streams_model import (
    StreamsGroup,
    StreamsMember,
    StreamsOutcome,
    StreamsResult,
    StreamsShare,
    Task,
    tasks_per_member,
)

T = TypeVar("T")

_FIRST_BY_LOAD: Release = (4, 2)


def assign(group: StreamsGroup, *, release: Release = NEWEST) -> StreamsOutcome:
    """The new targets that a coordinator of `release` computes."""
    if release < _FIRST_BY_LOAD:
        return streams_sticky_4_1.assign(group)
    if not group.members and any(one.partitions for one in group.subtopologies):
        return AssignorFailed("TaskAssignorException")
    state = _State(group)
    _place_actives(state, state.tasks)
    if group.standby_replicas > 0:
        _place_standbys(state)
    shares = {
        name: StreamsShare(active=frozenset(state.active[name]), standby=frozenset(state.standby[name]))
        for name in (member.id for member in group.members)
    }
    return StreamsResult(shares=shares, unsure=state.unsure)


def _least(heap: JavaHeap[T]) -> T:
    entry = heap.poll()
    assert entry is not None, "the heap holds every process, or every member of one"
    return entry[1]


class _Process:
    """The members of one process with their numbers of tasks, in hash order."""

    __slots__ = ("_heap", "_walk", "counts", "load", "tasks", "total")

    def __init__(self) -> None:
        self._walk: JavaTable[str] = JavaTable()
        self._heap: JavaHeap[str] | None = None
        self.counts: dict[str, int] = {}
        self.tasks: set[Task] = set()
        self.load = 0.0
        self.total = 0

    @property
    def unsure(self) -> bool:
        return self._walk.unsure

    def join(self, member: str) -> None:
        self._walk.add(member)
        self.counts[member] = 0

    def add(self, member: str, task: Task) -> int:
        """Count a task of a member; the new number of its tasks."""
        self._heap = None
        return self._add(member, task)

    def add_to_least(self, task: Task) -> tuple[str, int]:
        """Give a task to the member with the fewest; the member and the new number of its tasks."""
        if len(self.counts) == 1:
            (member,) = self.counts
            return member, self._add(member, task)
        if self._heap is None:
            self._heap = JavaHeap()
            for name in self._walk:
                self._heap.add(self.counts[name], name)
        member = _least(self._heap)
        count = self._add(member, task)
        self._heap.add(count, member)
        return member, count

    def _add(self, member: str, task: Task) -> int:
        self.tasks.add(task)
        self.total += 1
        self.load = self.total / len(self.counts)
        count = self.counts[member] = self.counts[member] + 1
        return count


class _Quota:
    """Tasks by members, rounded up, over those members that have not reached it."""

    __slots__ = ("_members", "_tasks", "value")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.value = tasks_per_member(tasks, members)

    def count(self, tasks: int) -> None:
        """A member has so many tasks now."""
        if tasks == self.value:
            self._members -= 1
            self._tasks -= tasks
            self.value = tasks_per_member(self._tasks, self._members)


class _State:
    """The processes and what was assigned so far; `rank` is the place of a subtopology in string order."""

    def __init__(self, group: StreamsGroup) -> None:
        by_id = {one.id: one for one in group.subtopologies}
        ordered = [by_id[name] for name in sorted_names(by_id)]
        self.replicas = group.standby_replicas
        self.rank = {one.id: at for at, one in enumerate(ordered)}
        self.tasks = [(one.id, number) for one in ordered for number in range(one.partitions)]
        self.stateful = [(one.id, number) for one in ordered if one.stateful for number in range(one.partitions)]
        size = len(group.members)
        self.active_quota = _Quota(len(self.tasks), size)
        self.quota = _Quota(len(self.tasks) + len(self.stateful) * max(0, self.replicas), size)
        self.active: dict[str, list[Task]] = {member.id: [] for member in group.members}
        self.standby: dict[str, list[Task]] = {member.id: [] for member in group.members}
        self.was_active: dict[Task, str] = {}
        self.was_standby: dict[Task, list[str]] = {}
        self.process_of: dict[str, _Process] = {}
        self._by_id: dict[str, _Process] = {}
        self._walk: JavaTable[str] = JavaTable(capacity=size)
        self._order_unsure = False
        for member in self._in_hash_order(group.members):
            self._join(member)

    @property
    def unsure(self) -> bool:
        return self._order_unsure or self._walk.unsure or any(one.unsure for one in self._by_id.values())

    def _in_hash_order(self, members: Sequence[StreamsMember]) -> list[StreamsMember]:
        by_id = {member.id: member for member in members}
        order = hash_map_order(by_id)
        self._order_unsure = order.unsure
        names = order.keys()
        return [by_id[name] for name in names]

    def _join(self, member: StreamsMember) -> None:
        self._walk.add(member.process_id)
        process = self.process_of[member.id] = self._by_id.setdefault(member.process_id, _Process())
        process.join(member.id)
        for task in member.active:
            self.was_active[task] = member.id
        for task in dict.fromkeys(member.standby):
            self.was_standby.setdefault(task, []).append(member.id)

    def count(self, member: str) -> int:
        return self.process_of[member].counts[member]

    def by_load(self) -> JavaHeap[_Process]:
        heap: JavaHeap[_Process] = JavaHeap()
        for name in self._walk:
            heap.add(self._by_id[name].load, self._by_id[name])
        return heap

    def best_standby(self, task: Task, *, without_copy: bool) -> str | None:
        """The previous standby with the lowest load; None if the first one's process has the task already."""
        listed = self.was_standby.get(task)
        if not listed:
            return None
        best = listed[0]
        first = self.process_of[best]
        load, count = first.load, first.counts[best]
        for member in listed[1:]:
            process = self.process_of[member]
            if process.load < load and not (without_copy and task in process.tasks) and process.counts[member] < count:
                best, load, count = member, process.load, process.counts[member]
        # Kafka looks at the first candidate's process here, not at the best one's.
        return None if without_copy and task in first.tasks else best


def _place_actives(state: _State, tasks: Sequence[Task]) -> None:
    def place(member: str, task: Task) -> None:
        state.active[member].append(task)
        count = state.process_of[member].add(member, task)
        state.active_quota.count(count)
        state.quota.count(count)

    rank = state.rank
    left: Iterable[Task] = sorted(tasks, key=lambda task: (task[1], rank[task[0]]))
    rest: list[Task] = []
    for task in left:
        member = state.was_active.get(task)
        if member is not None and state.count(member) < state.active_quota.value:
            place(member, task)
        else:
            rest.append(task)
    left, rest = rest, []
    for task in left:
        member = state.best_standby(task, without_copy=False)
        if member is not None and state.count(member) < state.active_quota.value:
            place(member, task)
        else:
            rest.append(task)
    heap = state.by_load()
    for task in sorted(rest, key=lambda task: (rank[task[0]], task[1])):
        process = _least(heap)
        member, count = process.add_to_least(task)
        state.active[member].append(task)
        state.active_quota.count(count)
        state.quota.count(count)
        heap.add(process.load, process)


def _place_standbys(state: _State) -> None:
    rank = state.rank
    late: list[tuple[Task, int]] = []
    for task in sorted(state.stateful, key=lambda task: (task[1], rank[task[0]]), reverse=True):
        for placed in range(state.replicas):
            if not _place_sticky_standby(state, task):
                late.append((task, state.replicas - placed))
                break
    heap = state.by_load()
    for task, copies in sorted(late, key=lambda one: (rank[one[0][0]], one[0][1]), reverse=True):
        for _ in range(copies):
            if not _place_on_least(state, heap, task):
                break


def _place_sticky_standby(state: _State, task: Task) -> bool:
    for member in (state.was_active.get(task), state.best_standby(task, without_copy=True)):
        if member is None:
            continue
        process = state.process_of[member]
        if task not in process.tasks and process.counts[member] < state.quota.value:
            state.standby[member].append(task)
            state.quota.count(process.add(member, task))
            return True
    return False


def _place_on_least(state: _State, heap: JavaHeap[_Process], task: Task) -> bool:
    """Give the task to the first process without a copy; those that have one return to the heap, last one first."""
    passed: list[_Process] = []
    found = False
    while len(heap):
        process = _least(heap)
        passed.append(process)
        if task not in process.tasks:
            member, count = process.add_to_least(task)
            state.standby[member].append(task)
            state.quota.count(count)
            found = True
            break
    for process in reversed(passed):
        heap.add(process.load, process)
    return found
