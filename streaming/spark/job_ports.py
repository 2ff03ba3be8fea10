"""What a job is given by the process that runs it: where results go, who is told, who folds."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from rebalance_monitor.streaming.config.client_reference import ClientReference
from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.lifecycles import FoldGroup
from rebalance_monitor.streaming.core.ports import Store
from rebalance_monitor.streaming.polling.coordinator_log import KeptReasons
from .observing import KnownEnds, Leases, Observer
from .tasks import OpenStore


class Identify(Protocol):
    """Notes a Kafka cluster's own id."""

    def __call__(self, epoch: int, cluster_id: str, *, begin_anew: bool) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Served:
    """Where one cluster's results go. `identify` notes the Kafka cluster's own id and returns that of another one which
    had this name before (`store.writer`). `claimed` is called with the writer epoch as soon as there is one; `restore`
    tells the observer again what is stored, where something may be that it was not told of."""

    store: Store
    ends: KnownEnds
    identify: Identify
    claimed: Callable[[int], None]
    restore: Callable[[], None]
    reasons: KeptReasons


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPorts:
    """The same for all clusters of a job.

    `serve`: where the results of the cluster of this name go; what is open of it in the database is told by then.
    `of_tasks` opens the store of a process that folds. `client_of`: a cluster's client, as it may stand in a query's
    plan. `reload`: the configuration as it is at SIGHUP, None where it is not valid, which was said by then. `forget`:
    nothing more is told of the cluster of this name, which was taken out of the configuration.
    """

    leases: Leases
    serve: Callable[[str], AbstractContextManager[Served]]
    observer: Observer
    of_tasks: OpenStore
    client_of: Callable[[ClusterSection], ClientReference]
    fold: FoldGroup
    reload: Callable[[], Settings | None]
    forget: Callable[[str], None]
