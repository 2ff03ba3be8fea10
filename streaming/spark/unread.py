"""Holes in what a job reads of the coordinator's log, told to the records behind them (`core.reading.holes`).

A reading task counts the holes of each range, and tells each record the newest before it. Whether they are records that
are gone, the whole batch tells. A group may have no record in this batch, so the newest hole of a partition goes on to
be told to all later records; each group's fold knows whether it has had a record since.

Compaction leaves alone the segment that is written to, so what was written since the batch before is there, if that one
was read to the end a short time ago: its holes are markers of transactions. A partition that never had such holes has
no markers in what was written while the job was down, either. Of others, and of long stretches of history, the numbers
tell as in a replay.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise

from rebalance_monitor.streaming.core.model.records import OtherGroup, Tick
from rebalance_monitor.streaming.core.ports import PartitionKey
from rebalance_monitor.streaming.core.reading.holes import are_of_records, is_torn, skips, tells_a_target
from .rows import Batch, RawRow

FRESH_MS = 30_000
"""What was written so short a time ago is in the segment that is written to."""
ENOUGH = 1_000
"""Of fewer records the numbers tell nothing, where nobody knows whether the partition has markers."""
_OTHER_GROUP = OtherGroup.__name__


def place_of(key: PartitionKey) -> str:
    """The partition of a topic, as the newest hole of it is remembered; a topic that is made anew is another one."""
    return f"{key.topic}-{key.partition}-{key.topic_id}"


def fresh(tick: Tick | None, before_ms: int | None) -> bool:
    """Whether a batch with this tick holds only what was written a short time ago. `before_ms`: the tick of the batch
    before, which was read to the end; None where there was none."""
    return tick is not None and before_ms is not None and 0 <= tick.now_ms - before_ms <= FRESH_MS


def with_holes(batch: Batch) -> frozenset[str]:
    """The partitions in which some offsets were not there: with markers, if the batch is fresh."""
    return frozenset(place_of(key) for key, reached in batch.reached.items() if reached.holes)


def believed(batch: Batch, markers: Collection[str]) -> dict[str, int]:
    """The newest hole of each partition of a batch in which records may be gone. `markers`: partitions that have
    markers."""
    own: dict[tuple[str, str, int, str | None], list[RawRow]] = defaultdict(list)
    for row in batch.rows:
        if row.kind == _OTHER_GROUP:
            own[row.topic, row.topic_id, row.partition, row.group].append(row)
    torn = {
        place[:3]
        for place, rows in own.items()
        if any(is_torn(a, b) for a, b in pairwise(rows)) or skips((row.key, row.value) for row in rows)
    }
    return {
        place_of(key): reached.hole
        for key, reached in batch.reached.items()
        if reached.hole
        and (
            are_of_records(reached.holes, reached.records, torn=(key.topic, key.topic_id, key.partition) in torn)
            or (reached.records < ENOUGH and place_of(key) not in markers)
        )
    }


def with_holes_before(
    batch: Batch, cluster_id: str, known: Mapping[str, int], found: Mapping[str, int], *, fresh: bool = False
) -> tuple[RawRow, ...]:
    """The rows, each with the newest hole before it that may be a record. `known`: holes of batches before; `found`:
    partitions whose holes in this one are. Unless the batch is `fresh`, one right before the epoch of a target is, too.
    """
    if not known and not found and not any(row.hole for row in batch.rows):
        return batch.rows
    rows = []
    for row in batch.rows:
        if row.kind == _OTHER_GROUP:
            place = place_of(PartitionKey(cluster_id, row.topic_id, row.topic, row.partition))
            alone = not fresh and row.hole == row.offset and tells_a_target(row.key)
            here = row.hole if alone or place in found else None
            row = row._replace(hole=here or known.get(place))
        rows.append(row)
    return tuple(rows)
