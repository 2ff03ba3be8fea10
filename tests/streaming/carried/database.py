"""A run of a capture into PostgreSQL, batch by batch; and its tables as text, to go on from with another release.

`python -m tests.streaming.carried.database` writes `tests/vectors/states/database-layout-3.json.gz`: the tables of the
schema after migration 4, with open incidents, and an outbox of which the first receiver has got a part and the second
one nothing. Run once, with the release whose tables are to be kept.
"""

import gzip
import json
import sys
from collections.abc import Mapping, Sequence

import psycopg
import pyarrow as pa
from psycopg import sql

from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import PartitionKey
from rebalance_monitor.streaming.spark.batch import BatchFunction, BatchReport
from rebalance_monitor.streaming.spark.rows import SCHEMA, Reached, arrow_batches, position_line, tick_line
from rebalance_monitor.streaming.store.outbox import mark_sent, waiting
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.postgres_server import postgres_server
from tests.streaming.carried.live import VECTORS, arrives_ms, story
from tests.streaming.spark.lines import line_of

FILE = VECTORS / "states" / "database-layout-3.json.gz"
CAPTURE, CUT, SENT = "zombie", 50, 2
"""Rows before the cut, and how many notifications the first receiver has got."""
RECEIVERS = ("http://first/", "http://second/")
CLUSTER_ID = "kafka-1"
SCHEMA_NAME = "rebalance_monitor"


class Run:
    """The batch function over one capture; every row is a batch with a tick of its own."""

    def __init__(self, store: PostgresStore, known: ClusterSettings) -> None:
        self.results: list[Result] = []
        self._ends: dict[PartitionKey, int] = dict(store.positions())
        self._number = 0
        self.function = BatchFunction(
            store,
            known,
            cluster_id=CLUSTER_ID,
            writer_epoch=store.claim(),
            started_ms=0,
            on_results=self._told,
            publish=lambda _: None,
        )

    def _told(self, report: BatchReport) -> None:
        self.results += report.results

    def go_on(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.batch([row], arrives_ms(row))

    def batch(self, rows: Sequence[Row], now_ms: int) -> None:
        lines = []
        for row in rows:
            key = PartitionKey(CLUSTER_ID, f"id-{row.topic}", row.topic, row.partition)
            start = self._ends.get(key, 0)
            self._ends[key] = max(start, row.offset + 1)
            lines.append(line_of("c", key.topic_id, row))
            lines.append(position_line("c", key, Reached(start, self._ends[key], self._ends[key], 1, 100)))
        lines.append(tick_line("c", Tick(now_ms)))
        self.function(pa.Table.from_batches(list(arrow_batches(lines)), SCHEMA), self._number)
        self._number += 1


def tables_of(connection: psycopg.Connection[tuple[object, ...]]) -> dict[str, dict[str, object]]:
    """Every table's columns and rows, as COPY writes them."""
    names = connection.execute(
        "select table_name from information_schema.tables"
        " where table_schema = %s and table_type = 'BASE TABLE' order by 1",
        (SCHEMA_NAME,),
    ).fetchall()
    found: dict[str, dict[str, object]] = {}
    for (name,) in names:
        columns = connection.execute(
            "select column_name from information_schema.columns where table_schema = %s and table_name = %s"
            " and is_generated = 'NEVER' order by ordinal_position",
            (SCHEMA_NAME, name),
        ).fetchall()
        listed = [str(column[0]) for column in columns]
        with connection.cursor().copy(_copy(str(name), listed, "to stdout")) as out:
            text = b"".join(bytes(part) for part in out).decode()
        found[str(name)] = {"columns": listed, "text": text}
    return found


def restore(connection: psycopg.Connection[tuple[object, ...]], tables: Mapping[str, Mapping[str, object]]) -> None:
    """Fills the empty tables of a schema that has them."""
    connection.execute(f"set session_replication_role = replica; truncate {SCHEMA_NAME}.writer")
    for name, table in tables.items():
        columns = table["columns"]
        assert isinstance(columns, list)
        with connection.cursor().copy(_copy(name, columns, "from stdin")) as given:
            given.write(str(table["text"]))
    connection.execute("set session_replication_role = default")
    connection.execute(
        f"select setval(pg_get_serial_sequence('{SCHEMA_NAME}.outbox', 'sequence'), max(sequence))"
        f" from {SCHEMA_NAME}.outbox"
    )


def _copy(name: str, columns: Sequence[str], way: str) -> sql.Composed:
    listed = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("copy {}.{} ({}) ").format(sql.Identifier(SCHEMA_NAME), sql.Identifier(name), listed) + sql.SQL(way)


def main() -> None:
    known, _, rows = story(CAPTURE)
    with postgres_server() as uri:
        store = PostgresStore(uri, version="before")
        store.migrate()
        Run(store, known).go_on(rows[:CUT])
        with store.database.session() as connection:
            for waiting_one in waiting(connection, RECEIVERS[0])[:SENT]:
                mark_sent(connection, waiting_one.key, RECEIVERS[0], RECEIVERS)
            tables = tables_of(connection)
            told = [one.key for one in waiting(connection, RECEIVERS[1])]
        store.close()
    del tables["migrations"]
    value = {"capture": CAPTURE, "cut": CUT, "receivers": RECEIVERS, "sent": SENT, "told": told, "tables": tables}
    FILE.write_bytes(gzip.compress(json.dumps(value).encode(), mtime=0))
    sys.stdout.write(f"{FILE.name}: {len(told)} notifications, {FILE.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
