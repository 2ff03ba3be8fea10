"""Which incarnation of a topic a result belongs to. Results name the topic; rows are keyed by its id.

A batch's own ranges answer for records it read. A result about an older record (a pending verdict that became final)
belongs to the row already stored for that record.
"""

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from psycopg import Connection

from rebalance_monitor.streaming.core.model.results import (
    Aftermath,
    GapRecord,
    Generation,
    GroupProgress,
    Incident,
    JobState,
    Part,
    RebalanceCost,
    Result,
    Standing,
    UndecodableRecord,
)
from rebalance_monitor.streaming.core.ports import PartitionKey, Range

RecordCoordinates = tuple[str, str, int, int]  # cluster, topic, partition, offset


class TopicIds:
    """Answers for one batch; asks the database only about records outside the batch's ranges."""

    def __init__(self, connection: Connection[Any], ranges: Mapping[PartitionKey, Range]) -> None:
        self._connection = connection
        self._ranges: dict[tuple[str, int], list[tuple[Range, str]]] = {}
        for key, span in ranges.items():
            self._ranges.setdefault((key.topic, key.partition), []).append((span, key.topic_id))
        self._stored: dict[RecordCoordinates, str] = {}

    def prepare(self, results: Iterable[Result]) -> None:
        """Looks up, in one query, the records that lie outside the ranges."""
        places = {place for place in map(_place, results) if place is not None and self._read(place) is None}
        if not places:
            return
        found = self._connection.execute(
            'select distinct on (cluster, topic, partition, "offset") cluster, topic, partition, "offset", topic_id'
            " from rebalance_monitor.stored_generations"
            " natural join unnest(%s::text[], %s::text[], %s::int4[], %s::int8[])"
            ' as wanted (cluster, topic, partition, "offset") order by 1, 2, 3, 4, batch_id desc',
            [list(column) for column in zip(*places, strict=True)],
        )
        self._stored = {(cluster, topic, part, offset): topic_id for cluster, topic, part, offset, topic_id in found}

    def __call__(self, cluster: str, topic: str, partition: int, offset: int) -> str:
        """The topic's id. Without any trace of the record: the id this batch or the newest position knows."""
        place = (cluster, topic, partition, offset)
        known = self._read(place) or self._stored.get(place)
        if known is None:
            known = self._stored[place] = self._newest(topic, partition)
        return known

    def _read(self, place: RecordCoordinates) -> str | None:
        _, topic, partition, offset = place
        for span, topic_id in self._ranges.get((topic, partition), ()):
            if span.start <= offset < span.end:
                return topic_id
        return None

    def _newest(self, topic: str, partition: int) -> str:
        here = self._ranges.get((topic, partition))
        if here:
            return here[-1][1]
        row = self._connection.execute(
            "select topic_id from rebalance_monitor.positions where topic = %s and partition = %s"
            " order by updated_at desc limit 1",
            (topic, partition),
        ).fetchone()
        return "" if row is None else str(row[0])


def _place(result: Result) -> RecordCoordinates | None:
    match result:
        case Incident() | Part() | JobState() | Standing() | GroupProgress():
            return None
        case GapRecord(cluster=cluster, topic=topic, partition=partition, from_offset=start):
            return (cluster, topic, partition, start)
        case (
            Generation(cluster=cluster, source=at)
            | Aftermath(cluster=cluster, source=at)
            | RebalanceCost(cluster=cluster, source=at)
        ):
            return (cluster, at.topic, at.partition, at.offset)
        case UndecodableRecord(cluster=cluster, source=at):
            return (cluster, at.topic, at.partition, at.offset)
        case _:
            assert_never(result)
