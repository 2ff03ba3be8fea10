"""The reader under availableNow with a read limit: what the limit holds back is waited for, never left out."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark")
from pyspark.sql.streaming.datasource import ReadMaxBytes

from rebalance_monitor.streaming.config.client_reference import ClientReference
from rebalance_monitor.streaming.spark.offsets import Bounds, Offset, Sample, SourcePartition
from rebalance_monitor.streaming.spark.source import FIRST_GUESS_BYTES, KafkaReader, SourceOptions

KEY = SourcePartition("__consumer_offsets", "id", 0)
RATE = int(20 * FIRST_GUESS_BYTES)  # records a second


def test_an_exhausted_limit_does_not_end_what_is_available_now(tmp_path: Path) -> None:
    options = SourceOptions(
        cluster="c", cluster_id="k", topics={KEY.topic: "offsets"}, committed=(), positions=(), unread={},
        channel=str(tmp_path),
        max_bytes_per_second_per_broker=RATE, heartbeat_ms=10_000, poll_max_ms=500, read_timeout_ms=1_000,
        max_lag_s=10.0, client=ClientReference(shown={}),
    )  # fmt: skip
    reader = KafkaReader(options)
    reader._target = Sample(1, {KEY: Bounds(0, 60, 1)})
    at, steps = Offset(), 0
    while at.partitions.get(KEY, 0) < 60:
        further = Offset.parse(reader.latestOffset(at.json(), ReadMaxBytes(RATE)))
        assert further.partitions[KEY] > at.partitions.get(KEY, 0), "nothing new would end the query"
        at, steps = further, steps + 1
    assert steps > 2
    assert reader.latestOffset(at.json(), ReadMaxBytes(RATE)) == at.json()
