"""Values of the records of Streams groups (KIP-1071, types 17 to 24), which brokers write since 4.1.

A task is a partition of a subtopology; each is active with one member and may be a standby or warm-up with others.
"""

from dataclasses import dataclass
from typing import TypeAlias

from .group_values import State


@dataclass(frozen=True, slots=True)
class SubtopologyTasks:
    """Tasks of one subtopology. `epochs`: when each was given to the member (4.2, active tasks only), or None."""

    subtopology: str
    numbers: tuple[int, ...]
    epochs: tuple[int, ...] | None = None


Tasks: TypeAlias = tuple[SubtopologyTasks, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsEpoch:
    """Type 17. `validated_topology_epoch` and `configs` exist since 4.2: the configs of the last assignment."""

    epoch: int
    metadata_hash: int
    validated_topology_epoch: int | None
    configs: tuple[tuple[str, str], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsMember:
    """Type 19. `endpoint` is host and port of the application's own server, if it told one."""

    instance_id: str | None
    rack: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    topology_epoch: int
    process_id: str
    endpoint: tuple[str, int] | None
    client_tags: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsTarget:
    """Type 21: what a member should hold, by role."""

    active: Tasks
    standby: Tasks
    warmup: Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsCurrent:
    """Type 22: what a member holds, and what it has to give up, by role."""

    epoch: int
    previous_epoch: int
    state: State
    active: Tasks
    standby: Tasks
    warmup: Tasks
    active_pending_revocation: Tasks
    standby_pending_revocation: Tasks
    warmup_pending_revocation: Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    """An internal topic. `partitions` 0: not enforced."""

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopartitionGroup:
    """Topics that must have equally many partitions: indexes into the lists of the subtopology."""

    sources: tuple[int, ...]
    source_regexes: tuple[int, ...]
    repartition_sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtopologyInfo:
    """One subtopology. It is stateful if it has a changelog."""

    id: str
    sources: tuple[str, ...]
    source_regexes: tuple[str, ...]
    changelogs: tuple[TopicInfo, ...]
    repartition_sinks: tuple[str, ...]
    repartition_sources: tuple[TopicInfo, ...]
    copartition_groups: tuple[CopartitionGroup, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """Type 23: the whole topology of the application."""

    epoch: int
    subtopologies: tuple[SubtopologyInfo, ...]


@dataclass(frozen=True, slots=True)
class ResolvedTopics:
    """Type 24: the topics of each subtopology when the target was computed. No release up to 4.3 reads it."""

    epoch: int
    topics: tuple[tuple[str, tuple[bytes, ...]], ...]
