"""Reading and folding the bundles of a batch in Spark's tasks.

    source   ranges of a bundle | same task, next process: `FoldTask`: read, fold, commit, one line of result

Rows never go through Spark. What a task has to say comes back as a value, also why it failed, because Spark tells only
the text of an error; and so do the lines of its log.
"""

import logging
import os
import pickle
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicHistory
from rebalance_monitor.streaming.core.lifecycles import FoldGroup
from rebalance_monitor.streaming.core.ports import Store
from . import stacks
from .bundle import FoldedBundle, Orders, fold_bundle
from .daemon import of_folds
from .failures import BundleFailed, first_line
from .folding import FoldHere
from .one_value import one_value
from .ranges import COLUMN
from .reading import read_packed
from .rows import Batch
from .watchdog import TASK, folding

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession

LOG = "rebalance_monitor"
TOLD = "told"
OpenStore = Callable[[], Store]
"""Opens a process's own store, once; it is sent to the workers, so it holds no password."""
ReadBundle = Callable[[bytes], Batch]
"""Reads the ranges that these bytes say."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a task's log."""

    logger: str
    level: int
    event: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What a task has to say: what came of the bundle, or why nothing did."""

    came: FoldedBundle | Exception
    log: tuple[LogLine, ...]


class _Kept(logging.Handler):
    """Keeps lines until the task is over."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[LogLine] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields = getattr(record, "fields", {})
        self.lines.append(LogLine(record.name, record.levelno, record.getMessage(), dict(fields)))


@contextmanager
def _kept_log() -> Iterator[list[LogLine]]:
    kept, log = _Kept(), logging.getLogger(LOG)
    log.addHandler(kept)
    log.setLevel(logging.INFO)
    try:
        yield kept.lines
    finally:
        log.removeHandler(kept)


@dataclass(frozen=True, slots=True)
class FoldTask:
    """What a task does with its ranges. `scratch`: where it shows that it goes on (`watchdog`)."""

    orders: Orders
    knowledge: Callable[[], Knowledge]
    open_store: OpenStore
    fold: FoldGroup
    scratch: Path
    read: ReadBundle

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stacks.offer(self.scratch, TASK)
        batch = _bundle(batches, self.read)
        with _kept_log() as lines, folding(self.scratch) as goes_on:
            came: FoldedBundle | Exception
            try:
                here = FoldHere(self.fold, goes_on)
                store, knowledge = self.open_store(), self.knowledge()
                folded = fold_bundle(store, self.orders, knowledge, batch, here)
                came = replace(folded, process=f"{socket.gethostname()} {os.getpid()}")
            except Exception as why:
                came = _sent(why)
        yield _pickled(Told(came, tuple(lines)))


@dataclass(frozen=True, slots=True)
class ReadTask:
    """What a task does whose rows are folded elsewhere."""

    scratch: Path
    read: ReadBundle

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stacks.offer(self.scratch, TASK)
        yield _pickled(_bundle(batches, self.read))


def _bundle(batches: Iterator[pa.RecordBatch], read: ReadBundle) -> Batch:
    """The bundle of one task; none where Spark runs one for nothing."""
    packed = [one for batch in batches for one in batch.column(COLUMN).to_pylist()]
    assert len(packed) <= 1, "a task has one bundle"
    return read(packed[0]) if packed else Batch()


def _pickled(what: object) -> pa.RecordBatch:
    return one_value(TOLD, pickle.dumps(what))


def _sent(why: Exception) -> Exception:
    """The error as it can be sent: itself where it is one of ours, else what it says."""
    if type(why).__module__.startswith("rebalance_monitor."):
        with suppress(pickle.PickleError, TypeError, AttributeError):  # one that keeps what cannot be sent
            return pickle.loads(pickle.dumps(why))  # type: ignore[no-any-return]
    frames = "; ".join(
        f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(why.__traceback__)[-3:]
    )
    return BundleFailed(f"{type(why).__name__}: {first_line(why)} (at {socket.gethostname()}, {frames})")


class SparkTasks:
    """`batch.Tasks` on a session."""

    def __init__(
        self,
        spark: "SparkSession",
        open_store: OpenStore,
        fold: FoldGroup,
        scratch: Path,
        read: ReadBundle = read_packed,
    ) -> None:
        self._spark, self._open_store, self._fold, self._scratch = spark, open_store, fold, scratch
        self._read = read
        self._sent: tuple[TopicHistory, Broadcast[TopicHistory]] | None = None

    def __call__(self, frame: Any, orders: Orders, knowledge: Knowledge) -> list[FoldedBundle | Exception]:
        task = FoldTask(orders, self._at_workers(knowledge), self._open_store, self._fold, self._scratch, self._read)
        told: list[Told] = _run(frame, task)
        for line in (line for one in told for line in one.log):
            logging.getLogger(line.logger).log(line.level, line.event, extra={"fields": line.fields})
        return [one.came for one in told]

    def read(self, frame: Any) -> Batch:
        """The batch's one bundle, read in a task and brought here."""
        batches: list[Batch] = _run(frame, ReadTask(self._scratch, self._read))
        assert len(batches) <= 1, "what is folded here is one bundle"
        return batches[0] if batches else Batch()

    def _at_workers(self, knowledge: Knowledge) -> Callable[[], Knowledge]:
        """How a worker gets it. What is known of topics is large and changes seldom, so it is sent once."""
        topics = knowledge.topics
        if topics is NO_SAMPLES:
            return _Known(knowledge)
        if self._sent is None or self._sent[0] is not topics:
            before, self._sent = self._sent, None  # whatever fails from here on: it is destroyed once
            if before is not None:
                before[1].destroy()
            self._sent = topics, self._spark.sparkContext.broadcast(topics)
        return _Known(replace(knowledge, topics=NO_SAMPLES), self._sent[1])


def _run(frame: Any, task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> list[Any]:
    with of_folds(frame.sparkSession.sparkContext.environment):
        folded = frame.mapInArrow(task, f"{TOLD} binary")
    return [pickle.loads(one.as_py()) for one in folded.toArrow().column(TOLD)]


@dataclass(frozen=True, slots=True)
class _Known:
    """Knowledge, its topics broadcast."""

    rest: Knowledge
    topics: "Broadcast[TopicHistory] | None" = None

    def __call__(self) -> Knowledge:
        return self.rest if self.topics is None else replace(self.rest, topics=self.topics.value)
