"""What a Streams leader's assignor reads: tasks, clients with their threads, racks and the leader's configuration.

The orders of `tasks`, `clients` and of each client's `consumers` are those in which the leader put them into its hash
maps. They decide nothing in the high-availability assignor and a good deal in the sticky ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from .eras import Era, era_of
from .tasks import ProcessId, Release, TaskId, TopicPartition

RUNNING = -2
"""Offset sum (and lag) of a task that the reporting thread runs as active."""
UNKNOWN_SUM = -3
"""Offset sum of a standby whose member is too old to report one; as an end offset sum: it could not be fetched."""
UNBOUNDED_LAG = (1 << 63) - 1


class RackStrategy(Enum):
    """`rack.aware.assignment.strategy`."""

    NONE = "none"
    MIN_TRAFFIC = "min_traffic"
    BALANCE_SUBTOPOLOGY = "balance_subtopology"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentConfigs:
    """The leader's configuration, by Kafka's names. Lags in records, the interval in ms; None means not configured."""

    acceptable_recovery_lag: int = 10_000
    max_warmup_replicas: int = 2
    num_standby_replicas: int = 0
    probing_rebalance_interval_ms: int = 600_000
    rack_aware_assignment_tags: tuple[str, ...] = ()
    rack_aware_traffic_cost: int | None = None
    rack_aware_non_overlap_cost: int | None = None
    rack_aware_assignment_strategy: RackStrategy = RackStrategy.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsTask:
    """One task. `stateful` means that its subtopology has a changelog; `end_offset_sum` is the sum of the log end
    offsets of its changelog partitions, of no meaning for a stateless task. Plug-ins are also told whether the
    subtopology has any state store (`has_stores`, None if that is the same) and the stores' names."""

    id: TaskId
    sources: tuple[TopicPartition, ...] = ()
    changelogs: tuple[TopicPartition, ...] = ()
    stateful: bool = False
    end_offset_sum: int = 0
    has_stores: bool | None = None
    state_store_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsConsumer:
    """One thread as its subscription shows it: owned partitions and an offset sum for each task it has state of."""

    id: str
    rack: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    offset_sums: Mapping[TaskId, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsClient:
    """One process and its threads; the first one seen gives the client its rack in KIP-924's terms. `host_info` is the
    host and port of `application.server`."""

    process_id: ProcessId
    consumers: tuple[StreamsConsumer, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    host_info: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsApplication:
    """Everything that one run of an assignor depends on.

    `racks` gives the racks of all replicas of a partition, None for a broker without one; a partition that is missing
    is unknown to the leader. `java_version` is the major version of the leader's Java.
    """

    release: Release
    tasks: tuple[StreamsTask, ...]
    clients: tuple[StreamsClient, ...]
    configs: AssignmentConfigs = field(default_factory=AssignmentConfigs)
    racks: Mapping[TopicPartition, tuple[str | None, ...]] = field(default_factory=dict)
    java_version: int = 17

    @property
    def era(self) -> Era:
        """What the leader's release does."""
        return era_of(self.release)


@dataclass(frozen=True, slots=True)
class ThreadShare:
    """Tasks of one thread, in the order in which Kafka lists them."""

    active: tuple[TaskId, ...] = ()
    standby: tuple[TaskId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientShare:
    """Tasks of one client, sorted. `standby` includes `warm_ups`, copies that exist only to catch up; Kafka itself no
    longer tells the two apart."""

    active: tuple[TaskId, ...] = ()
    standby: tuple[TaskId, ...] = ()
    warm_ups: tuple[TaskId, ...] = ()
    threads: Mapping[str, ThreadShare] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsResult:
    """The answer: whether a probing rebalance is needed, and the share of every client.

    `order_unsure`: the answer rests on the order of crowded hash buckets, a detail of the JVM's library.
    `standbys_unsure`: the placement of standbys depends on the memory addresses of one JVM, so only actives are known.
    """

    followup: bool
    shares: Mapping[ProcessId, ClientShare]
    order_unsure: bool = False
    standbys_unsure: bool = False
