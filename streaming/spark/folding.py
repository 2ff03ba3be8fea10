"""Folding many groups at once: in this process, or spread over the workers. Both call the same pure function."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import GroupGeneration, OtherGroup, Row, Tick, Undecodable
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import FoldError, KeptState
from rebalance_monitor.streaming.guarding.fold import FoldGroup, fold_isolated, spans
from rebalance_monitor.streaming.spark.rows import RawRow, arrow_text

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession


class Task(NamedTuple):
    """One group's share of a batch: its state before, and its rows as they came."""

    group: str
    state: Saved | None
    rows: tuple[RawRow, ...]


@dataclass(frozen=True, slots=True)
class SeenInBytes:
    """What came to light when a group's records were decoded: how many could not be read, by topic and what they were
    taken for, and tagged fields in them that nobody has described, by topic."""

    unreadable: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unknown_tags: Mapping[str, int] = field(default_factory=dict)


class Folded(NamedTuple):
    """What came of one task."""

    outcome: FoldOutcome
    seen: SeenInBytes = SeenInBytes()


class FoldMany(Protocol):
    """One fold for each task."""

    def __call__(
        self,
        settings: ClusterSettings,
        tasks: Sequence[Task],
        tick: Tick | None,
        knowledge: Knowledge = NOTHING_KNOWN,
        /,
    ) -> Mapping[str, Folded]:
        """The outcomes by group."""
        ...


@dataclass(frozen=True, slots=True)
class Published:
    """What came of one task beside the state, on its way back from a worker."""

    results: tuple[Result, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    errors: tuple[FoldError, ...] = ()
    kept: tuple[KeptState, ...] = ()
    waits: tuple[int, int] = (0, 0)
    wants_waiting: bool = False
    home: str | None = None
    sample_from_ms: int | None = None
    seen: SeenInBytes = SeenInBytes()


class FoldHere:
    """FoldGroup in this process: no shuffle, no second Spark job."""

    def __init__(self, fold: FoldGroup = fold_group) -> None:
        self._fold = fold

    def __call__(
        self,
        settings: ClusterSettings,
        tasks: Sequence[Task],
        tick: Tick | None,
        knowledge: Knowledge = NOTHING_KNOWN,
    ) -> dict[str, Folded]:
        return {task.group: _isolated(settings, task, tick, knowledge, self._fold) for task in tasks}


fold_here = FoldHere()


class _Decoding:
    """The rows of a task, decoded a piece at a time, and what comes to light then."""

    def __init__(self) -> None:
        self._unreadable, self._tags = Counter[tuple[str, str]](), Counter[str]()

    def pieces(self, raw: Sequence[RawRow]) -> Iterator[list[Row]]:
        for start, end in spans([one.bytes for one in raw]):
            yield [row for one in raw[start:end] if (row := self._decoded(one)) is not None]

    def _decoded(self, raw: RawRow) -> Row | None:
        row = raw.row()
        if row is not None and raw.key is not None:
            if isinstance(row.body, Undecodable):
                self._unreadable[row.topic, raw.kind] += 1
            elif isinstance(row.body, GroupGeneration | OtherGroup) and row.body.unknown_tags:
                self._tags[row.topic] += row.body.unknown_tags
        return row

    def seen(self) -> SeenInBytes:
        return SeenInBytes(dict(self._unreadable), dict(self._tags))


def _isolated(
    settings: ClusterSettings, task: Task, tick: Tick | None, knowledge: Knowledge, fold: FoldGroup
) -> Folded:
    """The fold of one group."""
    decoding = _Decoding()
    rows = decoding.pieces(task.rows)
    outcome = fold_isolated(settings, task.group, task.state, rows, tick, knowledge=knowledge, fold=fold)
    return Folded(outcome, decoding.seen())


# `at` keeps the order of a group's rows: a shuffle promises none.
_RAW = (
    ("topic", pa.string()),
    ("topic_id", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("kind", pa.string()),
    ("timestamp_ms", pa.int64()),
    ("of_group", pa.string()),
    ("protocol_type", pa.string()),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("lifecycle", pa.string()),
    ("body", pa.string()),
    ("hole", pa.int64()),
)
_ROWS = pa.schema([("group", pa.string()), ("at", pa.int64()), *_RAW])
_STATE = (("lines", pa.binary()), ("positions", pa.list_(pa.int64())), ("waiting", pa.list_(pa.binary())))
_STATES = pa.schema([("group", pa.string()), *_STATE])
_OUT = pa.schema([("group", pa.string()), *_STATE, ("due_ms", pa.int64()), ("published", pa.string())])
_OUT_SPARK = (
    "`group` string, lines binary, positions array<bigint>, waiting array<binary>, due_ms bigint, published string"
)


class SpreadFold:
    """FoldGroup on the workers, by cogroup of rows and states: for catch-up and storms over many groups.

    What is known of the cluster may be large (10,000 topics) and changes seldom, so it is sent to the workers once and
    not with each batch.
    """

    def __init__(self, spark: "SparkSession", fold: FoldGroup = fold_group) -> None:
        self._spark, self._fold = spark, fold
        self._sent: tuple[Knowledge, Broadcast[Knowledge]] | None = None

    def __call__(
        self,
        settings: ClusterSettings,
        tasks: Sequence[Task],
        tick: Tick | None,
        knowledge: Knowledge = NOTHING_KNOWN,
    ) -> dict[str, Folded]:
        rows, states = rows_table(tasks), states_table(tasks)
        spread = (
            self._spark.createDataFrame(rows)
            .groupBy("group")
            .cogroup(self._spark.createDataFrame(states).groupBy("group"))
            .applyInArrow(worker(settings, tick, self._at_workers(knowledge), self._fold), _OUT_SPARK)
        )
        return dict(map(_folded, spread.toArrow().to_pylist()))

    def _at_workers(self, knowledge: Knowledge) -> Callable[[], Knowledge]:
        """How a worker gets it."""
        if knowledge == NOTHING_KNOWN:
            return _nothing_known
        if self._sent is None or self._sent[0] is not knowledge:
            if self._sent is not None:
                self._sent[1].destroy()
            self._sent = knowledge, self._spark.sparkContext.broadcast(knowledge)
        sent = self._sent[1]
        return lambda: sent.value


def _nothing_known() -> Knowledge:
    return NOTHING_KNOWN


def rows_table(tasks: Sequence[Task]) -> pa.Table:
    """The rows of all tasks, each with its group and its place among the group's rows."""
    lines = [(task.group, at, *row) for task in tasks for at, row in enumerate(task.rows)]
    return pa.table([[line[column] for line in lines] for column in range(len(_ROWS))], schema=_ROWS)


def states_table(tasks: Sequence[Task]) -> pa.Table:
    """The state of each task's group, null where there is none."""
    lines = [(task.group, *_state_columns(task.state)) for task in tasks]
    return pa.table([[line[column] for line in lines] for column in range(len(_STATES))], schema=_STATES)


def worker(
    settings: ClusterSettings, tick: Tick | None, knowledge: Callable[[], Knowledge], fold_one: FoldGroup = fold_group
) -> Callable[[Any, pa.Table, pa.Table], pa.Table]:
    """What runs for each group on a worker: (key, rows, states) -> one line. `knowledge` is called there."""

    def fold(key: tuple[Any, ...], rows: pa.Table, states: pa.Table) -> pa.Table:
        group = key[0].as_py()
        known = states.to_pylist()
        columns = [rows.sort_by("at").column(name).to_pylist() for name, _ in _RAW]
        raw = tuple(RawRow(*values) for values in zip(*columns, strict=True))
        task = Task(group, _state_of(known[0]) if known else None, raw)
        outcome, seen = _isolated(settings, task, tick, knowledge(), fold_one)
        published = Published(
            outcome.results,
            outcome.blobs,
            outcome.errors,
            outcome.kept,
            outcome.waits,
            outcome.wants_waiting,
            outcome.home,
            outcome.sample_from_ms,
            seen,
        )
        columns = [[group], *([one] for one in _state_columns(outcome.state)), [outcome.due_ms]]
        return pa.table([*columns, [arrow_text(dumps(published))]], schema=_OUT)

    return fold


def _state_columns(state: Saved | None) -> tuple[bytes | None, list[int], list[bytes]]:
    if state is None:
        return None, [], []
    return state.lines, list(state.waiting), list(state.waiting.values())


def _state_of(line: Mapping[str, Any]) -> Saved | None:
    if line["lines"] is None:
        return None
    return Saved(bytes(line["lines"]), dict(zip(line["positions"], map(bytes, line["waiting"]), strict=True)))


def _folded(line: Mapping[str, Any]) -> tuple[str, Folded]:
    published = loads(Published, line["published"])
    state = _state_of(line)
    assert state is not None  # a fold always leaves one
    outcome = FoldOutcome(
        state,
        line["due_ms"],
        published.results,
        dict(published.blobs),
        errors=published.errors,
        kept=published.kept,
        waits=published.waits,
        wants_waiting=published.wants_waiting,
        home=published.home,
        sample_from_ms=published.sample_from_ms,
    )
    return line["group"], Folded(outcome, published.seen)
