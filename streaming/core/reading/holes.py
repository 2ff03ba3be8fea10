"""Offsets of the coordinator's log that were not read: before which records of groups something may be missing.

A record of a group with targets means something only with those before it, so a hole in the offsets lowers what is sure
of the groups behind it. But most holes are harmless: where members commit in transactions, each transaction ends with a
marker that no reader is given, and some captures leave commits out. Such holes stand between operations, and there are
many of them. A coordinator writes an operation as one batch, so a hole within one is a record that is gone.

    41 42 43 | 44 45 46 48 | 49 50       47 is missing within an operation: compaction took it
    41 42 | 44 45 | 47 48 | 50 | 52      many holes, none within an operation: markers or commits
    41 42 43 | 45 46 47 48 | 49 50       one hole among many records: 44 may have been a record of any group
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from rebalance_monitor.streaming.core.model.records import OtherGroup, Row

LogPartition = tuple[str, int]
"""Topic and partition."""
FEW = 3
"""So many holes of a partition are never taken for markers, nor as many as one of 20 records has before it."""
ONE_OF = 20


def marked(rows: Iterable[Row], offsets: Mapping[LogPartition, Sequence[int]]) -> list[Row]:
    """The rows, with those marked before which records of their group may be missing. `offsets`: of every record that
    was read, whatever it says."""
    found = list(rows)
    own: dict[tuple[LogPartition, str | None], list[int]] = defaultdict(list)
    for at, row in enumerate(found):
        if isinstance(row.body, OtherGroup):
            own[(row.topic, row.partition), row.group].append(at)
    for of in own.values():
        of.sort(key=lambda at: found[at].offset)
    torn = {
        place for (place, _), of in own.items() if any(_torn(found[one], found[next_]) for one, next_ in pairwise(of))
    }
    holes = {place: _holes(some, sure=place in torn) for place, some in offsets.items()}
    for (place, _), of in own.items():
        before = -1
        for at in of:
            row, ends = found[at], holes.get(place, ())
            hole = before >= 0 and bisect_left(ends, row.offset + 1) > bisect_left(ends, before + 1)
            if hole and isinstance(row.body, OtherGroup):
                found[at] = replace(row, body=replace(row.body, after_hole=True))
            before = row.offset
    return found


def _torn(row: Row, later: Row) -> bool:
    return row.timestamp_ms == later.timestamp_ms and later.offset != row.offset + 1


def _holes(offsets: Sequence[int], *, sure: bool) -> list[int]:
    """The offset behind each hole, in order; none where holes are markers or commits."""
    listed = sorted(offsets)
    ends = [later for offset, later in pairwise(listed) if later > offset + 1]
    return ends if sure or len(ends) <= max(FEW, len(listed) // ONE_OF) else []
