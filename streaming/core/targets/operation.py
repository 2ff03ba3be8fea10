"""One operation of the coordinator: the records of a closed moment, and what they make of a group.

7 m1 | 6 epoch 3 | 8 m1 | 3 epoch 4 | 7 m2 | 6 epoch 4      two targets, of the epochs 3 and 4

The records that it writes for one request mean something only together. A heartbeat, a leave or a removal writes
several records at one moment, in one batch. In the midst of them the group breaks laws that hold before and after, and
a reading may end there. So the records of one moment are kept (`begun`) until a record of another moment comes, or the
clock has gone on; then they are folded together.

    10:00:00.100  3 epoch 7 | 5 m2         reading ends                        nothing is said
    10:00:00.100  7 m2 | 6 epoch 7 | 8 m2
    10:00:00.900  8 m1                     the moment before is closed         target 7 is published
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.schemas.group_values import GroupEpoch
from rebalance_monitor.schemas.streams_values import StreamsEpoch
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row
from rebalance_monitor.streaming.core.model.results import Evidence
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.reading.decoding import read_again
from .group import TargetGroup
from .member import OF_MEMBERS, Parts, StatedPart

CLOSED_MS = 100
"""So long after a moment, by the clock, the coordinator has written everything of it, and it was read."""
MOST_BEGUN = 20_000
"""Records of one moment that are kept: more than a batch of 1 MiB holds. In a log without times all have one."""


def record_of(row: Row) -> GroupRecord | None:
    """What a row of such a group says; None where only its key was read."""
    body = row.body
    return body.record if isinstance(body, OtherGroup) and isinstance(body.record, GroupRecord) else None


def records_of(rows: Iterable[Row]) -> list[GroupRecord]:
    """What the rows of one moment say."""
    return [one for one in map(record_of, rows) if one is not None]


def holed(rows: Sequence[Row]) -> bool:
    """Whether records of this moment, or before it, may be missing. A coordinator writes an operation as one batch, so
    nothing else stands between its records: an offset that is missing there was one of them."""
    torn = any(later.offset != row.offset + 1 for row, later in pairwise(rows))
    return torn or any(isinstance(row.body, OtherGroup) and row.body.after_hole for row in rows)


def torn_off(records: Iterable[GroupRecord], parts: Mapping[int, StatedPart]) -> bool:
    """Whether the end of an operation is missing: it writes targets, and their epoch behind them. `parts`: what records
    state, by their types."""
    stated = [parts.get(one.type) for one in records if one.value is not None]
    written = [part for part in stated if part in (StatedPart.TARGET, StatedPart.ASSIGNED)]
    return bool(written) and written[-1] is StatedPart.TARGET


def begins_another(begun: Sequence[Row], row: Row) -> bool:
    """Whether a row is of another moment than the records that are kept."""
    first = begun[0] if begun else row
    if len(begun) >= MOST_BEGUN:
        return True
    return (row.topic, row.partition, row.timestamp_ms) != (first.topic, first.partition, first.timestamp_ms)


def carried_on(begun: Iterable[Row]) -> tuple[Row, ...]:
    """Rows that were stored, with what their bytes say."""
    return tuple(replace(row, body=read_again(row.body)) if isinstance(row.body, OtherGroup) else row for row in begun)


@dataclass(frozen=True, slots=True)
class Computed:
    """A target that an operation brought: the group just before the records of members' targets, and just after the
    record of the target's epoch, which is the record number `at` of the operation. `earlier`: the group at the group
    epoch or target before it, or before the moment."""

    before: TargetGroup
    after: TargetGroup
    at: int = 0
    earlier: TargetGroup | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """A group epoch of a moment: the group at the epoch or target before it, or before the moment, and as this epoch
    was written; its record is number `at` of the moment."""

    before: TargetGroup
    after: TargetGroup
    at: int


@dataclass(frozen=True, slots=True)
class Operation:
    """Rows of one moment, what they say, and the group before and after them. `parts`: what its records state;
    `changed`: members that may be others."""

    parts: Parts
    rows: Sequence[Row]
    records: Sequence[GroupRecord]
    before: TargetGroup
    after: TargetGroup
    changed: set[str]

    @property
    def at_ms(self) -> int:
        return self.rows[0].timestamp_ms

    @property
    def last(self) -> LastRecord:
        return LastRecord(source_of(self.rows[-1]), self.at_ms)

    def targets(self) -> list[Computed]:
        return targets_of(self.parts, self.before, self.records, self.at_ms)

    def steps(self, names: Collection[str]) -> Iterator[tuple[GroupRecord, TargetGroup, TargetGroup]]:
        """Each record of these members or of the group itself, with the group of these members before and after it: to
        fold all members of a large group again takes long."""
        group = self.before.among(names)
        for record in self.records:
            part, before = self.parts.get(record.type), group
            if part is None or (part in OF_MEMBERS and (record.member or "") not in names):
                continue
            group = group.take(part, record, self.at_ms)
            yield record, before, group

    def raises(self) -> list[Raised]:
        """The group epochs that it raises, in their order."""
        if not any(self.epochs()):
            return []
        found = []
        before = group = self.before
        for at, record in enumerate(self.records):
            part, earlier, name = self.parts.get(record.type), group.epoch, record.member or ""
            if part is None:
                continue
            group = group.take(part, record, self.at_ms)
            if part is StatedPart.EPOCH and group.epoch is not None and group.epoch != earlier:
                found.append(Raised(before, group, at))
            if part in (StatedPart.EPOCH, StatedPart.ASSIGNED):
                before = group
            elif part is StatedPart.CURRENT and record.value is not None and name in before.members:
                # What members hold ends an operation, and asks for nothing.
                before = replace(before, members={**before.members, name: group.members[name]})
        return found

    def epochs(self) -> Iterator[tuple[Row, int]]:
        """The group epochs that it states, each with its row."""
        for row, record in zip(self.rows, self.records, strict=False):
            if isinstance(record.value, GroupEpoch | StreamsEpoch):
                yield row, record.value.epoch

    def deleted(self, part: StatedPart) -> set[str]:
        """Whose records of this part were deleted within it; of the group's own parts, "" if they were."""
        return {one.member or "" for one in self.records if one.value is None and self.parts.get(one.type) is part}

    def raised(self) -> tuple[Evidence, ...]:
        """The record that raised the group epoch."""
        return (Evidence(source=source_of(next((row for row, _ in self.epochs()), self.rows[0]))),)

    def first_members(self) -> Collection[str]:
        """Who is in a group as its first epoch is written: others may join within the same moment."""
        group = self.before
        for record in self.records:
            group = take_all(self.parts, group, (record,), self.at_ms)
            if group.epoch is not None:
                break
        return group.members.keys()

    def fallen(self) -> Iterator[tuple[str, int]]:
        """Members whose epoch went back within it, and from which epoch. One that was deleted meanwhile is another."""
        if self.deleted(StatedPart.EPOCH):
            return
        others = self.deleted(StatedPart.CURRENT)
        for name in sorted(self.changed - others):
            was, now = self.before.members.get(name), self.after.members.get(name)
            earlier = None if was is None or now is None else now.fell(was)
            if earlier is not None:
                yield name, earlier

    def epochs_fell(self) -> bool:
        """Whether the group's epoch, or that of its target, went back within it while the group lived."""
        before, after = self.before, self.after
        pairs = ((before.epoch, after.epoch), (before.assignment_epoch, after.assignment_epoch))
        fell = any(was is not None and now is not None and now < was for was, now in pairs)
        return fell and not self.deleted(StatedPart.EPOCH)

    def gone(self, earlier: TargetGroup) -> list[str]:
        """Members that were in the group at an earlier time and are not after the operation."""
        return [name for name in self.changed if name in earlier.members and name not in self.after.members]


def operation_of(parts: Parts, rows: Sequence[Row], group: TargetGroup) -> Operation:
    """What these rows of one moment make of a group."""
    records = records_of(rows)
    after = take_all(parts, group, records, rows[0].timestamp_ms)
    return Operation(parts, rows, records, group, after, changed_by(parts, records, group))


def take_all(parts: Parts, group: TargetGroup, records: Iterable[GroupRecord], at_ms: int) -> TargetGroup:
    for record in records:
        part = parts.get(record.type)
        group = group if part is None else group.take(part, record, at_ms)
    return group


def changed_by(parts: Parts, records: Iterable[GroupRecord], group: TargetGroup) -> set[str]:
    """Members that may be others after these records, of those in the group before and of new ones."""
    changed: set[str] = set()
    for record in records:
        part = parts.get(record.type)
        if part in OF_MEMBERS:
            changed.add(record.member or "")
        elif part is StatedPart.EPOCH and record.value is None:
            changed |= group.members.keys()
    return changed


def targets_of(parts: Parts, group: TargetGroup, records: Sequence[GroupRecord], at_ms: int) -> list[Computed]:
    """The targets that one moment brings to `group`; several batches may share a timestamp.

    A replaced static member is given its predecessor's target by records of their own; those of a computed target stand
    right before the record of its epoch.
    """
    found = []
    before = earlier = group
    for at, record in enumerate(records):
        part = parts.get(record.type)
        group = group if part is None else group.take(part, record, at_ms)
        if part is StatedPart.TARGET:
            continue
        if part is StatedPart.ASSIGNED and record.value is not None:
            found.append(Computed(before, group, at, earlier))
        if part in (StatedPart.EPOCH, StatedPart.ASSIGNED):
            earlier = group
        before = group
    return found
