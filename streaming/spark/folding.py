"""Folding the groups of one bundle, each isolated from the others."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import FoldGroup, fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, OtherGroup, Row, Tick, Undecodable
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.guarding.fold import fold_isolated, spans
from .rows import RawRow


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


class FoldHere:
    """One group after the other."""

    def __init__(self, fold: FoldGroup = fold_group, goes_on: Callable[[], None] = lambda: None) -> None:
        """`goes_on` is called before each record, and before each group, which may have none."""
        self._fold, self._goes_on = fold, goes_on

    def __call__(
        self,
        settings: ClusterSettings,
        tasks: Sequence[Task],
        tick: Tick | None,
        knowledge: Knowledge = NOTHING_KNOWN,
    ) -> dict[str, Folded]:
        folded = {}
        for task in tasks:
            self._goes_on()
            folded[task.group] = _isolated(settings, task, tick, knowledge, self._fold, self._goes_on)
        return folded


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
    settings: ClusterSettings,
    task: Task,
    tick: Tick | None,
    knowledge: Knowledge,
    fold: FoldGroup,
    goes_on: Callable[[], None],
) -> Folded:
    decoding = _Decoding()
    rows = decoding.pieces(task.rows)
    outcome = fold_isolated(
        settings, task.group, task.state, rows, tick, knowledge=knowledge, fold=fold, goes_on=goes_on
    )
    return Folded(outcome, decoding.seen())
