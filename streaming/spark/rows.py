"""The table that crosses from the reading tasks to the batch function, and what is read back out of it.

Columns: cluster, topic, topic_id, partition, offset, group (None for rows of Connect's topics), kind, body.

kind      body                                            offset
row       JSON of a `Row`                                 the record's
tick      JSON of a `Tick`                                its milliseconds
position  {"start","end","planned","records","bytes","why"}  the end reached; one for each partition of the batch
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from streaming.core.model.codec import dumps, loads
from streaming.core.model.records import Row, Tick
from streaming.core.ports import PartitionKey, Range

SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("group", pa.string()),
        ("kind", pa.string()),
        ("body", pa.string()),
    ]
)
# The same columns in Spark's words; "offset", "partition" and "group" are quoted because SQL reserves them.
SPARK_SCHEMA = (
    "cluster string, topic string, topic_id string, `partition` int, `offset` bigint, `group` string, "
    "kind string, body string"
)
ROWS_PER_BATCH = 2_000
# Inside a JSON text every quote of a value is escaped, so this can only be the row's own field.
_BODY_MARK = '"body":{"$":"'

Line = tuple[str, str, str, int, int, str | None, str, str]


def row_line(cluster: str, topic_id: str, row: Row) -> Line:
    text = arrow_text(dumps(replace(row, topic_id=topic_id)))
    return (cluster, row.topic, topic_id, row.partition, row.offset, row.group, "row", text)


def arrow_text(body: str) -> str:
    """Half a surrogate pair (a JSON escape in somebody's value) is no UTF-8 and no Arrow text: keep it as an escape."""
    try:
        body.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(body), separators=(",", ":"))
    return body


def tick_line(cluster: str, tick: Tick) -> Line:
    return (cluster, "", "", -1, tick.now_ms, None, "tick", dumps(tick))


def position_line(cluster: str, partition: PartitionKey, reached: "Reached") -> Line:
    body = json.dumps(reached._asdict())
    return (cluster, partition.topic, partition.topic_id, partition.partition, reached.end, None, "position", body)


class Reached(NamedTuple):
    """How far a task came in one partition: [start, end) was read, up to `planned` was asked for; `why` not further."""

    start: int
    end: int
    planned: int
    records: int = 0
    bytes: int = 0
    why: str = ""


def arrow_batches(lines: Iterable[Line]) -> Iterator[pa.RecordBatch]:
    """Lines as Arrow batches of bounded size."""
    waiting: list[Line] = []
    for line in lines:
        waiting.append(line)
        if len(waiting) >= ROWS_PER_BATCH:
            yield _batch(waiting)
            waiting = []
    if waiting:
        yield _batch(waiting)


def _batch(lines: list[Line]) -> pa.RecordBatch:
    columns = zip(*lines, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(list(column), field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


class RawRow(NamedTuple):
    """A row still as text: decoding it is left to whoever folds it."""

    topic: str
    partition: int
    offset: int
    group: str | None
    body: str

    @property
    def kind(self) -> str:
        """Class name of the row's body, read off its text."""
        start = self.body.find(_BODY_MARK) + len(_BODY_MARK)
        return self.body[start : self.body.index('"', start)]

    def row(self) -> Row:
        return loads(Row, self.body)


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch: rows by (topic, partition, offset), the tick if one came along, how far each partition got."""

    rows: tuple[RawRow, ...]
    tick: Tick | None
    reached: dict[PartitionKey, Reached]

    @property
    def ranges(self) -> dict[PartitionKey, Range]:
        return {key: Range(reached.start, reached.end) for key, reached in self.reached.items()}


def read_batch(table: pa.Table, cluster_id: str, positions: dict[PartitionKey, int]) -> Batch:
    """Sort out a table. Rows below their partition's entry in `positions` were folded before and are left out."""
    rows: list[RawRow] = []
    tick: Tick | None = None
    reached: dict[PartitionKey, Reached] = {}
    columns: list[list[Any]] = [table.column(name).to_pylist() for name in SCHEMA.names]
    for _, topic, topic_id, partition, offset, group, kind, body in zip(*columns, strict=True):
        if kind == "tick":
            tick = loads(Tick, body)
            continue
        key = PartitionKey(cluster_id, topic_id, topic, partition)
        if kind == "position":
            reached[key] = Reached(**json.loads(body))
        elif offset >= positions.get(key, 0):
            rows.append(RawRow(topic, partition, offset, group, body))
    rows.sort(key=lambda row: (row.topic, row.partition, row.offset))
    return Batch(tuple(rows), tick, reached)
