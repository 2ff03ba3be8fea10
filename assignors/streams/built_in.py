"""The assignors that Kafka Streams brings itself, from an application's state to the share of every thread."""

from enum import Enum
from typing import assert_never

from rebalance_monitor.assignors.streams import high_availability, legacy_sticky
from rebalance_monitor.assignors.streams.application import ClientShare, StreamsApplication, StreamsResult
from rebalance_monitor.assignors.streams.clients import Client, Topology, clients_of
from rebalance_monitor.assignors.streams.eras import Era
from rebalance_monitor.assignors.streams.failures import LeaderFailed
from rebalance_monitor.assignors.streams.racks import Racks
from rebalance_monitor.assignors.streams.tasks import HashOrders, sorted_tasks
from rebalance_monitor.assignors.streams.threads import assign_to_threads


class BuiltIn(Enum):
    """Kafka's own assignors. The fallback runs where end offsets could not be read."""

    HIGH_AVAILABILITY = "high_availability"
    LEGACY_STICKY = "legacy_sticky"
    FALLBACK_PRIOR = "fallback_prior"


def recompute(application: StreamsApplication, assignor: BuiltIn) -> StreamsResult:
    """What the leader hands out. Raises LeaderFailed where Kafka's class throws."""
    topology, era = Topology(application.tasks), application.era
    hash_orders = HashOrders(application.release, application.java_version)
    clients = clients_of(application.clients, topology, era, hash_orders)
    followup = run(application, assignor, clients, topology, hash_orders)
    return StreamsResult(
        followup=followup,
        shares={client.process_id: share_of(client, era, hash_orders) for client in clients},
        order_unsure=hash_orders.unsure,
    )


def run(
    application: StreamsApplication,
    assignor: BuiltIn,
    clients: list[Client],
    topology: Topology,
    hash_orders: HashOrders,
) -> bool:
    """Give the clients their tasks; whether a probing rebalance is needed."""
    if not clients:
        raise LeaderFailed("NoSuchElementException", "the group has no client to assign tasks to")
    configs, era = application.configs, application.era
    given = clients, topology.ids, topology.stateful
    racks = Racks(application.tasks, application.clients, application.racks, configs, era)
    match assignor:
        case BuiltIn.HIGH_AVAILABILITY:
            return high_availability.assign(*given, racks, configs, era, hash_orders)
        case BuiltIn.LEGACY_STICKY:
            return legacy_sticky.assign(*given, racks, configs, era, hash_orders)
        case BuiltIn.FALLBACK_PRIOR:
            return legacy_sticky.assign(*given, None, configs, era, hash_orders, must_preserve=True)
        case _:
            assert_never(assignor)


def share_of(client: Client, era: Era, hash_orders: HashOrders) -> ClientShare:
    """The client's tasks and those of each of its threads; up to 2.5 the threads are not computed."""
    return ClientShare(
        active=tuple(sorted_tasks(client.active)),
        standby=tuple(sorted_tasks(client.standby)),
        warm_ups=tuple(client.warm_ups),
        threads=assign_to_threads(client, era, hash_orders) if era.high_availability else {},
    )
