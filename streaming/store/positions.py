"""How far each partition was read and judged: read, and compared with what a bundle covers."""

from collections.abc import Collection, Mapping

from rebalance_monitor.streaming.core.ports import AlreadyThere, OutOfStep, PartitionKey, Position, Range, already_there
from .database import Connection

PartitionPlace = tuple[str, str, int]
"""Cluster id, topic id, partition."""


def place_of(key: PartitionKey) -> PartitionPlace:
    return key.cluster_id, key.topic_id, key.partition


def positions_of(
    connection: Connection, keys: Collection[PartitionKey], *, lock: bool = False
) -> dict[PartitionPlace, Position]:
    rows = connection.execute(
        "select cluster_id, topic_id, partition, next_offset, hole, markers from rebalance_monitor.positions"
        " where (cluster_id, topic_id, partition) in (select * from unnest(%s::text[], %s::text[], %s::int4[]))"
        f" order by 1, 2, 3 {'for update' if lock else ''}",
        [list(column) for column in zip(*map(place_of, keys), strict=True)],
    ).fetchall()
    return {(cluster_id, topic_id, partition): Position(*at) for cluster_id, topic_id, partition, *at in rows}


def lock_positions(connection: Connection, ranges: Mapping[PartitionKey, Range]) -> dict[PartitionPlace, int]:
    """Stored positions of these partitions, locked. AlreadyThere if they were moved to the ends of the ranges,
    OutOfStep if they are not at the starts.

    A partition without a row is read for the first time, from wherever its log begins. Rows that went missing under a
    running job (a database restored from a backup) can't pass for that: the epoch would not fit either.
    """
    if not ranges:
        return {}
    stored = {place: at.next_offset for place, at in positions_of(connection, ranges, lock=True).items()}
    known = {key: stored[place] for key in ranges if (place := place_of(key)) in stored}
    if already_there(ranges, known):
        raise AlreadyThere
    for key, span in ranges.items():
        if known.get(key, span.start) != span.start:
            raise OutOfStep(key, known[key], span.start)
    return stored
