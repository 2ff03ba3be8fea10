"""Rows: what a reader hands to the fold. One row is one record that mattered, decoded, with its coordinates.

A row that waits rests in the database as JSON text made by `streaming.core.model.codec`; a row's `body` is a closed
union tagged by class name. A lifecycle derives the rows of its topics from `TopicRecord`, and what it reads in members'
bytes is an object to everybody else.
"""

from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

from .codec import DERIVED
from .published import Says

POLLED = "(polled)"
"""Stands for the topic in the place of what was polled: no topic may be called so."""
MAYBE_SKIPPED = 2
"""How many generations may be missing between two polled assignments, as rules count them: more than one."""


@dataclass(frozen=True, slots=True)
class BadBlob:
    """A member blob that Kafka's reader rejects, or an empty one (`reason` "empty")."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One member of a generation, with its bytes. `subscription` and `assignment` are what its lifecycle reads in them,
    a `BadBlob`, or None for a protocol type that nobody reads; they are read anew rather than stored."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: object = field(default=None, metadata=DERIVED)
    assignment: object = field(default=None, metadata=DERIVED)
    subscription_bytes: bytes
    assignment_bytes: bytes


@dataclass(frozen=True, slots=True)
class Sampled:
    """When an assignment came about that was polled, by the monitor's clock."""

    after_ms: Annotated[
        int | None, Says("When the question was asked that still showed another assignment; null: there was none.")
    ]
    at_ms: Annotated[int, Says("When the answer came that showed it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupGeneration:
    """A classic group's record: one completed generation, or an empty group. `unknown_tags` counts tagged fields that
    nobody has described, `remaining` the bytes behind the last field; both are skipped, as Kafka does.

    `sampled`: it is no record but what a broker said when it was asked. Then `generation` counts the assignments that
    were seen, nobody knows how many came in between, and time-outs are not known (-1).
    """

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_ms: int
    members: tuple[MemberRow, ...]
    unknown_tags: int = 0
    remaining: int = 0
    sampled: Sampled | None = None

    def skipped_since(self, known: int) -> int:
        """Generations between that of this number and this one; below zero if this one was there before."""
        return MAYBE_SKIPPED if self.sampled is not None else self.generation - known - 1


@dataclass(frozen=True, slots=True)
class GroupDeleted:
    """Tombstone of a classic group."""


@dataclass(frozen=True, slots=True)
class OtherGroup:
    """A record of a group that is no classic one, or of a type nobody knows: `kind` is consumer, share or streams.

    `member`: the record says whether this member is there; `whole`: it states the group itself, its epoch; `deleted`:
    it is a tombstone. `record`: what `key` and `value` say, where a lifecycle reads this kind of group; it is read anew
    rather than stored. Of a kind that is only counted there is none, and no bytes. `unknown_tags` as above.
    `hole`: the offset behind the newest hole before this record in its partition, 0 where none is known
    (`reading.holes`); `after_hole`: that hole is between this record and the group's record before. `state`: it is no
    record: brokers were asked, and this is the group's state.
    """

    kind: str
    member: str | None = None
    whole: bool = False
    deleted: bool = False
    key: bytes = b""
    value: bytes | None = None
    unknown_tags: int = 0
    record: object = field(default=None, metadata=DERIVED)
    after_hole: bool = False
    hole: int = 0
    state: str = ""


PASSED_OVER = OtherGroup("topic")
"""A record of a topic that concerns a group, and says nothing of it: it is no record of the group, and no hole."""


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record of a topic that a lifecycle reads beside the coordinator's log; its own class says what is in it."""


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A record whose key or value Kafka's own reader rejects. `sample` is hex of the first bytes, where allowed."""

    reason: str
    size_bytes: int
    sample: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Records of this partition from the row's offset up to `to_offset` (exclusive) were gone before they were read."""

    to_offset: int
    reason: str


Body: TypeAlias = GroupGeneration | GroupDeleted | OtherGroup | TopicRecord | Undecodable | Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One record with its coordinates. `group` is the group id, or None for rows of topics of a lifecycle.

    `topic_id` tells a re-created topic from the one before; "" where the source does not know it. `leader_epoch`:
    of the leader that took the record's batch (`partitionLeaderEpoch`); None where the source does not know it.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    group: str | None
    body: Body
    topic_id: str = ""
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """The clock of one cluster, taken before the end offsets were sampled. `historic` until first caught up."""

    now_ms: int
    historic: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A group record not yet judged, since when, and whether it belongs to history. `ticked`: by the monitor's clock,
    which read it as it came."""

    row: Row
    arrived_ms: int
    historic: bool
    ticked: bool = False
