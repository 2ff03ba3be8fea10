"""One moment of the coordinator: the records that it writes for one request, which mean something only together.

A heartbeat, a leave or a removal writes several records at one moment, in one batch. In the midst of them the group
breaks laws that hold before and after, and a reading may end there. So the records of one moment are kept (`begun`)
until a record of another moment comes, or the clock has gone on; then they are folded together.

    10:00:00.100  3 epoch 7 | 5 m2         reading ends                        nothing is said
    10:00:00.100  7 m2 | 6 epoch 7 | 8 m2
    10:00:00.900  8 m1                     the moment before is closed         target 7 is published
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row
from rebalance_monitor.streaming.core.reading.decoding import read_again
from rebalance_monitor.streaming.core.targets.stated import StatedPart

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
