"""What /metrics needs of the results of a bundle: little enough to send from where they were made.

A gauge shows the newest generation of a group alone, and a counter needs of each judged generation its grade and cause.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Aftermath, Generation, Part, Result, UndecodableRecord
from rebalance_monitor.streaming.core.reading.unreadable import counted_reason
from rebalance_monitor.streaming.core.streams.words import TaskCounts, counted_tasks
from rebalance_monitor.streaming.store.loads import Load, loads_of
from rebalance_monitor.streaming.store.stored import LastGeneration
from rebalance_monitor.streaming.stories.known import Published

_NOT_SHOWN = (Generation, Aftermath, Part, UndecodableRecord)
"""Generations are shown by their numbers, records that nobody can read are counted; of the others there is a page, and
too many for a series each."""


class Newest(NamedTuple):
    """The latest generation of a group, what its workers hold (Connect) and its tasks (Streams)."""

    generation: LastGeneration
    loads: dict[str, Load] | None = None
    tasks: TaskCounts | None = None


class JudgedNumbers(NamedTuple):
    """A generation whose verdict is final. `idle_ms`: for how long tasks of Connect stood still before it, by cause.
    `foretold`: what `stories.score` looks at of the published one; None where nothing is predicted of such groups."""

    cluster: str
    group: str
    grade: str
    cause: str
    at_ms: int
    historic: bool
    idle_ms: Mapping[str, int]
    foretold: Published | None = None


@dataclass(frozen=True, slots=True)
class BatchView:
    """The results of one bundle, or of a whole batch. `undecodable`: how many records, by cluster and reason."""

    newest: tuple[Newest, ...] = ()
    judged: tuple[JudgedNumbers, ...] = ()
    others: tuple[Result, ...] = ()
    undecodable: Mapping[tuple[str, str], int] = field(default_factory=dict)


def view_of(results: Sequence[Result]) -> BatchView:
    """What is shown of these results."""
    generations = [one for one in results if isinstance(one, Generation)]
    newest = {(one.cluster, one.group): one for one in sorted(generations, key=_place)}
    return BatchView(
        tuple(map(_newest, newest.values())),
        tuple(_judged(one) for one in generations if one.verdict.pending_until_ms is None),
        tuple(one for one in results if not isinstance(one, _NOT_SHOWN)),
        _counted(one for one in results if isinstance(one, UndecodableRecord)),
    )


def together(views: Iterable[BatchView]) -> BatchView:
    """The views of several bundles as one."""
    every = tuple(views)
    return BatchView(
        tuple(one for view in every for one in view.newest),
        tuple(one for view in every for one in view.judged),
        tuple(one for view in every for one in view.others),
        sum((Counter(view.undecodable) for view in every), Counter[tuple[str, str]]()),
    )


def _counted(records: Iterable[UndecodableRecord]) -> dict[tuple[str, str], int]:
    """A record that several groups tell of counts once."""
    reasons = {(one.cluster, one.source): (one.cluster, counted_reason(one)) for one in records}
    return dict(Counter(reasons.values()))


def _place(generation: Generation) -> tuple[int, int]:
    """Which of a group's generations is the newest, as `LastGeneration` says it."""
    return generation.incarnation, generation.source.offset


def _newest(generation: Generation) -> Newest:
    connect, judged = generation.protocol_type == "connect", generation.verdict.pending_until_ms is None
    return Newest(
        LastGeneration(
            generation.incarnation, generation.source.offset, generation.cluster, generation.group,
            generation.generation, len(generation.members), generation.at_ms,
            len(generation.connect.unassigned) if judged else None, generation.connect.delay_ms, connect,
        ),
        loads_of(generation) if connect else None,
        None if generation.streams is None else counted_tasks(as_object(generation.streams)),
    )  # fmt: skip


def _judged(generation: Generation) -> JudgedNumbers:
    return JudgedNumbers(
        generation.cluster,
        generation.group,
        generation.verdict.grade.value,
        generation.cause[0].kind if generation.cause else "unknown",
        generation.at_ms,
        generation.historic,
        dict(generation.connect.idle_ms),
        _foretold(generation),
    )


def _foretold(generation: Generation) -> Published | None:
    progress = None if generation.streams is None else generation.streams.progress
    if generation.protocol_type != "connect" and progress is None:
        return None
    wait = generation.connect.wait
    return {
        "incarnation": generation.incarnation,
        "generation": generation.generation,
        "at_ms": generation.at_ms,
        "source": as_object(generation.source),
        "sampled": generation.sampled is not None,
        "cause": [{"kind": one.kind} for one in generation.cause],
        "members": [{"rebalance_timeout_ms": ms} for ms in {one.rebalance_timeout_ms for one in generation.members}],
        "wait": None if wait is None else {"until_ms": wait.until_ms, "ended_ms": wait.ended_ms},
        "streams": None if progress is None else {"progress": as_object(progress)},
    }
