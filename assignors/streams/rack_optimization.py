"""Rack-aware optimisation of a plug-in's assignments (KIP-924).

It does nothing unless the leader configures a strategy and *both* costs, every client has a rack, and racks of every
partition that counts are known. Unlike the built-in assignors it walks clients in hash order, lets an active task's
changelogs cost like its sources, and uses the configured strategy for standbys too. Tags do not restrict it: Kafka asks
whether a standby may move from a client to the same client, which it always may.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .application import RackStrategy
from .application_state import ApplicationState, TaskInfo, TaskTopicPartition
from .assigned_placement import AssignedPlacement
from .assignment import TaskType
from .failures import LeaderFailed
from .networks import Cost, Network, balance_subtopology, min_traffic
from .racks import STANDBY_ROUNDS, Costs, int32
from .task_assignment_utils import Assignments, add_missing_clients
from .tasks import ProcessId, TaskId


@dataclass(frozen=True, slots=True)
class RackAwareOptimizationParams:
    """Which tasks to optimise at which costs. Without tasks all tasks of the role, without overrides the leader's
    configured costs."""

    application_state: ApplicationState
    tasks: frozenset[TaskId] | None = None
    traffic_cost: int | None = None
    non_overlap_cost: int | None = None

    @classmethod
    def of(cls, application_state: ApplicationState) -> "RackAwareOptimizationParams":
        """All tasks at the configured costs."""
        return cls(application_state)

    def for_stateful_tasks(self) -> "RackAwareOptimizationParams":
        """Only tasks whose subtopology has a state store."""
        return self.for_tasks(info.id for info in self.application_state.all_tasks.values() if info.is_stateful)

    def for_stateless_tasks(self) -> "RackAwareOptimizationParams":
        """Only tasks without any state store."""
        return self.for_tasks(info.id for info in self.application_state.all_tasks.values() if not info.is_stateful)

    def for_tasks(self, tasks: Iterable[TaskId]) -> "RackAwareOptimizationParams":
        """Only these tasks."""
        return replace(self, tasks=frozenset(tasks))

    def with_traffic_cost_override(self, cost: int) -> "RackAwareOptimizationParams":
        """Another cost of one partition read across racks."""
        return replace(self, traffic_cost=cost)

    def with_non_overlap_cost_override(self, cost: int) -> "RackAwareOptimizationParams":
        """Another cost of one moved task."""
        return replace(self, non_overlap_cost=cost)


def optimize_rack_aware_active_tasks(params: RackAwareOptimizationParams, assignments: Assignments) -> None:
    """Exchange active tasks between clients until no exchange is cheaper. A client that gets a task as active loses the
    standby it had of it."""
    found = _prepared(params, assignments, TaskType.ACTIVE)
    if found is None:
        return
    placement = found.placement
    found.network(found.tasks, found.clients).solve(
        placement.active, placement.take, placement.give_active, from_each_node=False
    )


def optimize_rack_aware_standby_tasks(params: RackAwareOptimizationParams, assignments: Assignments) -> None:
    """Exchange standbys between pairs of clients in different racks, four rounds at most."""
    found = _prepared(params, assignments, TaskType.STANDBY)
    if found is None:
        return
    placement, clients = found.placement, found.clients
    if len(assignments) > len(clients):
        raise LeaderFailed("IndexOutOfBoundsException", "a process has an assignment, but is no client")
    for _ in range(STANDBY_ROUNDS):
        moved = False
        for at, client in enumerate(clients):
            for other in clients[at + 1 :]:
                if found.racks[client] == found.racks[other]:
                    continue
                there = [task for task in placement.standby[client] if not placement.holds(other, task)]
                back = [task for task in placement.standby[other] if not placement.holds(client, task)]
                if there and back:
                    network = found.network(sorted(there + back), sorted((client, other)))
                    moved |= network.solve(
                        placement.standby, placement.take, placement.give_standby, from_each_node=False
                    )
        if not moved:
            break


@dataclass(frozen=True, slots=True, kw_only=True)
class _Optimisation:
    """One call that may do something. Clients in Kafka's order, tasks ascending; the rack of each client."""

    placement: AssignedPlacement
    clients: Sequence[int]
    tasks: Sequence[int]
    racks: Mapping[int, str]
    cost: Cost
    role: TaskType
    strategy: RackStrategy

    @property
    def hosts(self) -> Sequence[Collection[int]]:
        """The tasks of each client in the role."""
        return self.placement.active if self.role is TaskType.ACTIVE else self.placement.standby

    def network(self, tasks: Sequence[int], clients: Sequence[int]) -> Network:
        """The network of the configured strategy; subtopologies of one number count as one, whatever their topology."""
        one_owner = self.role is TaskType.ACTIVE
        if self.strategy is RackStrategy.MIN_TRAFFIC:
            return self.min_traffic(tasks, clients)
        groups: dict[int, list[int]] = {}
        for task in self.tasks:
            groups.setdefault(self.placement.tasks[task].subtopology, []).append(task)
        in_order = [groups[number] for number in sorted(groups)]
        return balance_subtopology(tasks, clients, in_order, self.hosts, self.cost, one_owner=one_owner)

    def min_traffic(self, tasks: Sequence[int], clients: Sequence[int]) -> Network:
        """The network that Kafka also computes costs with. Raises LeaderFailed where a task is not where it should."""
        return min_traffic(tasks, clients, self.hosts, self.cost, one_owner=self.role is TaskType.ACTIVE)


def _prepared(params: RackAwareOptimizationParams, assignments: Assignments, role: TaskType) -> _Optimisation | None:
    """The optimisation, or None where Kafka does nothing."""
    state = params.application_state
    configs = state.assignment_configs
    tasks = params.tasks
    if tasks is None:
        tasks = frozenset(task for assignment in assignments.values() for task in assignment.of_type(role))
    strategy = configs.rack_aware_assignment_strategy
    if (
        not tasks
        or strategy is RackStrategy.NONE
        or configs.rack_aware_traffic_cost is None
        or configs.rack_aware_non_overlap_cost is None
    ):
        return None
    racks = _racks(state, role)
    if racks is None:
        return None
    states = add_missing_clients(state, assignments)
    placement = AssignedPlacement(state, assignments)
    costs = Costs(
        configs.rack_aware_traffic_cost if params.traffic_cost is None else params.traffic_cost,
        configs.rack_aware_non_overlap_cost if params.non_overlap_cost is None else params.non_overlap_cost,
    )
    numbers = dict(zip(placement.numbers(states), (racks[process_id] for process_id in states), strict=True))
    found = _Optimisation(
        placement=placement,
        clients=list(numbers),
        tasks=placement.ranks(tasks),
        racks=numbers,
        cost=_cost(state, placement, numbers, costs, role),
        role=role,
        strategy=strategy,
    )
    found.min_traffic(found.tasks, found.clients)
    return found


def _parts(info: TaskInfo, role: TaskType) -> list[TaskTopicPartition]:
    """The partitions that count: all of an active task, the changelogs of a standby."""
    return [part for part in info.topic_partitions if role is TaskType.ACTIVE or part.is_changelog]


def _racks(state: ApplicationState, role: TaskType) -> dict[ProcessId, str] | None:
    """The rack of each client; None unless all racks that matter are known."""
    racks = {
        process_id: client.rack_id
        for process_id, client in state.kafka_streams_states(False).items()
        if client.rack_id is not None
    }
    known = all(part.rack_ids() for info in state.all_tasks.values() for part in _parts(info, role))
    return racks if known and len(racks) == len(state.kafka_streams_states(False)) else None


def _cost(
    state: ApplicationState, placement: AssignedPlacement, racks: Mapping[int, str], costs: Costs, role: TaskType
) -> Cost:
    def cost(task: int, client: int, here: bool) -> int:
        info = state.all_tasks.get(placement.tasks[task])
        if info is None:
            raise LeaderFailed("NullPointerException", f"task {placement.tasks[task]} is no task of the application")
        remote = sum(racks[client] not in (part.rack_ids() or ()) for part in _parts(info, role))
        return int32(costs.traffic * remote + (0 if here else costs.non_overlap))

    return cost
