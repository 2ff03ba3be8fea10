"""The monitor in virtual time: a told life through the fold, as `replay` does it and as the live job does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lab.attack.life import Life
from rebalance_monitor.streaming.core.connect.whole_inputs import Stamps
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import (
    AlertSeverity,
    Certainty,
    Generation,
    Grade,
    Incident,
    Part,
    Result,
    Severity,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.decoding import wanted_key_prefix
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, decode, folded

MONITOR = "monitor"
"""Name of the monitor's own clock among the offsets."""
LAG_MS = 80
"""How long after its append a record is read."""
EVERY_MS = 1_000
"""The least time between two batches."""
PAUSE_MS = 1_000
"""A timer that stays due is looked at once per this time (`streaming.spark.batch.TIMER_PAUSE_MS`)."""
REST_MS = 90_000
"""How long the live monitor looks on after the last record."""
SEVERITIES = (Severity.INFO, Severity.LOW, Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL)
CERTAINTIES = (Certainty.POSSIBLE, Certainty.LIKELY, Certainty.CERTAIN)
ALERTS = (AlertSeverity.INFO, AlertSeverity.WARNING, AlertSeverity.CRITICAL)
Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """A finding over its whole life: the loudest it ever was on each scale. `alert` counts only what was told."""

    code: str
    subjects: tuple[str, ...]
    severity: Severity
    certainty: Certainty
    alert: AlertSeverity
    at_ms: int
    generation: int
    message: str

    @property
    def key(self) -> Key:
        return self.code, self.subjects

    @property
    def loud(self) -> bool:
        """Above info on either scale."""
        return self.severity is not Severity.INFO or self.alert is not AlertSeverity.INFO

    def line(self) -> str:
        return (
            f"{self.code} {self.severity}/{self.alert} {self.certainty} {' '.join(self.subjects)}"
            f" (generation {self.generation}): {self.message}"
        )


@dataclass(frozen=True, slots=True)
class Judged:
    """What the monitor says of a told life: incidents, and the last verdict of each generation by offset."""

    found: Mapping[Key, Found]
    grades: Mapping[int, Grade]
    generations: Mapping[int, Generation]

    def loud(self) -> list[Found]:
        """Incidents above info."""
        return [one for one in self.found.values() if one.loud]

    def unexplained(self) -> list[int]:
        """Offsets of the records with that verdict."""
        return [offset for offset, grade in self.grades.items() if grade is Grade.UNEXPLAINED]


def replayed(life: Life, offsets_ms: Mapping[str, int]) -> Judged:
    """As `replay` judges the capture."""
    rows: list[Row] = []
    stamps = Stamps()
    for written in life.records:
        record = written.stamped(offsets_ms)
        if record.topic == OFFSETS_TOPIC:
            place = (record.topic, record.partition, record.offset, record.timestamp_ms)
            stamps.logged(*place, exact=wanted_key_prefix(record.key))
        row = _row(record, life.settings)
        if row is not None:
            rows.append(row)
            stamps.written(row)
    return judged(folded(rows, stamps, life.settings))


def _row(record: RawRecord, settings: ClusterSettings) -> Row | None:
    row = decode(record, settings)
    return None if row is None or isinstance(row.body, OtherGroup) else row


@dataclass(frozen=True, slots=True)
class Downtime:
    """The job does not run from `from_ms` to `to_ms`, in true time."""

    from_ms: int
    to_ms: int


def live(
    life: Life,
    offsets_ms: Mapping[str, int],
    *,
    start_ms: int | None = None,
    end_ms: int | None = None,
    down: Downtime | None = None,
) -> Judged:
    """As the job judges it that reads along: batches of what has come, each with a tick of the monitor's clock.

    `start_ms`: true time of the first batch, which holds all records before it as history; by default the first
    record's. The fold is called as `streaming.spark.batch` calls it.
    """
    ahead_ms = offsets_ms.get(MONITOR, 0)
    rows = [
        (one.true_ms, row) for one in life.records if (row := _row(one.stamped(offsets_ms), life.settings)) is not None
    ]
    now_ms = (life.records[0].true_ms if start_ms is None else start_ms) + LAG_MS
    last_ms = (life.end_ms + REST_MS) if end_ms is None else end_ms
    results: list[Result] = []
    state: Saved | None = None
    historic, taken = True, 0
    while now_ms <= last_ms:
        upto = taken
        while upto < len(rows) and rows[upto][0] <= now_ms - LAG_MS:
            upto += 1
        batch = route([row for _, row in rows[taken:upto]], life.settings).get(life.group, [])
        taken = upto
        outcome = fold_group(life.settings, life.group, state, batch, Tick(int(now_ms) + ahead_ms, historic=historic))
        state, historic = outcome.state, False
        results.extend(outcome.results)
        times = [last_ms + 1]
        if taken < len(rows):
            times.append(max(rows[taken][0] + LAG_MS, now_ms + EVERY_MS))
        if outcome.due_ms is not None:
            times.append(max(outcome.due_ms - ahead_ms, now_ms + PAUSE_MS))
        now_ms = min(times)
        if down is not None and down.from_ms <= now_ms < down.to_ms:
            now_ms = down.to_ms
    return judged(results)


def judged(results: Sequence[Result]) -> Judged:
    """Sum up what came out: each finding over its whole life."""
    found: dict[tuple[str, Key], Found] = {}
    grades: dict[int, Grade] = {}
    generations: dict[int, Generation] = {}
    for result in results:
        if isinstance(result, Part):
            key = result.incident_id, _key(result)
            found[key] = _worse(found.get(key), result)
        elif isinstance(result, Incident) and result.firing:
            for place, part in found.items():
                # A report stays one, whatever else its incident is told for.
                if place[0] == result.incident_id and part.severity is not Severity.INFO:
                    found[place] = replace(part, alert=max(part.alert, result.alert, key=ALERTS.index))
        elif isinstance(result, Generation) and result.members:
            grades[result.source.offset] = result.verdict.grade
            generations[result.source.offset] = result
    by_key: dict[Key, Found] = {}
    for each in found.values():
        before = by_key.get(each.key)
        if before is None or (SEVERITIES.index(each.severity), CERTAINTIES.index(each.certainty)) > (
            SEVERITIES.index(before.severity),
            CERTAINTIES.index(before.certainty),
        ):
            by_key[each.key] = each
    return Judged(by_key, grades, generations)


def _key(part: Part) -> Key:
    return part.code, tuple(f"{subject.type}:{subject.id}" for subject in part.subjects)


def _worse(before: Found | None, part: Part) -> Found:
    code, subjects = _key(part)
    if before is None:
        return Found(
            code=code,
            subjects=subjects,
            severity=part.severity,
            certainty=part.certainty,
            alert=AlertSeverity.INFO,
            at_ms=part.opened_at_ms,
            generation=part.opened_generation,
            message=part.message,
        )
    return replace(
        before,
        severity=max(before.severity, part.severity, key=SEVERITIES.index),
        certainty=max(before.certainty, part.certainty, key=CERTAINTIES.index),
        message=part.message or before.message,
    )
