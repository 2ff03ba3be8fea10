"""Folding many groups at once: in this process, or spread over the workers. Both call the same pure function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from streaming.core.codec import dumps, loads
from streaming.core.fold import FoldOutcome, fold_group
from streaming.core.records import Row, Tick
from streaming.core.results import Result
from streaming.core.settings import ClusterSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Task(NamedTuple):
    """One group's share of a batch; `bodies` are rows still as text."""

    group: str
    state: bytes | None
    bodies: tuple[str, ...]


FoldMany = Callable[[ClusterSettings, Sequence[Task], Tick | None], Mapping[str, FoldOutcome]]


@dataclass(frozen=True, slots=True)
class Published:
    """A fold's results on their way back from a worker."""

    results: tuple[Result, ...] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)


def fold_here(settings: ClusterSettings, tasks: Sequence[Task], tick: Tick | None) -> dict[str, FoldOutcome]:
    """Fold in this process: no shuffle, no second Spark job."""
    return {task.group: _fold(settings, task, tick) for task in tasks}


def _fold(settings: ClusterSettings, task: Task, tick: Tick | None) -> FoldOutcome:
    return fold_group(settings, task.group, task.state, [loads(Row, body) for body in task.bodies], tick)


# `at` keeps the order of a group's rows: a shuffle promises none.
_ROWS = pa.schema([("group", pa.string()), ("at", pa.int64()), ("body", pa.string())])
_STATES = pa.schema([("group", pa.string()), ("state", pa.binary())])
_OUT = pa.schema([("group", pa.string()), ("state", pa.binary()), ("due_ms", pa.int64()), ("published", pa.string())])
_OUT_SPARK = "`group` string, state binary, due_ms bigint, published string"


class SpreadFold:
    """Fold on the workers, by cogroup of rows and states: for catch-up and storms over many groups."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark

    def __call__(self, settings: ClusterSettings, tasks: Sequence[Task], tick: Tick | None) -> dict[str, FoldOutcome]:
        lines = [(task.group, at, body) for task in tasks for at, body in enumerate(task.bodies)]
        rows = pa.table([[line[column] for line in lines] for column in range(3)], schema=_ROWS)
        states = pa.table([[task.group for task in tasks], [task.state for task in tasks]], schema=_STATES)
        spread = (
            self._spark.createDataFrame(rows)
            .groupBy("group")
            .cogroup(self._spark.createDataFrame(states).groupBy("group"))
            .applyInArrow(worker(settings, tick), _OUT_SPARK)
        )
        return dict(map(_outcome, spread.toArrow().to_pylist()))


def worker(settings: ClusterSettings, tick: Tick | None) -> Callable[[Any, pa.Table, pa.Table], pa.Table]:
    """What runs for each group on a worker: (key, rows, states) -> one line."""

    def fold(key: tuple[Any, ...], rows: pa.Table, states: pa.Table) -> pa.Table:
        group = key[0].as_py()
        state = states.column("state").to_pylist()
        bodies = rows.sort_by("at").column("body").to_pylist()
        task = Task(group, state[0] if state else None, tuple(bodies))
        outcome = _fold(settings, task, tick)
        published = dumps(Published(outcome.results, outcome.blobs))
        return pa.table([[group], [outcome.state], [outcome.due_ms], [published]], schema=_OUT)

    return fold


def _outcome(line: Mapping[str, Any]) -> tuple[str, FoldOutcome]:
    published = loads(Published, line["published"])
    outcome = FoldOutcome(bytes(line["state"]), line["due_ms"], published.results, dict(published.blobs))
    return line["group"], outcome
