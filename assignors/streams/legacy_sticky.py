"""Kafka's first sticky task assignor: the default up to 2.5, later the internal one for `internal.task.assignor.class`.

Theory. A task stays where it was active while its client has no more than its quota of actives, floor(tasks / threads)
per thread; else it goes to a client that was its standby, under the same quota; the rest goes to the client with the
fewest tasks per thread, preferring previous hosts and pairs of tasks that have not met on one client yet. Standbys are
placed the same way. Lags play no part. As *fallback* (`must_preserve`), when end offsets could not be read, previous
actives ignore the quota.

Example: tasks 0_0, 0_1, 0_2, A ran 0_0 and 0_1, B (new) runs nothing; one thread each. The quota is 1: A keeps the
first of its tasks in hash order, the other one and 0_2 have no previous host with room: B is empty and gets 0_1, then
both are equally loaded and 0_2 goes where it makes a new pair.

Nearly everything is walked in the order of Java's hash tables, so that order decides: which of two tasks keeps its
place, and who wins a tie.
"""

from collections.abc import Iterable, Sequence

from .application import AssignmentConfigs
from .clients import Client
from .eras import Era
from .failures import illegal_state
from .placement import Placement
from .racks import STATELESS_COSTS, Costs, Racks
from .standbys import always_task
from .tasks import HashOrders, ProcessId, TaskId

_TRAFFIC_COST = 1
_NON_OVERLAP_COST = 10


def assign(
    clients: Sequence[Client],
    tasks: Sequence[TaskId],
    stateful: Sequence[TaskId],
    racks: Racks | None,
    configs: AssignmentConfigs,
    era: Era,
    hash_orders: HashOrders,
    *,
    must_preserve: bool = False,
) -> bool:
    """Fill the clients' `active` and `standby`; whether a probing rebalance is needed, which only the fallback says.

    `clients`, `tasks` and `stateful` stand in the order in which the leader put them into its hash tables.
    """
    placement = Placement(clients, tasks)
    if not sum(placement.capacity):
        raise illegal_state("there is no thread to assign tasks to")
    sticky = _Sticky(placement, clients, hash_orders)
    walk = [placement.rank[task] for task in hash_orders.tasks(tasks)]
    sticky.place_actives(walk, must_preserve=must_preserve)
    stateful_walk = [placement.rank[task] for task in hash_orders.tasks(stateful)]
    costs = Costs.configured(configs, _TRAFFIC_COST, _NON_OVERLAP_COST)
    if racks is not None:
        racks.optimize_active(placement, sorted(stateful_walk), costs)
        racks.optimize_active(placement, sorted(frozenset(walk) - frozenset(stateful_walk)), STATELESS_COSTS)
    sticky.place_standbys(walk if era.standbys_of_all else stateful_walk, configs.num_standby_replicas)
    if racks is not None and configs.num_standby_replicas > 0:
        racks.optimize_standby(placement, costs, always_task)
    placement.write_back()
    return must_preserve


class Pairs:
    """Pairs of tasks that have met on a client. Once every pair has met, none counts as new."""

    __slots__ = ("_all", "_met")

    def __init__(self, tasks: int) -> None:
        self._all = tasks * (tasks - 1) // 2
        self._met: set[tuple[int, int]] = set()

    def add(self, task: int, others: Iterable[int]) -> None:
        """The task meets these others."""
        self._met.update((task, other) if task < other else (other, task) for other in others)

    def any_new(self, task: int, others: Iterable[int]) -> bool:
        """Whether the task would meet one of these others for the first time."""
        return len(self._met) != self._all and any(
            ((task, other) if task < other else (other, task)) not in self._met for other in others
        )


class _Sticky:
    """One run; clients and tasks are numbers."""

    def __init__(self, placement: Placement, clients: Sequence[Client], hash_orders: HashOrders) -> None:
        self._placement = placement
        self._hash_orders = hash_orders
        self._number = {client.process_id: number for number, client in enumerate(placement.clients)}
        self._ids: list[ProcessId] = [client.process_id for client in placement.clients]
        self._walk = [self._number[one] for one in hash_orders.processes(client.process_id for client in clients)]
        self._pairs = Pairs(len(placement.tasks))
        # Java's maps of previous hosts also hold tasks that no longer exist; they take places in the table.
        self._previous_active: dict[TaskId, int] = {}
        self._previous_standby: dict[TaskId, list[int]] = {}
        for client in self._walk:
            for task in placement.clients[client].previous_active:
                self._previous_active[task] = client
            for task in placement.clients[client].previous_standby:
                self._previous_standby.setdefault(task, []).append(client)

    def place_actives(self, walk: Sequence[int], *, must_preserve: bool) -> None:
        """All tasks; `walk` is their hash order."""
        placement, tasks = self._placement, self._placement.tasks
        per_thread = len(walk) // sum(placement.capacity)

        def has_room(client: int) -> bool:
            return len(placement.active[client]) < placement.capacity[client] * per_thread

        placed = set()
        for task_id in self._hash_orders.tasks(self._previous_active):
            task, client = placement.rank.get(task_id), self._previous_active[task_id]
            if task is not None and (must_preserve or has_room(client)):
                self._give(task, client, active=True)
                placed.add(task)
        copy = self._hash_orders.tasks_copied([tasks[task] for task in walk])
        left = []
        for task in (placement.rank[task_id] for task_id in copy):
            if task in placed:
                continue
            client = next((one for one in self._standby_hosts(task) if has_room(one)), -1)
            if client >= 0:
                self._give(task, client, active=True)
            else:
                left.append(task)
        for task in sorted(left):
            self._give(task, self._find(task, self._walk), active=True)

    def place_standbys(self, walk: Sequence[int], copies: int) -> None:
        """So many copies of each of these tasks, in this order, while there are clients without it."""
        placement = self._placement
        for task in walk:
            for _ in range(copies):
                free = [client for client in self._walk if not placement.holds(client, task)]
                if not free:
                    break
                self._give(task, self._find(task, self._in_hash_order(free)), active=False)

    def _in_hash_order(self, clients: Sequence[int]) -> list[int]:
        return [self._number[one] for one in self._hash_orders.processes(self._ids[client] for client in clients)]

    def _standby_hosts(self, task: int) -> list[int]:
        """Previous standby hosts in the order of their hash set."""
        return self._in_hash_order(self._previous_standby.get(self._placement.tasks[task], ()))

    def _give(self, task: int, client: int, *, active: bool) -> None:
        placement = self._placement
        self._pairs.add(task, placement.active[client])
        self._pairs.add(task, placement.standby[client])
        (placement.give_active if active else placement.give_standby)(client, task)

    def _find(self, task: int, within: Sequence[int]) -> int:
        """The best of these clients, which stand in the order of their hash set."""
        if len(within) == 1:
            return within[0]
        previous: int | None = self._previous_active.get(self._placement.tasks[task], -1)
        if previous not in within:
            previous = self._standby_within(task, within)
        if previous is None:
            return self._least_loaded_of(task, within)
        if self._overloaded(previous):
            standby = self._standby_within(task, within)
            return self._least_loaded_of(task, within) if standby is None or self._overloaded(standby) else standby
        return previous

    def _standby_within(self, task: int, within: Sequence[int]) -> int | None:
        hosts = self._standby_hosts(task)
        copied = self._hash_orders.processes_copied([self._ids[client] for client in hosts])
        return self._least_loaded(
            task, [client for client in map(self._number.__getitem__, copied) if client in within]
        )

    def _least_loaded_of(self, task: int, clients: Sequence[int]) -> int:
        found = self._least_loaded(task, clients)
        assert found is not None, "some client is least loaded"
        return found

    def _least_loaded(self, task: int, clients: Sequence[int]) -> int | None:
        """The client with most room, if it makes a new pair; failing that, the one with most room."""
        return self._scan(task, clients, new_pairs=True) if clients else None

    def _scan(self, task: int, clients: Sequence[int], *, new_pairs: bool) -> int | None:
        placement = self._placement
        best = None
        for client in clients:
            if not placement.count[client]:
                return client
            if (best is None or self._more_room(client, best)) and (
                not new_pairs
                or self._pairs.any_new(task, placement.active[client])
                or self._pairs.any_new(task, placement.standby[client])
            ):
                best = client
        return self._scan(task, clients, new_pairs=False) if best is None and new_pairs else best

    def _overloaded(self, client: int) -> bool:
        placement = self._placement
        return placement.count[client] >= placement.capacity[client] and any(
            self._more_room(other, client) for other in self._walk
        )

    def _more_room(self, client: int, other: int) -> bool:
        """Less load per thread, or as much with more threads."""
        load, capacity = self._placement.load, self._placement.capacity
        return load[client] < load[other] or (load[client] == load[other] and capacity[client] > capacity[other])
