"""Folding many groups at once: in this process, or spread over the workers. Both call the same pure function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from streaming.core.fold.fold import FoldOutcome
from streaming.core.lifecycles import fold_group
from streaming.core.model.codec import dumps, loads
from streaming.core.model.records import Row, Tick
from streaming.core.model.results import Result
from streaming.core.model.settings import ClusterSettings
from streaming.core.ports import FoldError, KeptState
from streaming.guarding.fold import Fold, fold_isolated, spans
from streaming.spark.rows import arrow_text

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
    errors: tuple[FoldError, ...] = ()
    kept: tuple[KeptState, ...] = ()


class FoldHere:
    """Fold in this process: no shuffle, no second Spark job."""

    def __init__(self, fold: Fold = fold_group) -> None:
        self._fold = fold

    def __call__(self, settings: ClusterSettings, tasks: Sequence[Task], tick: Tick | None) -> dict[str, FoldOutcome]:
        return {task.group: _isolated(settings, task, tick, self._fold) for task in tasks}


fold_here = FoldHere()


def _isolated(settings: ClusterSettings, task: Task, tick: Tick | None, fold: Fold) -> FoldOutcome:
    """The fold of one group; the rows become values a piece at a time."""
    bodies = task.bodies
    pieces = ([loads(Row, one) for one in bodies[start:end]] for start, end in spans([len(one) for one in bodies]))
    return fold_isolated(settings, task.group, task.state, pieces, tick, fold=fold)


# `at` keeps the order of a group's rows: a shuffle promises none.
_ROWS = pa.schema([("group", pa.string()), ("at", pa.int64()), ("body", pa.string())])
_STATES = pa.schema([("group", pa.string()), ("state", pa.binary())])
_OUT = pa.schema([("group", pa.string()), ("state", pa.binary()), ("due_ms", pa.int64()), ("published", pa.string())])
_OUT_SPARK = "`group` string, state binary, due_ms bigint, published string"


class SpreadFold:
    """Fold on the workers, by cogroup of rows and states: for catch-up and storms over many groups."""

    def __init__(self, spark: "SparkSession", fold: Fold = fold_group) -> None:
        self._spark, self._fold = spark, fold

    def __call__(self, settings: ClusterSettings, tasks: Sequence[Task], tick: Tick | None) -> dict[str, FoldOutcome]:
        lines = [(task.group, at, body) for task in tasks for at, body in enumerate(task.bodies)]
        rows = pa.table([[line[column] for line in lines] for column in range(3)], schema=_ROWS)
        states = pa.table([[task.group for task in tasks], [task.state for task in tasks]], schema=_STATES)
        spread = (
            self._spark.createDataFrame(rows)
            .groupBy("group")
            .cogroup(self._spark.createDataFrame(states).groupBy("group"))
            .applyInArrow(worker(settings, tick, self._fold), _OUT_SPARK)
        )
        return dict(map(_outcome, spread.toArrow().to_pylist()))


def worker(
    settings: ClusterSettings, tick: Tick | None, fold_one: Fold = fold_group
) -> Callable[[Any, pa.Table, pa.Table], pa.Table]:
    """What runs for each group on a worker: (key, rows, states) -> one line."""

    def fold(key: tuple[Any, ...], rows: pa.Table, states: pa.Table) -> pa.Table:
        group = key[0].as_py()
        state = states.column("state").to_pylist()
        bodies = rows.sort_by("at").column("body").to_pylist()
        task = Task(group, state[0] if state else None, tuple(bodies))
        outcome = _isolated(settings, task, tick, fold_one)
        published = arrow_text(dumps(Published(outcome.results, outcome.blobs, outcome.errors, outcome.kept)))
        return pa.table([[group], [outcome.state], [outcome.due_ms], [published]], schema=_OUT)

    return fold


def _outcome(line: Mapping[str, Any]) -> tuple[str, FoldOutcome]:
    published = loads(Published, line["published"])
    outcome = FoldOutcome(
        bytes(line["state"]),
        line["due_ms"],
        published.results,
        dict(published.blobs),
        errors=published.errors,
        kept=published.kept,
    )
    return line["group"], outcome
