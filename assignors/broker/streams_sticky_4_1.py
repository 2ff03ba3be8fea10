"""`sticky` of 4.1 (early access of KIP-1071): tasks that meet for the first time, and no order among equal processes.

It prefers a process in which the task meets another one that it has met nowhere else yet (*pairs*), and among these the
process with the lowest load. Tasks are walked in hash order. Actives stay where they were active or go where they were
standbys while the member is below its quota; the rest goes to the process with the lowest load.

Among processes of equal load Kafka takes the first of a set of objects without a hash of their own, that is by their
addresses. Such a choice cannot be recomputed: the result takes the first in hash order and is `unsure`.
"""

from collections.abc import Iterable

from rebalance_monitor.assignors.java_order import sorted_names
from rebalance_monitor.assignors.java_table import JavaTable, hash_map_order, hash_order
from .model import AssignorFailed
from .streams_model import (
    StreamsGroup,
    StreamsOutcome,
    StreamsResult,
    StreamsShare,
    Subtopology,
    Task,
    tasks_per_member,
)


class _Process:
    """One process: its members' counts in hash order, and the tasks it has in either role."""

    def __init__(self) -> None:
        self.walk: JavaTable[str] = JavaTable()
        self.counts: dict[str, int] = {}
        self.active: set[Task] = set()
        self.standby: set[Task] = set()

    @property
    def total(self) -> int:
        return len(self.active) + len(self.standby)

    @property
    def load(self) -> float:
        return self.total / len(self.counts)

    def has(self, task: Task) -> bool:
        return task in self.active or task in self.standby

    def least(self) -> str:
        return min(self.walk, key=self.counts.__getitem__)


class _State:
    """Processes, earlier owners, the pairs that exist, and whether a choice was left to addresses."""

    def __init__(self, group: StreamsGroup) -> None:
        self.tasks = sum(one.partitions for one in group.subtopologies)
        self.members = len(group.members)
        self.quota = tasks_per_member(self.tasks, self.members)
        self.pairs: set[tuple[Task, Task]] = set()
        self.most_pairs = self.tasks * (self.tasks - 1) // 2
        self.was_active: dict[Task, str] = {}
        self.was_standby: dict[Task, list[str]] = {}
        self.processes: dict[str, _Process] = {}
        self.process_of: dict[str, _Process] = {}
        self.active: dict[str, set[Task]] = {}
        self.standby: dict[str, set[Task]] = {}
        by_id = {member.id: member for member in group.members}
        order = hash_map_order(by_id)
        self.unsure = order.unsure
        names = order.keys()
        for member in (by_id[name] for name in names):
            process = self.process_of[member.id] = self.processes.setdefault(member.process_id, _Process())
            process.walk.add(member.id)
            process.counts[member.id] = 0
            self.active[member.id], self.standby[member.id] = set(), set()
            for task in member.active:
                self.was_active[task] = member.id
            for task in dict.fromkeys(member.standby):
                self.was_standby.setdefault(task, []).append(member.id)

    def has_room(self, member: str) -> bool:
        return self.process_of[member].counts[member] < self.quota

    def meets_new(self, task: Task, process: _Process) -> bool:
        """Whether the task would meet one that it has not met in any process."""
        if len(self.pairs) == self.most_pairs:
            return False
        if not process.total:
            return True
        return any(_pair(task, other) not in self.pairs for other in process.active | process.standby)

    def place(self, member: str, task: Task, *, active: bool) -> None:
        process = self.process_of[member]
        (process.active if active else process.standby).add(task)
        (self.active if active else self.standby)[member].add(task)
        process.counts[member] += 1
        self.pairs.update(_pair(task, other) for other in process.active | process.standby if other != task)
        if active and len(process.active) == self.quota:
            self.members -= 1
            self.tasks -= len(process.active)
            self.quota = tasks_per_member(self.tasks, self.members)

    def lightest(self, members: Iterable[str], task: Task) -> _Process | None:
        """The process with the lowest load among those of these members that the task suits best."""
        processes = list(dict.fromkeys(self.process_of[member] for member in members))
        fitting = [process for process in processes if self.meets_new(task, process)] or processes
        if not fitting:
            return None
        load = min(process.load for process in fitting)
        equal = [process for process in fitting if process.load == load]
        self.unsure |= len(equal) > 1
        return equal[0]

    def former(self, members: Iterable[str], task: Task) -> str | None:
        """The earlier standby in the lightest process."""
        process = self.lightest(members, task)
        if process is None:
            return None
        there = [member for member in self.was_standby[task] if self.process_of[member] is process]
        self.unsure |= len(there) > 1
        return there[0] if there else process.least()

    def balanced(self, process: _Process) -> bool:
        return process.total < len(process.counts) or all(
            other.load >= process.load for other in self.processes.values()
        )


def assign(group: StreamsGroup) -> StreamsOutcome:
    """The new targets that a coordinator of 4.1 computes."""
    state = _State(group)
    by_id = {one.id: one for one in group.subtopologies}
    ordered = [by_id[name] for name in sorted_names(by_id)]
    tasks = _tasks(ordered, state)
    if not group.members and tasks:
        return AssignorFailed("TaskAssignorException")
    _place_actives(state, tasks)
    if group.standby_replicas > 0:
        for task in _tasks([one for one in ordered if one.stateful], state):
            _place_standbys(state, task, group.standby_replicas)
    shares = {
        name: StreamsShare(active=frozenset(state.active[name]), standby=frozenset(state.standby[name]))
        for name in state.active
    }
    return StreamsResult(shares=shares, unsure=state.unsure)


def _tasks(subtopologies: Iterable[Subtopology], state: _State) -> list[Task]:
    """All tasks in the order of a hash set."""
    order = hash_order((one.id, number) for one in subtopologies for number in range(one.partitions))
    state.unsure |= order.unsure
    return order.keys()


def _place_actives(state: _State, tasks: list[Task]) -> None:
    rest: list[Task] = []
    for task in tasks:
        member = state.was_active.get(task)
        if member is not None and state.has_room(member):
            state.place(member, task, active=True)
        else:
            rest.append(task)
    left, rest = rest, []
    for task in left:
        member = state.former(state.was_standby.get(task, ()), task)
        if member is not None and state.has_room(member):
            state.place(member, task, active=True)
        else:
            rest.append(task)
    for task in rest:
        process = state.lightest(state.process_of, task)
        assert process is not None, "a group with tasks to place has members"
        state.place(process.least(), task, active=True)


def _place_standbys(state: _State, task: Task, replicas: int) -> None:
    for _ in range(replicas):
        free = [member for member, process in state.process_of.items() if not process.has(task)]
        if not free:
            return
        member = state.was_active.get(task)
        if member is not None:
            process = state.process_of[member]
            if process.has(task) or not state.balanced(process) or not state.meets_new(task, process):
                member = None
        if member is None and task in state.was_standby:
            # Kafka forgets earlier standbys whose process got a copy, for later copies too.
            state.was_standby[task] = [one for one in state.was_standby[task] if not state.process_of[one].has(task)]
            member = state.former(state.was_standby[task], task)
            if member is not None and not state.balanced(state.process_of[member]):
                member = None
        if member is None:
            lightest = state.lightest(free, task)
            assert lightest is not None, "some process is free"
            member = lightest.least()
        state.place(member, task, active=False)


def _pair(task: Task, other: Task) -> tuple[Task, Task]:
    return (task, other) if task < other else (other, task)
