"""Kafka Streams' default assignor since 2.6 (KIP-441), release by release.

Theory. First an *ideal* placement is computed that depends on nothing but members, capacities and configuration:
stateful tasks are dealt round-robin to the clients in order of process ids, evened out by load per thread, and standbys
go to the least loaded. Then lags come in: a task whose ideal host is behind goes to a client that is caught up, and its
ideal host gets a *warm-up*, a standby that exists to catch up, while the configured number of warm-ups lasts
(`movements`). Such a placement asks for a probing rebalance some minutes later, which finds the warm-ups caught up and
moves the tasks home. Stateless tasks come last, to the client with the fewest actives per thread.

Example: acceptable lag 10,000, one standby, two warm-ups; I1 and I2 run T1..T3 and hold each other's standbys, I3
joins without state.

    ideal      I1 T1 (T3)     I2 T2 (T1)       I3 T3 (T2)
    answer     I1 T1 T3 (T2)  I2 T2 (T1 T3)    I3 - (T2 T3)     T2 and T3 warm up on I3, a probing rebalance is due
    later      I1 T1 (T3)     I2 T2 (T1)       I3 T3 (T2)       I3 is caught up: the ideal placement, no probing

Every queue, tie and order is Kafka's; `eras` says what older releases did otherwise.
"""

from collections.abc import Sequence
from heapq import heapify, heapreplace

from .application import AssignmentConfigs
from .balance import balance
from .clients import Client
from .eras import Era
from .movements import Movements
from .placement import Placement
from .racks import STATELESS_COSTS, Costs, Racks
from .standbys import MayMove, MayMoveTask, always, always_task, place_by_load
from .tags import TagAware
from .tasks import HashOrders, TaskId

_TRAFFIC_COST = 10
_NON_OVERLAP_COST = 1


def assign(
    clients: Sequence[Client],
    tasks: Sequence[TaskId],
    stateful: Sequence[TaskId],
    racks: Racks,
    configs: AssignmentConfigs,
    era: Era,
    hash_orders: HashOrders,
) -> bool:
    """Fill the clients' `active`, `standby` and `warm_ups`; whether a probing rebalance is needed."""
    ideal = place_ideally(clients, tasks, stateful, racks, configs, era, hash_orders)
    return correct(ideal, stateful, racks, configs, era, hash_orders)


def place_ideally(
    clients: Sequence[Client],
    tasks: Sequence[TaskId],
    stateful: Sequence[TaskId],
    racks: Racks,
    configs: AssignmentConfigs,
    era: Era,
    hash_orders: HashOrders,
) -> Placement:
    """Where the stateful tasks and their standbys are once nothing lags: no end offset counts."""
    placement = Placement(clients, tasks)
    ranks = _ranks(placement, stateful)
    costs = Costs.configured(configs, _TRAFFIC_COST, _NON_OVERLAP_COST)
    _place_stateful(placement, ranks)
    racks.optimize_active(placement, ranks, costs)
    if configs.num_standby_replicas > 0:
        may_move, may_move_task = _place_standbys(placement, ranks, configs, era, hash_orders)
        balance(placement, placement.standby, may_move)
        racks.optimize_standby(placement, costs, may_move_task)
    return placement


def correct(
    placement: Placement,
    stateful: Sequence[TaskId],
    racks: Racks,
    configs: AssignmentConfigs,
    era: Era,
    hash_orders: HashOrders,
) -> bool:
    """Bring the ideal placement in line with the clients' lags, place the stateless tasks, and fill the clients;
    whether a probing rebalance is needed."""
    ranks = _ranks(placement, stateful)
    movements = Movements(placement, ranks, configs, era, hash_orders)
    moved = movements.move_actives() + movements.move_standbys()
    stateless = sorted(frozenset(placement.rank.values()) - frozenset(ranks))
    _place_stateless(placement, stateless)
    racks.optimize_active(placement, stateless, STATELESS_COSTS)
    placement.write_back()
    for client, warm_ups in zip(placement.clients, movements.warm_ups, strict=True):
        client.warm_ups = [placement.tasks[task] for task in sorted(warm_ups)]
    return moved > 0


def _ranks(placement: Placement, tasks: Sequence[TaskId]) -> list[int]:
    return sorted(placement.rank[task] for task in tasks)


def _place_stateful(placement: Placement, tasks: Sequence[int]) -> None:
    """Round-robin, whatever the capacities; balancing repairs that."""
    for at, task in enumerate(tasks):
        placement.give_active(at % len(placement.clients), task)
    balance(placement, placement.active, always)


def _place_standbys(
    placement: Placement, tasks: Sequence[int], configs: AssignmentConfigs, era: Era, hash_orders: HashOrders
) -> tuple[MayMove, MayMoveTask]:
    if configs.rack_aware_assignment_tags and era.tags:
        tags = [client.tags for client in placement.clients]
        tag_aware = TagAware(placement, tags, configs.rack_aware_assignment_tags)
        tag_aware.place(tasks, configs.num_standby_replicas, hash_orders, range(len(tags)))
        return tag_aware.may_move, tag_aware.may_move_task
    wanted = [(task, configs.num_standby_replicas) for task in tasks]
    place_by_load(placement, wanted, range(len(placement.clients)))
    return always, always_task


def _place_stateless(placement: Placement, tasks: Sequence[int]) -> None:
    """Each to the client with the fewest actives per thread, whatever its standbys."""
    queue = [
        (len(active) / capacity, client)
        for client, (active, capacity) in enumerate(zip(placement.active, placement.capacity, strict=True))
    ]
    heapify(queue)
    for task in tasks:
        client = queue[0][1]
        placement.give_active(client, task)
        heapreplace(queue, (len(placement.active[client]) / placement.capacity[client], client))
