"""The assignors that Kafka Streams brings itself, from an application's state to the share of every thread."""

from enum import Enum
from typing import assert_never

from . import high_availability, legacy_sticky
from .application import ClientShare, StreamsApplication, StreamsResult
from .clients import Client, Topology, clients_of
from .eras import Era
from .failures import LeaderFailed
from .plug_in import application_state_of, apply
from .public_sticky import StickyTaskAssignor
from .racks import Racks
from .tasks import HashOrders, sorted_tasks
from .threads import assign_to_threads


class BuiltIn(Enum):
    """Kafka's own assignors. The fallback runs where end offsets could not be read; `PUBLIC_STICKY` is the one that
    applications name in `task.assignor.class` (since 3.8)."""

    HIGH_AVAILABILITY = "high_availability"
    LEGACY_STICKY = "legacy_sticky"
    FALLBACK_PRIOR = "fallback_prior"
    PUBLIC_STICKY = "sticky_924"


_PACKAGE = "org.apache.kafka.streams.processor"
_BY_CLASS = {
    f"{_PACKAGE}.internals.assignment.HighAvailabilityTaskAssignor": BuiltIn.HIGH_AVAILABILITY,
    # The class had this name up to 3.7.
    f"{_PACKAGE}.internals.assignment.StickyTaskAssignor": BuiltIn.LEGACY_STICKY,
    f"{_PACKAGE}.internals.assignment.LegacyStickyTaskAssignor": BuiltIn.LEGACY_STICKY,
    f"{_PACKAGE}.internals.assignment.FallbackPriorTaskAssignor": BuiltIn.FALLBACK_PRIOR,
    f"{_PACKAGE}.assignment.assignors.StickyTaskAssignor": BuiltIn.PUBLIC_STICKY,
}


def built_in_of(name: str) -> BuiltIn | None:
    """The assignor of this short name, or of this class as the configuration of Kafka Streams names it; None for a
    class that is not Kafka's."""
    return next((one for one in BuiltIn if one.value == name), _BY_CLASS.get(name))


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
        case BuiltIn.PUBLIC_STICKY:
            _assign_by_plug_in(application, clients, topology, hash_orders)
            return False
        case _:
            assert_never(assignor)


def _assign_by_plug_in(
    application: StreamsApplication, clients: list[Client], topology: Topology, hash_orders: HashOrders
) -> None:
    tasks = [topology.tasks[task] for task in hash_orders.tasks(topology.ids)]
    state = application_state_of(tasks, clients, application.racks, application.configs, hash_orders)
    assignment = StickyTaskAssignor(java_version=application.java_version).assign(state)
    apply(assignment, {client.process_id: client for client in clients}, hash_orders)


def share_of(client: Client, era: Era, hash_orders: HashOrders) -> ClientShare:
    """The client's tasks and those of each of its threads; up to 2.5 the threads are not computed."""
    return ClientShare(
        active=tuple(sorted_tasks(client.active)),
        standby=tuple(sorted_tasks(client.standby)),
        warm_ups=tuple(client.warm_ups),
        threads=assign_to_threads(client, era, hash_orders) if era.high_availability else {},
    )
