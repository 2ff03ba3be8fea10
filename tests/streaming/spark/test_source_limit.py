"""The reader under availableNow with a read limit: what the limit holds back is waited for, never left out. Of a log
that went back the reader says so."""

import time
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

pytest.importorskip("pyspark")
from pyspark.sql.streaming.datasource import ReadMaxBytes

from rebalance_monitor.streaming.config.client_reference import ClientReference
from rebalance_monitor.streaming.spark.channel import Channel
from rebalance_monitor.streaming.spark.lag import Lag
from rebalance_monitor.streaming.spark.offsets import Bounds, Offset, Sample, SourcePartition
from rebalance_monitor.streaming.spark.source import FIRST_GUESS_BYTES, KafkaReader, SourceOptions

KEY = SourcePartition("__consumer_offsets", "id", 0)
RATE = int(20 * FIRST_GUESS_BYTES)  # records a second


def reader_at(folder: Path, *positions: tuple[str, str, int, int]) -> KafkaReader:
    options = SourceOptions(
        cluster_id="k", topics={KEY.topic: "offsets"}, committed=(), positions=positions, unread={},
        channel=str(folder),
        max_bytes_per_second_per_broker=RATE, heartbeat_ms=10_000, poll_max_ms=500, read_timeout_ms=1_000,
        max_lag_s=10.0, client=ClientReference(shown={}),
    )  # fmt: skip
    return KafkaReader(options)


def test_an_exhausted_limit_does_not_end_what_is_available_now(tmp_path: Path) -> None:
    reader = reader_at(tmp_path)
    reader._target = Sample(1, {KEY: Bounds(0, 60, 1)})
    at, steps = Offset(), 0
    while at.partitions.get(KEY, 0) < 60:
        further = Offset.parse(reader.latestOffset(at.json(), ReadMaxBytes(RATE)))
        assert further.partitions[KEY] > at.partitions.get(KEY, 0), "nothing new would end the query"
        at, steps = further, steps + 1
    assert steps > 2
    assert reader.latestOffset(at.json(), ReadMaxBytes(RATE)) == at.json()


@pytest.mark.parametrize(("end", "missing"), [(40, [KEY.topic]), (50, [])])
def test_a_log_that_went_back_is_named(tmp_path: Path, end: int, missing: list[str]) -> None:
    reader = reader_at(tmp_path, (*KEY, 50))
    reader._lag = Lag(10.0)
    sampler: Any = MagicMock(
        sample=Sample(1, {KEY: Bounds(0, end, 1)}), sampled_s=0.0, names=(KEY.topic,), problem=None, blind=None
    )
    sampler.topics.missing, sampler.unread.return_value = {}, {}
    reader._report(sampler)
    assert list(Channel(tmp_path).status().missing) == missing


def test_what_was_read_is_told_no_later_than_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The age of what was read counts back from the time of the status, however long it takes to write it."""
    elapsed = count(1_000)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(elapsed)))
    monkeypatch.setattr(time, "time_ns", lambda: next(elapsed) * 1_000_000_000)
    reader = reader_at(tmp_path)
    reader._lag = Lag(10.0)
    reader._lag.committed(Offset(partitions={KEY: 50}, tick_ms=1))
    sampler: Any = MagicMock(
        sample=Sample(1, {KEY: Bounds(0, 50, 1)}), sampled_s=990.0, names=(KEY.topic,), problem=None, blind=None
    )
    sampler.topics.missing, sampler.unread.return_value = {}, {}
    reader._report(sampler)
    status = Channel(tmp_path).status()
    assert status.behind_s is not None
    assert status.at_ms - status.behind_s * 1_000 <= 990_000
