"""Rack awareness (KIP-925): when it is on, what a placement costs, and the exchange of tasks that makes it cheaper.

A task on a client costs `traffic` for each of its partitions that has no replica in the client's rack, plus
`non_overlap` if the client does not have the task now. The number of tasks of each client never changes: `networks`
turns the question into a flow, `flow` finds the cheapest one.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.java_order import utf16_key
from .application import AssignmentConfigs, RackStrategy, StreamsClient, StreamsTask
from .eras import Era
from .failures import illegal_state
from .networks import Cost, Network, balance_subtopology, min_traffic
from .placement import Placement
from .standbys import MayMoveTask
from .tasks import ProcessId, TaskId, TopicPartition, sorted_tasks

STANDBY_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Costs:
    """What one partition read across racks costs, and what one moved task costs."""

    traffic: int
    non_overlap: int

    @classmethod
    def configured(cls, configs: AssignmentConfigs, traffic: int, non_overlap: int) -> "Costs":
        """The configured costs, with these defaults."""
        set_traffic, set_non_overlap = configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost
        return cls(
            traffic if set_traffic is None else set_traffic,
            non_overlap if set_non_overlap is None else set_non_overlap,
        )


STATELESS_COSTS = Costs(1, 0)


def racks_of_replicas(
    partitions: Collection[TopicPartition], racks: Mapping[TopicPartition, tuple[str | None, ...]]
) -> dict[TopicPartition, frozenset[str]] | None:
    """The racks of every partition; None if a partition is unknown or a broker has no rack."""
    known = {}
    for partition in partitions:
        replicas = [rack for rack in racks.get(partition, ()) if rack is not None]
        if not replicas or len(replicas) < len(racks[partition]):
            return None
        known[partition] = frozenset(replicas)
    return known


def rack_of_clients(clients: Sequence[StreamsClient]) -> dict[ProcessId, str] | None:
    """The rack of every client; None if a thread reports none or threads of one client differ."""
    known = {}
    for client in clients:
        racks = {consumer.rack or None for consumer in client.consumers}
        rack = racks.pop() if len(racks) == 1 else None
        if rack is None:
            return None
        known[client.process_id] = rack
    return known


class Racks:
    """Rack awareness of one run. `enabled` is false unless every rack that matters is known."""

    def __init__(
        self,
        tasks: Sequence[StreamsTask],
        clients: Sequence[StreamsClient],
        racks: Mapping[TopicPartition, tuple[str | None, ...]],
        configs: AssignmentConfigs,
        era: Era,
    ) -> None:
        self._strategy = configs.rack_aware_assignment_strategy
        self._era = era
        self._tasks: Mapping[TaskId, StreamsTask] = {}
        self._clients: Mapping[ProcessId, str] = {}
        self._partitions: Mapping[TopicPartition, frozenset[str]] = {}
        self._groups: list[list[TaskId]] = []
        self.enabled = (
            self._strategy is not RackStrategy.NONE
            and era.racks
            and self._learn(tasks, clients, racks, with_changelogs=configs.num_standby_replicas > 0)
        )

    def _learn(
        self,
        tasks: Sequence[StreamsTask],
        clients: Sequence[StreamsClient],
        racks: Mapping[TopicPartition, tuple[str | None, ...]],
        *,
        with_changelogs: bool,
    ) -> bool:
        partitions = {partition for task in tasks for partition in task.sources}
        if with_changelogs:
            partitions.update(partition for task in tasks for partition in task.changelogs)
        of_clients, of_partitions = rack_of_clients(clients), racks_of_replicas(partitions, racks)
        if of_clients is None or of_partitions is None:
            return False
        self._clients, self._partitions = of_clients, of_partitions
        self._tasks = {task.id: task for task in tasks}
        self._groups = subtopologies(self._tasks)
        return True

    def optimize_active(self, placement: Placement, tasks: Sequence[int], costs: Costs) -> None:
        """Exchange these active tasks between clients until no exchange is cheaper."""
        if not self.enabled or not tasks:
            return
        clients = list(range(len(placement.clients)))
        cost = self._cost(placement, costs, lambda task: self._tasks[task].sources)
        if self._strategy is RackStrategy.BALANCE_SUBTOPOLOGY:
            groups = [[placement.rank[task] for task in group] for group in self._groups]
            network = balance_subtopology(tasks, clients, groups, placement.active, cost, one_owner=True)
        else:
            network = min_traffic(tasks, clients, placement.active, cost, one_owner=True)
        self._solve(network, placement, placement.take_active, placement.give_active, placement.active)

    def optimize_standby(self, placement: Placement, costs: Costs, may_move: MayMoveTask) -> None:
        """Exchange standbys between pairs of clients in different racks, four rounds at most."""
        if not self.enabled:
            return
        cost = self._cost(placement, costs, lambda task: self._tasks[task].changelogs)
        racks = [self._clients[client.process_id] for client in placement.clients]

        def movable(source: int, destination: int) -> list[int]:
            return [
                task
                for task in placement.standby[source]
                if not placement.holds(destination, task) and may_move(source, destination, task)
            ]

        for _ in range(STANDBY_ROUNDS):
            moved = False
            for first in range(len(racks)):
                for second in range(first + 1, len(racks)):
                    if racks[first] == racks[second]:
                        continue
                    there, back = movable(first, second), movable(second, first)
                    if not there or not back:
                        continue
                    tasks = sorted(there + back)
                    network = min_traffic(tasks, [first, second], placement.standby, cost, one_owner=False)
                    moved |= self._solve(
                        network, placement, placement.take_standby, placement.give_standby, placement.standby
                    )
            if not moved:
                break

    def _cost(self, placement: Placement, costs: Costs, parts: Callable[[TaskId], Sequence[TopicPartition]]) -> Cost:
        racks = [self._clients[client.process_id] for client in placement.clients]
        remote: dict[tuple[int, str], int] = {}

        def cost(task: int, client: int, here: bool) -> int:
            key = task, racks[client]
            number = remote.get(key)
            if number is None:
                partitions = parts(placement.tasks[task])
                if not partitions:
                    raise illegal_state(f"task {placement.tasks[task]} has no partitions")
                number = sum(racks[client] not in self._partitions[partition] for partition in frozenset(partitions))
                remote[key] = number
            return int32(costs.traffic * number + (0 if here else costs.non_overlap))

        return cost

    def _solve(
        self,
        network: Network,
        placement: Placement,
        take: Callable[[int, int], None],
        give: Callable[[int, int], None],
        role: Sequence[Collection[int]],
    ) -> bool:
        return network.solve(role, take, give, from_each_node=not self._era.balances_subtopologies)


def subtopologies(tasks: Collection[TaskId]) -> list[list[TaskId]]:
    """All tasks by subtopology: by its number, then unnamed topologies first, then by name."""
    groups: dict[tuple[int, bytes], list[TaskId]] = {}
    for task in sorted_tasks(tasks):
        groups.setdefault((task.subtopology, utf16_key(task.topology)), []).append(task)
    return [groups[key] for key in sorted(groups)]


def int32(number: int) -> int:
    """The number as Java's `int` holds it."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)
