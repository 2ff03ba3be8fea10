"""Bundles folded and committed by Spark's tasks: real processes, a real PostgreSQL, the rows of one process."""

import logging
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, reduce
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicHistory, TopicSample
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import AlreadyThere, Deposed, OutOfStep, Range
from rebalance_monitor.streaming.spark.batch import BatchFunction, BatchReport
from rebalance_monitor.streaming.spark.bundle import FoldedBundle, Orders
from rebalance_monitor.streaming.spark.failures import BundleFailed
from rebalance_monitor.streaming.spark.ranges import COLUMN
from rebalance_monitor.streaming.spark.rows import Batch
from rebalance_monitor.streaming.spark.shared_session import SharedSession
from rebalance_monitor.streaming.spark.tasks import SparkTasks
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.postgres_server import postgres_server
from tests.streaming.core.rules import consumers
from tests.streaming.guarding import poison as poison_module
from tests.streaming.guarding.poison import SECRET, Poisoned
from tests.streaming.spark.test_batch import CLUSTER_ID, batch
from tests.streaming.spark.test_bundles import bundle_of, several

pytestmark = pytest.mark.integration
END_MS = 10**15
TABLES = {
    "generations": "document - 'batch_id'", "members": "to_jsonb(t)", "assignments": "to_jsonb(t)",
    "incidents": "document", "incident_parts": "document", "outbox": "to_jsonb(key)", "groups": "to_jsonb(state)",
    "connectors_and_tasks": "document", "positions": "to_jsonb(next_offset)",
    "states": "to_jsonb(encode(state, 'hex'))",
}  # fmt: skip
"""What is compared of each table: all but the number of the batch and the times of the database."""


class World:
    """A database, its writer, and a batch function whose bundles Spark's tasks fold."""

    def __init__(self, spark: Any, dsn: str, known: ClusterSettings, tmp: Any, fold: Any = fold_group) -> None:
        self.dsn, self.known, self.spark = dsn, known, spark
        self.store = PostgresStore(dsn, known.name)
        self.store.migrate()
        self.epoch = self.store.claim()
        self.reports: list[BatchReport] = []
        self.tasks = SparkTasks(spark, partial(PostgresStore, dsn), fold, tmp, pickle.loads)
        self.function = BatchFunction(
            self.store, known, cluster_id=CLUSTER_ID, writer_epoch=self.epoch, started_ms=0,
            on_results=self.reports.append, publish=lambda _control: None,
        )  # fmt: skip

    def spread(self, bundles: list[Batch], number: int) -> None:
        self.function.spread(self.frame(bundles), number, self.tasks)

    def frame(self, bundles: list[Batch]) -> Any:
        """One partition for each bundle."""
        self.spark.conf.set("spark.sql.unionOutputPartitioning", "false")  # else one partition holds them all
        packed = (pa.table({COLUMN: pa.array([pickle.dumps(one)], pa.binary())}) for one in bundles)
        return reduce(lambda a, b: a.union(b), (self.spark.createDataFrame(one).coalesce(1) for one in packed))

    def orders(self, **more: Any) -> Orders:
        given = Orders(
            settings=self.known, cluster_id=CLUSTER_ID, batch_id=9, writer_epoch=self.epoch, started_ms=0,
            caught_up=True, read_to_the_end_ms=None, topic_groups={}, most_settled=100,
        )  # fmt: skip
        return replace(given, **more)

    def rows(self) -> dict[str, list[Any]]:
        with psycopg.connect(self.dsn) as connection:
            return {
                name: connection.execute(f"select {what} from rebalance_monitor.{name} t order by 1").fetchall()
                for name, what in TABLES.items()
            }


class Databases:
    """New databases of one server."""

    def __init__(self, server: str) -> None:
        self._server, self._made = server, count()

    def new(self) -> str:
        name = f"tasks_{next(self._made)}"
        with psycopg.connect(self._server, autocommit=True) as admin:
            admin.execute(f"create database {name}".encode())
        return self._server.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with postgres_server() as server:
        yield Databases(server)


def worker_pids(spark: Any) -> set[int]:
    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"pid": [os.getpid()]})

    return {row.pid for row in spark.range(2).mapInArrow(tell, "pid bigint").collect()}


def test_clusters_that_stand_by_together_warm_their_session_once(spark: Any, tmp_path: Path) -> None:
    session = SharedSession()
    session.is_there(spark)
    with ThreadPoolExecutor(3) as clusters:
        for each in [clusters.submit(session.warm_up, tmp_path) for _ in range(3)]:
            each.result()
    assert (tmp_path / "warming" / "commits" / "0").exists()
    assert not (tmp_path / "warming" / "commits" / "1").exists()


def test_workers_are_processes_of_their_own(spark: Any) -> None:
    assert os.getpid() not in worker_pids(spark)


def test_bundles_in_tasks_make_the_same_rows_as_one_bundle_here(
    spark: Any, databases: Databases, tmp_path: Any
) -> None:
    known, rows, lives = several()
    here, there = (World(spark, databases.new(), known, tmp_path) for _ in range(2))
    thirds = [
        {
            place: Range(some[0].offset if not number else at(some, number), at(some, number + 1))
            for place, some in rows.items()
            if at(some, number + 1) > (some[0].offset if not number else at(some, number))
        }
        for number in range(3)
    ]
    for number, ranges in enumerate(thirds):
        here.function(bundle_of(rows, ranges, [group for _, group in lives], None), number)
        parted = [
            (own, group)
            for places, group in lives
            if (own := {place: span for place, span in ranges.items() if place in places})
        ]
        there.spread([bundle_of(rows, own, [group], None) for own, group in parted], number)
        assert there.reports[-1].bundles == len(parted)
    for world in (here, there):
        world.function(batch([], {}, END_MS), 3)
    assert there.rows() == here.rows()
    assert len(here.rows()["generations"]) > 50
    assert here.reports[-1].view == there.reports[-1].view


def at(some: Any, third: int) -> int:
    """Where a third of these rows ends."""
    return int(some[min(len(some), len(some) * third // 3) - 1].offset) + 1 if third else int(some[0].offset)


def one_bundle(world: World) -> Batch:
    _, rows, lives = several()
    places, group = lives[0]
    return bundle_of(rows, {place: Range(0, rows[place][-1].offset + 1) for place in places}, [group], 5)


def test_a_task_that_is_run_again_says_so_and_a_deposed_one_writes_nothing(
    spark: Any, databases: Databases, tmp_path: Any
) -> None:
    known, _, _ = several()
    world = World(spark, databases.new(), known, tmp_path)
    frame = world.frame([one_bundle(world)])
    (first,) = world.tasks(frame, world.orders(), NOTHING_KNOWN)
    assert isinstance(first, FoldedBundle)
    before = world.rows()
    (again,) = world.tasks(frame, world.orders(), NOTHING_KNOWN)
    assert isinstance(again, AlreadyThere)
    late_frame, deposed = world.frame([batch([], {("log", 0): Range(0, 5)}, 5)]), world.epoch - 1
    (late,) = world.tasks(late_frame, world.orders(writer_epoch=deposed), NOTHING_KNOWN)
    assert isinstance(late, Deposed)
    assert world.rows() == before
    foreign = SparkTasks(
        spark,
        partial(PostgresStore, World(spark, databases.new(), known, tmp_path).dsn),
        fold_group,
        tmp_path,
        pickle.loads,
    )
    with pytest.raises(BundleFailed, match="names another database than the job's"):
        world.function.spread(late_frame, 10, foreign)


def test_what_a_task_raises_reaches_the_driver_as_it_is(spark: Any, databases: Databases, tmp_path: Any) -> None:
    known, _, _ = several()
    world = World(spark, databases.new(), known, tmp_path)
    world.function(batch([], {("log", 0): Range(0, 5)}, None), 0)
    with pytest.raises(OutOfStep) as refused:
        world.spread([batch([], {("log", 0): Range(7, 9)}, None), batch([], {("log", 1): Range(0, 3)}, None)], 1)
    assert (refused.value.expected, refused.value.got) == (5, 7)
    assert sorted(world.store.positions().values()) == [3, 5], "the other bundle is committed"
    assert world.reports[-1].records == 0
    unknown = SparkTasks(spark, partial(PostgresStore, "no dsn"), fold_group, tmp_path, pickle.loads)
    (failed,) = unknown(world.frame([one_bundle(world)]), world.orders(), NOTHING_KNOWN)
    assert isinstance(failed, Exception)
    assert "no dsn" not in str(failed)


class NoStore:
    """A store that fails in a way nobody foresaw."""

    def __call__(self) -> Any:
        raise ZeroDivisionError("of a kind that nobody foresaw")


def test_an_error_that_nobody_foresaw_is_one_sentence(spark: Any, databases: Databases, tmp_path: Any) -> None:
    known, _, _ = several()
    world = World(spark, databases.new(), known, tmp_path)
    cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["NoStore"]))
    tasks = SparkTasks(spark, NoStore(), fold_group, tmp_path, pickle.loads)
    (failed,) = tasks(world.frame([one_bundle(world)]), world.orders(), NOTHING_KNOWN)
    assert isinstance(failed, BundleFailed)
    assert str(failed).startswith("ZeroDivisionError: of a kind that nobody foresaw (at ")


def test_an_error_of_a_fold_costs_one_group_and_is_logged_by_the_job(
    spark: Any, databases: Databases, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    known, rows, lives = several()
    cloudpickle.register_pickle_by_value(poison_module)
    poisoned = lives[0][1]
    offsets = {row.offset for some in rows.values() for row in some if row.group == poisoned}
    world = World(spark, databases.new(), known, tmp_path, Poisoned(offsets, group=poisoned))
    frames = [
        bundle_of(rows, {place: Range(0, rows[place][-1].offset + 1) for place in places}, [group], 5)
        for places, group in lives
    ]
    with caplog.at_level(logging.ERROR, "rebalance_monitor"):
        world.spread(frames, 0)
    logged = [record.fields for record in caplog.records if record.getMessage() == "fold_failed"]  # type: ignore[attr-defined]
    assert {one["group"] for one in logged} == {poisoned}
    assert SECRET not in str(logged)
    assert set(world.reports[-1].fold_errors) == {"KeyError"}
    with psycopg.connect(world.dsn) as connection:
        judged = connection.execute('select distinct "group" from rebalance_monitor.generations').fetchall()
    assert {(group,) for _, group in lives[1:]} <= set(judged)


def test_what_is_known_of_topics_reaches_the_tasks_and_changes_there(
    spark: Any, databases: Databases, tmp_path: Any
) -> None:
    story = consumers.group("range", consumers.shares(m1="a-0 a-1", m2="a-2"))
    grades = []
    for counts in ({"a": 3}, {"a": 4}):
        shown = {topic: ((1,),) * count for topic, count in counts.items()}
        # The second one is asked after the record: it shows that nothing has changed since the first.
        samples = (TopicSample(1, 2, shown), TopicSample(story.now_ms + 1, story.now_ms + 2, shown))
        knowledge = Knowledge(topics=reduce(TopicHistory.with_sample, samples, NO_SAMPLES))
        world = World(spark, databases.new(), story.settings, tmp_path)
        place = (story.rows[0].topic, story.rows[0].partition)
        bundle = batch(story.rows, {place: Range(0, story.rows[-1].offset + 1)}, story.now_ms + 100)
        (told,) = world.tasks(world.frame([bundle]), world.orders(), knowledge)
        assert isinstance(told, FoldedBundle)
        grades.append({one.grade for one in told.view.judged})
    assert grades == [{"match"}, {"unexplained"}]
