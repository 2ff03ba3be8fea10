"""`make bench-waiting`: what a batch costs while many records of its group wait, with a real PostgreSQL.

A Connect group of 20 workers and 200 tasks rebalances while its config topic cannot be read. Then batches of 20 new
records come, and nothing is judged. What a batch writes should not depend on how many records wait.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lab.bench.decoding.records import connect
from lab.cluster.postgres import start
from lab.process import Lab
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import PartitionKey
from rebalance_monitor.streaming.core.reading.decoding import glance
from rebalance_monitor.streaming.spark.batch import BatchFunction
from rebalance_monitor.streaming.spark.rows import Batch, Reached, RecordAt, batch_of, record_row
from rebalance_monitor.streaming.store.postgres import PostgresStore

WAITING = (20, 220, 620, 12_000)
OF_A_BATCH, BATCHES, FILLED_AT_ONCE = 20, 7, 500
GROUP, TOPIC, CLUSTER_ID = "connect", "__consumer_offsets", "bench"
KEY = b"\x00\x02" + len(GROUP).to_bytes(2, "big") + GROUP.encode()


def batch(first: int, count: int) -> Batch:
    """A batch of `count` records; its tick stands still, so nothing is late."""
    partition = PartitionKey(CLUSTER_ID, "id", TOPIC, 0)
    rows = []
    for at in range(first, first + count):
        value = connect(at)
        seen = glance(KEY, value)
        assert seen is not None
        rows.append(record_row("id", RecordAt(TOPIC, 0, at, at), seen, KEY, value))
    return batch_of(rows, {partition: Reached(first, first + count, first + count, count, 0)}, Tick(0))


def measured(store: PostgresStore, waiting: int) -> tuple[float, float]:
    """Median time of a batch (ms) and what it adds to PostgreSQL's log (bytes) while so many records wait."""
    function = BatchFunction(
        store,
        ClusterSettings(name="c"),
        cluster_id=CLUSTER_ID,
        writer_epoch=store.claim(),
        started_ms=0,
        on_results=lambda _: None,
        publish=lambda _: None,
    )
    for number, first in enumerate(range(0, waiting, FILLED_AT_ONCE)):
        function(batch(first, min(FILLED_AT_ONCE, waiting - first)), number)
    times_ms, written = [], []
    for number in range(BATCHES):
        measured = batch(waiting + number * OF_A_BATCH, OF_A_BATCH)
        log_before, began_s = _log_position(store), time.perf_counter()
        function(measured, waiting + number)
        times_ms.append((time.perf_counter() - began_s) * 1000)
        written.append(_log_position(store) - log_before)
    return statistics.median(times_ms), statistics.median(written)


def _log_position(store: PostgresStore) -> int:
    with store.database.session() as connection:
        row = connection.execute("select (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint").fetchone()
    assert row is not None
    return int(row[0])


def _stores() -> Iterator[PostgresStore]:
    """A store with an empty database for each measurement."""
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        server = start(lab)
        for _ in WAITING:
            store = PostgresStore(server.dsn)
            with store.database.session() as connection:
                connection.execute("drop schema if exists rebalance_monitor cascade")
            store.migrate()
            yield store
            store.close()


def main() -> None:
    """Print a row for each number of waiting records."""
    print(f"{'waiting':>8} {'ms a batch':>11} {'written, kB':>12}")
    for waiting, store in zip(WAITING, _stores(), strict=True):
        ms, written = measured(store, waiting)
        print(f"{waiting:8,} {ms:11.1f} {written / 1000:12.1f}", flush=True)


if __name__ == "__main__":
    main()
