"""A group's fold that never raises: an error costs the group its memory and nobody anything else.

The rows come in pieces of bounded size. While all goes well a single piece is one call of the fold, as without this
module. When the fold raises, the piece is folded again in halves, so that all records but the one it fails at are
judged as ever; that one goes the way of `streaming.core.fold.isolation`, and the fold goes on from there.

Nothing here looks at a clock: the same records give the same verdicts, however long they take (a plug-in of the user's
has a time of its own). What one record may take is bounded by counts, where it is searched for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from rebalance_monitor.streaming.core.clocks.others import OtherClocks
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.published import source_of
from rebalance_monitor.streaming.core.fold.state import Envelope, Saved, stored
from rebalance_monitor.streaming.core.lifecycles import FoldGroup, failed, fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Result, Source
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import FoldError, KeptState
from .traces import error_of

FIXED_BYTES = 500
"""About what a row costs beside its members' bytes."""


@dataclass(frozen=True, slots=True)
class FoldLimits:
    """What one call of the fold may be given; `errors` that are looked for record by record, of one group in one
    batch."""

    rows: int = 2_000
    bytes: int = 32 * 1024 * 1024
    errors: int = 5


LIMITS = FoldLimits()


class AnyRow(Protocol):
    """A row, as a value or still as text."""

    @property
    def topic(self) -> str: ...
    @property
    def group(self) -> str | None: ...


T = TypeVar("T", bound=AnyRow)


def fold_isolated(
    settings: ClusterSettings,
    group: str,
    state: Saved | None,
    pieces: Iterable[Sequence[Row]],
    tick: Tick | None,
    *,
    knowledge: Knowledge = NOTHING_KNOWN,
    end_of_input: bool = False,
    witnesses: OtherClocks | None = None,
    fold: FoldGroup = fold_group,
    limits: FoldLimits = LIMITS,
    goes_on: Callable[[], None] = lambda: None,
) -> FoldOutcome:
    """Folds the pieces in order, then the tick. What was raised is in `errors` of the outcome. `goes_on` is called
    before each record."""
    guarded = _Guarded(settings, group, state, tick, fold, witnesses, limits, goes_on, end_of_input, knowledge)
    left = iter(pieces)
    first, second = next(left, ()), next(left, None)
    if second is None:
        try:
            return guarded.attempt(first, tick, last=True)
        except Exception:
            # The same rows once more, in halves: only then is it known which of them it is.
            guarded.piece(first)
    else:
        for rows in (first, second, *left):
            guarded.piece(rows)
    return guarded.outcome()


def pieces_of(rows: Sequence[Row], limits: FoldLimits = LIMITS) -> Iterator[Sequence[Row]]:
    """Rows in pieces within the limits, each partition in its order."""
    ordered = configs_first(sorted(rows, key=lambda one: (one.topic, one.partition, one.offset)))
    for start, end in spans([row_bytes(row) for row in ordered], limits):
        yield ordered[start:end]


def configs_first(rows: Iterable[T]) -> list[T]:
    """The rows with topics of group records behind the others: what a generation refers to comes before it, or it would
    wait from piece to piece, and an error would take it along. Within a topic the order stays."""
    listed = list(rows)
    of_groups = {row.topic for row in listed if row.group is not None}
    return sorted(listed, key=lambda row: row.topic in of_groups)


def spans(sizes: Sequence[int], limits: FoldLimits = LIMITS) -> Iterator[tuple[int, int]]:
    """Pieces as (start, end) over items of these sizes in bytes. One item too large for a piece is a piece."""
    start = total = 0
    for at, size in enumerate(sizes):
        if at > start and (at - start >= limits.rows or total + size > limits.bytes):
            yield start, at
            start, total = at, 0
        total += size
    yield start, len(sizes)


def row_bytes(row: Row) -> int:
    """About what a row takes."""
    if not isinstance(row.body, GroupGeneration):
        return FIXED_BYTES
    return FIXED_BYTES + sum(len(one.subscription_bytes) + len(one.assignment_bytes) for one in row.body.members)


@dataclass(slots=True)
class _Guarded:
    """The state as it goes on, and what has come of it so far."""

    settings: ClusterSettings
    group: str
    state: Saved | None
    tick: Tick | None
    fold: FoldGroup
    witnesses: OtherClocks | None
    limits: FoldLimits
    goes_on: Callable[[], None]
    end_of_input: bool
    knowledge: Knowledge
    due_ms: int | None = None
    results: list[Result] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    errors: list[FoldError] = field(default_factory=list)
    kept: list[KeptState] = field(default_factory=list)
    waits: tuple[int, int] = (0, 0)
    wants_waiting: bool = False
    home: str | None = None
    sample_from_ms: int | None = None
    at: Source | None = None

    def attempt(self, rows: Sequence[Row], tick: Tick | None, *, last: bool = False) -> FoldOutcome:
        self.at = None
        return self.fold(
            self.settings,
            self.group,
            self.state,
            rows,
            tick,
            knowledge=self.knowledge,
            end_of_input=self.end_of_input and last,
            witnesses=self.witnesses,
            before_record=self._comes_to,
        )

    def _comes_to(self, row: Row) -> None:
        self.goes_on()
        self.at = source_of(row)

    def piece(self, rows: Sequence[Row]) -> None:
        """These rows, without what the tick brings up: that comes once, behind the last piece."""
        try:
            self._take(self.attempt(rows, self._quiet))
        except Exception as why:
            error = error_of(why, self.at if self.at is not None or not rows else source_of(rows[0]))
            if len(self.errors) >= self.limits.errors:
                self.isolate(rows, error)
            elif self._state_fails():
                self.piece(rows)
            elif len(rows) > 1:
                rows = configs_first(rows)
                self.piece(rows[: len(rows) // 2])
                self.piece(rows[len(rows) // 2 :])
            elif rows and error.record != source_of(rows[0]):
                # It fails at a record that waited for this one, which is folded by itself then.
                self.isolate((), error)
                self.piece(rows)
            else:
                self.isolate(rows, error)

    def outcome(self) -> FoldOutcome:
        """The tick, and everything together."""
        try:
            self._take(self.attempt((), self.tick, last=True))
        except Exception as why:
            self.isolate((), error_of(why, self.at))
        state = self.state if self.state is not None else stored(Envelope(), {})
        return FoldOutcome(
            state,
            self.due_ms,
            tuple(self.results),
            self.blobs,
            errors=tuple(self.errors),
            kept=tuple(self.kept),
            waits=self.waits,
            wants_waiting=self.wants_waiting,
            home=self.home,
            sample_from_ms=self.sample_from_ms,
        )

    @property
    def _quiet(self) -> Tick | None:
        """A tick concludes that nothing else has come, which is not so between two pieces; not in history, though."""
        return self.tick if self.tick is not None and self.tick.historic else None

    def _state_fails(self) -> bool:
        """Whether the state cannot be gone on from, whatever comes; it is put aside then."""
        try:
            self.attempt((), self._quiet)
        except Exception as why:
            self.isolate((), error_of(why, self.at))
            return True
        return False

    def isolate(self, rows: Sequence[Row], error: FoldError) -> None:
        """These rows, and what waits in the state, are said to be not judged; the group begins anew."""
        # A whole input ends with one tick, which is not the time of what lies in its middle.
        tick = None if self.end_of_input and rows else self.tick
        try:
            self._take(failed(self.settings, self.group, self.state, rows, tick, error))
        except Exception as why:
            # Nothing is left to hold on to but the coordinates of the error itself.
            self.state, self.due_ms = stored(Envelope(), {}), None
            self.waits, self.wants_waiting, self.home = (0, 0), False, None
            self.errors += [error, error_of(why, error.record)]

    def _take(self, outcome: FoldOutcome) -> None:
        self.state, self.due_ms = outcome.state, outcome.due_ms
        self.waits, self.wants_waiting = outcome.waits, outcome.wants_waiting
        self.home, self.sample_from_ms = outcome.home, outcome.sample_from_ms
        self.results += outcome.results
        self.blobs |= outcome.blobs
        self.errors += outcome.errors
        self.kept += outcome.kept
