"""The rows of one bundle, as the task that reads its ranges hands them to the folds.

A record of the coordinator's log stays as it is, key and value; whoever folds its group decodes it, once. A record of a
lifecycle's topic is decoded where it is read: only what the lifecycle keeps of it stays, for it may hold secrets.

kind                       filled fields beside topic, topic_id, partition, offset, timestamp_ms
class name of a row's body
    of the log             group, protocol_type, key, value
    all others             read; group where it is of one

`hole` of a record of the log: the offset behind the newest hole before it in the range that was read (`unread`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rebalance_monitor.streaming.core.lifecycles import REGISTRY, decode_offsets_record
from rebalance_monitor.streaming.core.model.records import (
    GroupGeneration,
    OtherGroup,
    Row,
    Tick,
)
from rebalance_monitor.streaming.core.ports import PartitionKey, Range
from rebalance_monitor.streaming.core.reading.decoding import Glance
from rebalance_monitor.streaming.core.reading.last_commits import LastCommits
from rebalance_monitor.streaming.guarding.decoding import decoded
from rebalance_monitor.streaming.guarding.fold import row_bytes


class RecordAt(NamedTuple):
    """Coordinates of a record, and its time."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


def record_row(
    topic_id: str,
    place: RecordAt,
    seen: Glance,
    key: bytes | None,
    value: bytes | None,
    hole: int = 0,
    leader_epoch: int | None = None,
) -> "RawRow":
    """A record of the coordinator's log, with what was seen of it so far."""
    topic, partition, offset, timestamp_ms = place
    return RawRow(
        topic, topic_id, partition, offset, seen.kind, timestamp_ms, seen.group, seen.protocol_type, key, value,
        hole=hole or None, leader_epoch=leader_epoch,
    )  # fmt: skip


def decoded_row(topic_id: str, row: Row, protocol_type: str | None = None) -> "RawRow":
    """A row that was decoded where it was read, or polled."""
    return RawRow(
        row.topic, topic_id, row.partition, row.offset, type(row.body).__name__, row.timestamp_ms, row.group,
        protocol_type, read=replace(row, topic_id=topic_id),
    )  # fmt: skip


class Reached(NamedTuple):
    """How far a task came in one partition: [start, end) was read, up to `planned` was asked for; `why` not further.
    `holes`: how many of its offsets, neighbours as one, were not there; `hole`: the offset behind the newest."""

    start: int
    end: int
    planned: int
    records: int = 0
    bytes: int = 0
    why: str = ""
    holes: int = 0
    hole: int = 0


class RawRow(NamedTuple):
    """A row as it came. Decoding a record of the log is left to whoever folds it; of others `read` is the row."""

    topic: str
    topic_id: str
    partition: int
    offset: int
    kind: str
    timestamp_ms: int
    group: str | None = None
    protocol_type: str | None = None
    key: bytes | None = None
    value: bytes | None = None
    hole: int | None = None
    read: Row | None = None
    leader_epoch: int | None = None

    @property
    def bytes(self) -> int:
        """About what it takes."""
        return len(self.value or b"") if self.read is None else row_bytes(self.read)

    def row(self) -> Row | None:
        """The row; None for a record of no interest. Nothing raises: what cannot be read is a row that says so."""
        if self.read is not None:
            return self.read
        place = self.topic, self.partition, self.offset, self.timestamp_ms
        row = decoded(decode_offsets_record, *place, self.key, self.value, of_groups=True)
        if row is None:
            return None
        body = row.body
        if self.hole and isinstance(body, OtherGroup):
            body = replace(body, hole=self.hole)
        return replace(row, topic_id=self.topic_id, body=body, leader_epoch=self.leader_epoch)


def polled_row(row: Row) -> RawRow:
    """A row that was polled, with what its members' bytes say, as those are that were read."""
    if not isinstance(row.body, GroupGeneration):
        return decoded_row("", row)
    return decoded_row("", replace(row, body=REGISTRY.blobs.read_again(row.body)), row.body.protocol_type)


@dataclass(frozen=True, slots=True)
class Batch:
    """One bundle: rows by (topic, partition, offset), the tick if one came along, how far each partition got. `groups`:
    groups with topics of their own that are read in this bundle alone; None: all are. `commits`: of partitions of the
    coordinator's log, where commits are wanted."""

    rows: tuple[RawRow, ...] = ()
    tick: Tick | None = None
    reached: Mapping[PartitionKey, Reached] = field(default_factory=dict)
    groups: frozenset[str] | None = None
    commits: Mapping[PartitionKey, LastCommits] = field(default_factory=dict)

    @property
    def ranges(self) -> dict[PartitionKey, Range]:
        return {key: Range(reached.start, reached.end) for key, reached in self.reached.items()}


def batch_of(
    rows: Iterable[RawRow],
    reached: Mapping[PartitionKey, Reached],
    tick: Tick | None = None,
    groups: Iterable[str] | None = None,
    commits: Mapping[PartitionKey, LastCommits] | None = None,
) -> Batch:
    """What was read. The tick says that everything before it is in the bundle: where a range could not be read in time,
    there is none."""
    if any(one.end < one.planned for one in reached.values()):
        tick = None
    ordered = sorted(rows, key=lambda row: (row.topic, row.partition, row.offset))
    own = None if groups is None else frozenset(groups)
    return Batch(tuple(ordered), tick, dict(reached), own, dict(commits or {}))
