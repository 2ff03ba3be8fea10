"""Offsets of the coordinator's log that were not read: before which records of groups something may be missing.

A record of a group with targets means something only with those before it, so a hole in the offsets lowers what is sure
of the groups behind it. But most holes are harmless: where members commit in transactions, each transaction ends with a
marker that no reader is given, and some captures leave commits out. Such holes stand between operations, and there are
many of them. A coordinator writes an operation as one batch, so a hole within one is a record that is gone,
and so is one over which the epoch of a group rises by more than one.

    41 42 43 | 44 45 46 48 | 49 50       47 is missing within an operation: compaction took it
    41 42 | 44 45 | 47 48 | 50 | 52      many holes, none within an operation: markers or commits
    41 42 43 | 45 46 47 48 | 49 50       one hole among many records: 44 may have been a record of any group

Whatever the holes are, one is told to the record behind it if that is the epoch of a target: the members' targets stand
before it in its batch, and compaction takes each of them once the member has got another, or is gone.

Each record is told the offset behind the newest hole before it. The fold of its group knows the group's record before,
and so whether the hole is between the two; no record of the group may have come for long. A replay knows all offsets of
a partition at once; a job that reads on counts those of one range at a time (`spark.unread`).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol, TypeAlias

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row

LogPartition = tuple[str, int]
"""Topic and partition."""
FEW = 3
"""So many holes of a partition are never taken for markers, nor as many as one of 20 records has before it."""
ONE_OF = 20
KeyAndValue: TypeAlias = tuple[bytes | None, bytes | None]
_GROUP_EPOCHS = (b"\x00\x03", b"\x00\x0b", b"\x00\x11")
"""How keys begin of types 3, 11 and 17: the epoch of a group."""
_TARGET_EPOCHS = (b"\x00\x06", b"\x00\x0c", b"\x00\x14")
"""How keys begin of types 6, 12 and 20: the epoch of a target."""


def marked(rows: Iterable[Row], offsets: Mapping[LogPartition, Sequence[int]]) -> list[Row]:
    """The rows of a whole log, each with the newest hole before it. `offsets`: of every record that was read, whatever
    it says."""
    found = list(rows)
    own: dict[tuple[LogPartition, str | None], list[int]] = defaultdict(list)
    for at, row in enumerate(found):
        if isinstance(row.body, OtherGroup):
            own[(row.topic, row.partition), row.group].append(at)
    for of in own.values():
        of.sort(key=lambda at: found[at].offset)
    torn = {place for (place, _), of in own.items() if any(is_torn(found[a], found[b]) for a, b in pairwise(of))}
    torn |= {place for (place, _), of in own.items() if skips(_bytes_of(found[at]) for at in of)}
    ends = {place: _ends(some) for place, some in offsets.items()}
    of_records = {
        place: are_of_records(len(some), len(offsets[place]), torn=place in torn) for place, some in ends.items()
    }
    for (place, _), of in own.items():
        for at in of:
            row = found[at]
            number = bisect_right(ends.get(place, ()), row.offset)
            hole = ends[place][number - 1] if number else 0
            if not isinstance(row.body, OtherGroup) or not hole:
                continue
            if of_records[place] or (hole == row.offset and tells_a_target(row.body.key)):
                found[at] = replace(row, body=replace(row.body, hole=hole))
    return found


def skips(records: Iterable[KeyAndValue]) -> bool:
    """Whether records of a group are missing, by the epochs that the others state: a group's epoch rises by one at a
    time, and no target is of a later epoch than its group's."""
    epoch: int | None = None
    for key, value in records:
        if key is None or not key.startswith((*_GROUP_EPOCHS, *_TARGET_EPOCHS)):
            continue
        # In each of these values the epoch stands right behind the version. The job asks before any value is decoded.
        stated = None if value is None else int.from_bytes(value[2:6], "big", signed=True)
        if key.startswith(_TARGET_EPOCHS):
            if stated is not None and epoch is not None and stated > epoch:
                return True
            continue
        if stated is not None and epoch is not None and stated > epoch + 1:
            return True
        epoch = stated
    return False


def _bytes_of(row: Row) -> KeyAndValue:
    return (row.body.key, row.body.value) if isinstance(row.body, OtherGroup) else (None, None)


def tells_a_target(key: bytes | None) -> bool:
    """Whether a record with this key is the epoch of a target, which stands behind the targets of members."""
    return key is not None and key.startswith(_TARGET_EPOCHS)


class LoggedAt(Protocol):
    """Where and when a record was written."""

    @property
    def offset(self) -> int:
        """Its place in the partition."""

    @property
    def timestamp_ms(self) -> int:
        """Its time."""


def is_torn(record: LoggedAt, later: LoggedAt) -> bool:
    """Whether a record is missing between two records of a group, of one operation."""
    return record.timestamp_ms == later.timestamp_ms and later.offset != record.offset + 1


def are_of_records(holes: int, records: int, *, torn: bool) -> bool:
    """Whether so many holes among so many records may be records that are gone, not markers or commits alone. `torn`:
    one of them surely is."""
    return torn or holes <= max(FEW, records // ONE_OF)


def _ends(offsets: Sequence[int]) -> list[int]:
    """The offset behind each hole, in order."""
    return [later for offset, later in pairwise(sorted(offsets)) if later > offset + 1]
