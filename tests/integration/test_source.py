"""The streaming source under a real query against a real broker: what is there is read once, and the query ends."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.cluster import config_topic
from rebalance_monitor.streaming.config.client_reference import ClientReference
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.ports import PartitionKey, Range
from rebalance_monitor.streaming.spark.ends import KafkaView
from rebalance_monitor.streaming.spark.source import FORMAT, KafkaSource, SourceOptions
from rebalance_monitor.streaming.spark.tasks import SparkTasks
from tests.integration.watched import Watched, own_lab
from tests.streaming.spark.memory_store import MemoryStore

pytestmark = pytest.mark.integration
OFFSETS, CONFIGS = "__consumer_offsets", "many-configs"


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with own_lab("source") as lab:
        made = Watched(lab)
        made.rebalance("one")
        config_topic.create(made.broker.address, {CONFIGS: 1})
        config_topic.write(made.broker.address, CONFIGS, {f"connector-{number}": 3 for number in range(60)})
        yield made


class Drained:
    """One availableNow query: its rows' places, and how far it came."""

    def __init__(
        self, spark: Any, watched: Watched, folder: Path, start: Mapping[PartitionKey, int], bytes_per_second: int
    ) -> None:
        self.positions = dict(start)
        self.places: list[tuple[str, int, int]] = []
        self.batches = 0
        spark.dataSource.register(KafkaSource)
        cluster_id = KafkaView({"bootstrap.servers": watched.broker.address}).cluster_id()
        options = SourceOptions(
            cluster_id=cluster_id,
            topics={OFFSETS: "offsets", CONFIGS: "config"},
            committed=("config",),
            positions=tuple((key.topic, key.topic_id, key.partition, at) for key, at in start.items()),
            unread={},
            channel=str(folder),
            max_bytes_per_second_per_broker=bytes_per_second,
            heartbeat_ms=3_600_000,
            poll_max_ms=500,
            read_timeout_ms=10_000,
            max_lag_s=10.0,
            client=ClientReference(shown={"bootstrap.servers": watched.broker.address}),
        )

        tasks = SparkTasks(spark, MemoryStore, fold_group, folder)

        def collect(frame: Any, _: int) -> None:
            batch = tasks.read(frame)
            for key, covered in batch.ranges.items():
                assert covered == Range(self.positions.get(key, 0), covered.end), "a hole, or read twice"
                self.positions[key] = covered.end
            self.places += [(row.topic, row.partition, row.offset) for row in batch.rows]
            self.batches += bool(batch.rows)

        query = (
            spark.readStream.format(FORMAT)
            .options(**options.spark())
            .load()
            .writeStream.foreachBatch(collect)
            .option("checkpointLocation", (folder / "checkpoint").as_uri())
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120), "the query did not end by itself"


def ends(watched: Watched) -> dict[tuple[str, int], int]:
    """What the broker itself says."""
    view = KafkaView({"bootstrap.servers": watched.broker.address})
    found = view.topics((OFFSETS, CONFIGS)).found
    offsets = view.ends(tuple((OFFSETS, number) for number in found[OFFSETS].leaders), committed=False)
    configs = view.ends(((CONFIGS, 0),), committed=True)
    return {place: end for place, end in {**offsets, **configs}.items() if end is not None}


def reached(drained: Drained) -> dict[tuple[str, int], int]:
    return {(key.topic, key.partition): at for key, at in drained.positions.items()}


def test_everything_there_is_read_once_and_the_query_ends(spark: Any, watched: Watched, tmp_path: Path) -> None:
    there = ends(watched)
    for folder in ("all", "nothing", "new"):
        (tmp_path / folder).mkdir()
    everything = Drained(spark, watched, tmp_path / "all", {}, 10_000_000)
    assert reached(everything) == there
    assert len(everything.places) == len(set(everything.places))
    configs = [place for place in everything.places if place[0] == CONFIGS]
    assert len(configs) == there[CONFIGS, 0] == 60 * 5
    assert [place for place in everything.places if place[0] == OFFSETS]

    nothing = Drained(spark, watched, tmp_path / "nothing", everything.positions, 10_000_000)
    assert nothing.places == []
    assert reached(nothing) == there

    watched.rebalance("two")
    new = Drained(spark, watched, tmp_path / "new", everything.positions, 10_000_000)
    assert reached(new) == ends(watched)
    assert new.places
    assert not {*new.places} & {*everything.places}


def test_a_read_limit_makes_more_batches_and_leaves_nothing_out(spark: Any, watched: Watched, tmp_path: Path) -> None:
    slow = Drained(spark, watched, tmp_path, {}, 10_000)
    assert reached(slow) == ends(watched)
    assert len([place for place in slow.places if place[0] == CONFIGS]) == 60 * 5
    assert slow.batches > 1
