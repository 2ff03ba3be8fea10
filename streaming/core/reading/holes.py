"""Offsets of the coordinator's log that were not read: before which records of groups something may be missing.

A record of a group with targets means something only with those before it, so a hole in the offsets lowers what is sure
of the groups behind it. But most holes are harmless: where members commit in transactions, each transaction ends with a
marker that no reader is given, and some captures leave commits out. Such holes stand between operations, and there are
many of them. A coordinator writes an operation as one batch, so a hole within one is a record that is gone.

    41 42 43 | 44 45 46 48 | 49 50       47 is missing within an operation: compaction took it
    41 42 | 44 45 | 47 48 | 50 | 52      many holes, none within an operation: markers or commits
    41 42 43 | 45 46 47 48 | 49 50       one hole among many records: 44 may have been a record of any group

Each record is told the offset behind the newest hole before it. The fold of its group knows the group's record before,
and so whether the hole is between the two; no record of the group may have come for long. A replay knows all offsets of
a partition at once; a job that reads on counts those of one range at a time (`spark.unread`).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from rebalance_monitor.streaming.core.model.records import OtherGroup, Row

LogPartition = tuple[str, int]
"""Topic and partition."""
FEW = 3
"""So many holes of a partition are never taken for markers, nor as many as one of 20 records has before it."""
ONE_OF = 20


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
    holes = {place: _holes(some, torn=place in torn) for place, some in offsets.items()}
    for (place, _), of in own.items():
        ends = holes.get(place, [])
        for at in of:
            row = found[at]
            number = bisect_right(ends, row.offset)
            if number and isinstance(row.body, OtherGroup):
                found[at] = replace(row, body=replace(row.body, hole=ends[number - 1]))
    return found


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


def _holes(offsets: Sequence[int], *, torn: bool) -> list[int]:
    """The offset behind each hole, in order; none where holes are markers or commits."""
    listed = sorted(offsets)
    ends = [later for offset, later in pairwise(listed) if later > offset + 1]
    return ends if are_of_records(len(ends), len(listed), torn=torn) else []
