"""Kafka's sticky assignor for `task.assignor.class` (since 3.8), written against KIP-924's interface.

Theory as in `legacy_sticky`. What differs: of two clients with equal load the first in hash order wins, whatever their
threads; a client counts as overloaded from one task per thread on, if anybody has less; pairs are not looked at once an
empty client is found; racks count only if both costs are configured. Kafka places the standbys in the order of memory
addresses, so they can't be recomputed: here they are placed in hash order, as one of the answers that Kafka might give.
"""

from collections.abc import Mapping, Sequence

from .application_state import ApplicationState, KafkaStreamsState
from .assignment import AssignedTask, KafkaStreamsAssignment, TaskAssignment, TaskType
from .legacy_sticky import Pairs
from .rack_optimization import (
    RackAwareOptimizationParams,
    optimize_rack_aware_active_tasks,
    optimize_rack_aware_standby_tasks,
)
from .racks import STATELESS_COSTS, Costs
from .task_assignor import TaskAssignor
from .tasks import HashOrders, ProcessId, Release, TaskId, sorted_tasks

_FIRST_RELEASE: Release = (3, 8)
_TRAFFIC_COST = 1
_NON_OVERLAP_COST = 10


class StickyTaskAssignor(TaskAssignor):
    """Tasks stay where they were, within a quota of actives per thread.

    With `must_preserve` previous actives ignore the quota and one client is told to ask for another rebalance at once.
    `java_version` is the leader's, whose copied hash sets may differ from 19 on.
    """

    def __init__(self, *, must_preserve: bool = False, java_version: int = 17) -> None:
        self._must_preserve = must_preserve
        self._orders = HashOrders(_FIRST_RELEASE, java_version)

    @property
    def order_unsure(self) -> bool:
        """Whether the answer rested on the order of crowded hash buckets."""
        return self._orders.unsure

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        """The tasks of every client; only actives are sure to be Kafka's if standbys are configured."""
        sticky = _Sticky(application_state, self._orders)
        sticky.place_actives(must_preserve=self._must_preserve)
        costs = Costs.configured(application_state.assignment_configs, _TRAFFIC_COST, _NON_OVERLAP_COST)
        params = RackAwareOptimizationParams.of(application_state)
        if not self._must_preserve:
            optimize_rack_aware_active_tasks(_at(params, costs).for_stateful_tasks(), sticky.assignments)
            optimize_rack_aware_active_tasks(_at(params, STATELESS_COSTS).for_stateless_tasks(), sticky.assignments)
        copies = application_state.assignment_configs.num_standby_replicas
        sticky.place_standbys(copies)
        if copies > 0 and not self._must_preserve:
            optimize_rack_aware_standby_tasks(_at(params, costs), sticky.assignments)
        if self._must_preserve and sticky.assignments:
            first = next(iter(sticky.assignments))
            sticky.assignments[first] = sticky.assignments[first].with_followup_rebalance(0)
        return TaskAssignment(tuple(sticky.assignments.values()))


def _at(params: RackAwareOptimizationParams, costs: Costs) -> RackAwareOptimizationParams:
    return params.with_traffic_cost_override(costs.traffic).with_non_overlap_cost_override(costs.non_overlap)


class _Sticky:
    """One run."""

    def __init__(self, state: ApplicationState, orders: HashOrders) -> None:
        self._state = state
        self._orders = orders
        self._clients: Mapping[ProcessId, KafkaStreamsState] = state.kafka_streams_states(False)
        self.assignments = {one: KafkaStreamsAssignment(one) for one in orders.processes(self._clients)}
        self._number = {task: number for number, task in enumerate(sorted_tasks(state.all_tasks))}
        self._pairs = Pairs(len(state.all_tasks))
        self._previous_active: dict[TaskId, ProcessId] = {}
        self._previous_standby: dict[TaskId, list[ProcessId]] = {}
        for process_id, client in self._clients.items():
            self._previous_active.update(dict.fromkeys(client.previous_active_tasks, process_id))
            for task in client.previous_standby_tasks:
                self._previous_standby.setdefault(task, []).append(process_id)

    def place_actives(self, *, must_preserve: bool) -> None:
        """All tasks: previous hosts with room, previous standbys with room, then the best client."""
        tasks = self._state.all_tasks
        per_thread = len(tasks) // sum(client.num_processing_threads for client in self._clients.values())

        def has_room(process: ProcessId) -> bool:
            actives = len(self.assignments[process].of_type(TaskType.ACTIVE))
            return actives < self._clients[process].num_processing_threads * per_thread

        placed = set()
        for task in self._orders.tasks(self._previous_active):
            process = self._previous_active[task]
            if task in tasks and (must_preserve or has_room(process)):
                self._give(task, process, TaskType.ACTIVE)
                placed.add(task)
        left = []
        for task in self._orders.tasks_copied(list(tasks)):
            if task in placed:
                continue
            host = next((one for one in self._standby_hosts(task) if has_room(one)), None)
            if host is None:
                left.append(task)
            else:
                self._give(task, host, TaskType.ACTIVE)
        candidates = self._orders.processes(self._clients)
        for task in sorted_tasks(left):
            self._give(task, self._find(task, candidates), TaskType.ACTIVE)

    def place_standbys(self, copies: int) -> None:
        """So many copies of each task that has a changelog, while there are clients without it."""
        for task, info in self._state.all_tasks.items():
            for _ in range(copies if info.has_changelog else 0):
                free = [one for one in self._clients if task not in self.assignments[one]]
                if not free:
                    break
                self._give(task, self._find(task, self._orders.processes(free)), TaskType.STANDBY)

    def _give(self, task: TaskId, process: ProcessId, role: TaskType) -> None:
        self._pairs.add(self._number[task], [self._number[other] for other in self.assignments[process].tasks])
        self.assignments[process].assign_task(AssignedTask(task, role))

    def _standby_hosts(self, task: TaskId) -> list[ProcessId]:
        return self._orders.processes(self._previous_standby.get(task, ()))

    def _load(self, process: ProcessId) -> float:
        return len(self.assignments[process]) / self._clients[process].num_processing_threads

    def _find(self, task: TaskId, within: Sequence[ProcessId]) -> ProcessId:
        """The best of these clients, which stand in the order of their hash set."""
        if len(within) == 1:
            return within[0]
        previous = self._previous_active.get(task)
        if previous not in within:
            previous = self._standby_within(task, within)
        if previous is not None and self._overloaded(previous):
            previous = self._standby_within(task, within)
            if previous is not None and self._overloaded(previous):
                previous = None
        found = self._least_loaded(task, within) if previous is None else previous
        assert found is not None, "some client is least loaded"
        return found

    def _standby_within(self, task: TaskId, within: Sequence[ProcessId]) -> ProcessId | None:
        copied = self._orders.processes_copied(self._standby_hosts(task))
        return self._least_loaded(task, [one for one in copied if one in within])

    def _overloaded(self, process: ProcessId) -> bool:
        load = self._load(process)
        return load >= 1 and any(self._load(other) < load for other in self._clients)

    def _least_loaded(self, task: TaskId, within: Sequence[ProcessId]) -> ProcessId | None:
        """The first empty client; else the least loaded one that makes a new pair; else the least loaded one."""
        best: ProcessId | None = None
        for process in within:
            load = self._load(process)
            if load == 0:
                return process
            if (best is None or load < self._load(best)) and self._pairs.any_new(
                self._number[task], [self._number[other] for other in self.assignments[process].tasks]
            ):
                best = process
        return best if best is not None or not within else min(within, key=self._load)
