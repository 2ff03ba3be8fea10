"""A capture as a running job reads it: one record at a time, each with the monitor's clock, timers in between.

Config records arrive LATE_MS after they were written, so that group records wait for them. `made.py` cuts such a run
in the middle and keeps the state; the tests go on from there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.records import ConfigChange
from rebalance_monitor.streaming.core.fold.routing import route
from rebalance_monitor.streaming.core.fold.state import Envelope, Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Incident, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode
from tests.streaming.states import envelope_of

VECTORS = Path(__file__).parents[2] / "vectors"
LATE_MS = 3_000
READ_MS = 20
"""From a record's time until it is folded."""
LONG_MS = 3_600_000
"""How long the clock goes on after the last record."""


def arrives_ms(row: Row) -> int:
    """When the job has the record."""
    return row.timestamp_ms + READ_MS + (LATE_MS if isinstance(row.body, ConfigChange) else 0)


def story(capture: str) -> tuple[ClusterSettings, str, tuple[Row, ...]]:
    """Settings, the Connect group and its rows in the order of their arrival."""
    known = settings_of(VECTORS / "captures" / capture)
    (group,) = known.connect
    rows = [row for record in records_of(VECTORS / "captures" / capture) if (row := decode(record, known)) is not None]
    own = [row for row in route(rows, known)[group] if row.timestamp_ms > 0]
    own.sort(key=lambda row: (arrives_ms(row), row.topic, row.partition, row.offset))
    return known, group, tuple(own)


@dataclass(slots=True)
class Live:
    """A group's fold over time."""

    settings: ClusterSettings
    group: str
    state: Saved | None = None
    due_ms: int | None = None
    now_ms: int = 0
    results: list[Result] = field(default_factory=list)

    def go_on(self, rows: Sequence[Row]) -> "Live":
        """Folds the rows as they arrive."""
        for row in rows:
            self.until(arrives_ms(row))
            self._fold([row])
        return self

    def until(self, now_ms: int) -> "Live":
        """Lets the timers fire that are due before this time."""
        while self.due_ms is not None and self.now_ms < self.due_ms < now_ms:
            before, self.now_ms = self.state, self.due_ms
            self._fold([])
            if self.state == before:
                break
        self.now_ms = max(self.now_ms, now_ms)
        return self

    def _fold(self, rows: Sequence[Row]) -> None:
        outcome = fold_group(self.settings, self.group, self.state, rows, Tick(self.now_ms))
        self.state, self.due_ms = outcome.state, outcome.due_ms
        self.results += outcome.results

    @property
    def value(self) -> Envelope:
        """The stored state read back."""
        assert self.state is not None
        return envelope_of(self.state)


def held(state: Envelope) -> list[Incident]:
    """Every incident that is not over for people: open ones, and those whose end is still to be told."""
    return list(state.book.all())


def transitions(results: Iterable[Result]) -> list[tuple[str, str, str]]:
    """(incident id, code, transition) of each incident's steps, in order."""
    return [(one.incident_id, one.code, one.transition) for one in results if isinstance(one, Incident)]


def final_grades(results: Iterable[Result]) -> dict[tuple[int, int], str]:
    """The grade of each generation by (partition, offset) of its record, without those still pending."""
    return {
        (one.source.partition, one.source.offset): one.verdict.grade.value
        for one in results
        if isinstance(one, Generation) and one.verdict.pending_until_ms is None
    }
