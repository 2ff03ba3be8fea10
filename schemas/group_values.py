"""Values of the records of KIP-848 groups (types 3 to 8, 16) and of what share and Streams groups have in common.

Three epochs order the life of such a group: the group epoch (membership or metadata changed), the assignment epoch (a
target was computed for it) and each member's epoch (how far the member has come). `schemas.group_records` reads them.

A topic is its 16-byte id. Lists keep the order of the record: the broker's assignors read previous targets in it.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """Partitions of one topic. `epochs`: the epoch at which each was given to the member (4.3), or None."""

    topic: bytes
    numbers: tuple[int, ...]
    epochs: tuple[int, ...] | None = None


Partitions: TypeAlias = tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True)
class GroupEpoch:
    """Type 3, 11 or 17: a new assignment is needed. `metadata_hash` is that of the subscribed topics (4.1)."""

    epoch: int
    metadata_hash: int | None = None


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """One subscribed topic as the coordinator knew it; `racks` of each partition's replicas (empty since 4.0)."""

    topic: bytes
    name: str
    partitions: int
    racks: tuple[tuple[int, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """Type 4, 9 or 18: names and partition counts of the subscribed topics. From 4.1 nobody writes it."""

    topics: tuple[TopicMetadata, ...]


@dataclass(frozen=True, slots=True)
class ClassicProtocol:
    """One protocol that a member on the classic protocol supports, and its subscription bytes."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class ClassicMember:
    """A member that joins and syncs inside a KIP-848 group, during an online migration."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """Type 5. `regex` is None for none: the record has null or an empty text then."""

    instance_id: str | None
    rack: str | None
    client_id: str
    client_host: str
    names: tuple[str, ...]
    regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic: ClassicMember | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareMember:
    """Type 10: one member of a share group."""

    rack: str | None
    client_id: str
    client_host: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AssignmentEpoch:
    """Type 6, 12 or 20: a target was computed. `at_ms` is when the assignor finished (4.3), or None."""

    epoch: int
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Type 7 or 13: what a member should hold."""

    partitions: Partitions


class MemberState(Enum):
    """What a member of a KIP-848 group has to do. Types 8 and 22 have different numbers for these."""

    STABLE = auto()
    """It holds what it should at its epoch."""
    UNREVOKED = auto()
    """It has to give something up first; it stays at its old epoch."""
    UNRELEASED = auto()
    """It waits for what others still hold."""


@dataclass(frozen=True, slots=True)
class UnknownState:
    """A state that later releases may add."""

    code: int


State: TypeAlias = MemberState | UnknownState


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """Type 8 or 14: what a member holds. Epoch -2: a static member that is away; its partitions stay reserved.

    The early-access record of 3.7 has no state (None); `pending_assignment` and `target_epoch` are of that record only.
    """

    epoch: int
    previous_epoch: int
    state: State | None
    assigned: Partitions
    pending_revocation: Partitions = ()
    pending_assignment: Partitions = ()
    target_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """Type 16: the topics that a regular expression stands for. `version` is that of the metadata image."""

    topics: tuple[str, ...]
    version: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class NamedPartitions:
    """Partitions of a topic with its name."""

    topic: bytes
    name: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NamedTopic:
    topic: bytes
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareStates:
    """Type 15 (and 9 in 3.9): partitions whose share state is being made, is there, or goes with its topic."""

    initializing: tuple[NamedPartitions, ...]
    initialized: tuple[NamedPartitions, ...]
    deleting: tuple[NamedTopic, ...]
