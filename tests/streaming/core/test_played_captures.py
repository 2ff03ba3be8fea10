"""Captures played to a live job in whatever batches, as they were dated, late, faster, or all at once, and with the job
killed in between: what is found is what `replay` says, and people are notified of it."""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.connect.whole_inputs import Stamps, Witnesses
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.incidents import grouping
from rebalance_monitor.streaming.core.incidents.notifying import NotifiedIncident, notifications
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.records import OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import Aftermath, AlertSeverity, Generation, Incident, Part, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.decoding import wanted_key_prefix
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, decode, parts_of, replay, with_findings
from rebalance_monitor.streaming.store.contents import outbox_rows
from tests.profile import size
from tests.vector_files import VECTORS

CONNECT = sorted((VECTORS / "captures").glob("*/records.jsonl.gz"))
GROUPS = sorted((VECTORS / "captures-groups").glob("*/records.jsonl.gz"))
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Capture:
    """`incidents` and `generations` are what `replay` says; generations by partition and offset. `ends_ms`: when its
    clock ends, by group."""

    settings: ClusterSettings
    knowledge: Knowledge
    rows: dict[str, list[Row]]
    ends_ms: dict[str, int]
    incidents: dict[str, dict[str, Any]]
    generations: dict[tuple[int, int], tuple[Any, ...]]


@dataclass
class Job:
    """The fold as the job calls it, and what its store would write; for one group."""

    capture: Capture
    group: str
    state: Saved | None = None
    due_ms: int | None = None
    results: list[Result] = field(default_factory=list)
    known: Mapping[str, NotifiedIncident] = field(default_factory=dict)
    documents: dict[str, Incident] = field(default_factory=dict)
    followed: set[str] = field(default_factory=set)
    outbox: list[tuple[str, str]] = field(default_factory=list)  # incident id and transition
    heard: dict[str, int] = field(default_factory=dict)

    def fold(self, rows: Sequence[Row], now_ms: int, *, ends: bool = False) -> FoldOutcome:
        """One batch without its commit."""
        known = self.capture.knowledge
        tick = Tick(now_ms)
        return fold_group(self.capture.settings, self.group, self.state, rows, tick, knowledge=known, end_of_input=ends)

    def batch(self, rows: Sequence[Row], now_ms: int, *, ends: bool = False) -> None:
        """One batch and its commit."""
        outcome = self.fold(rows, now_ms, ends=ends)
        self.state, self.due_ms = outcome.state, outcome.due_ms
        self.results += outcome.results
        transitions = [one for one in outcome.results if isinstance(one, Incident)]
        told = notifications(self.known, [one for one in transitions if not one.historic])
        before = {name: as_object(one) for name, one in self.documents.items()}
        written = outbox_rows(told.told, before, 0, heard=self.heard)
        self.outbox += [(row[1], row[2]) for row in written]
        self.heard.update({row[1]: json.loads(row[3])["times_notified"] for row in written})
        self.known = told.known
        self.followed |= {name for name, one in {**told.known, **told.followed}.items() if one.led_by}
        self.documents.update({one.incident_id: one for one in transitions})

    def rows_of_incidents(self) -> dict[str, dict[str, Any]]:
        """Documents as their rows are at the end."""
        parts = parts_of(one for one in self.results if isinstance(one, Part))
        found = {}
        for name, one in self.documents.items():
            over = one.resolved_at_ms is not None and name in parts
            shown = grouping.whole(one, parts[name]) if over else one
            found[name] = as_object(with_findings(shown, parts.get(name, ())))
        return found

    def generations(self) -> dict[tuple[int, int], tuple[Any, ...]]:
        found: dict[tuple[int, int], Generation] = {}
        for one in self.results:
            if isinstance(one, Generation):
                found[one.source.partition, one.source.offset] = one
            elif isinstance(one, Aftermath):
                place = one.source.partition, one.source.offset
                found[place] = one.completed(found[place])
        return {place: _said(as_object(one)) for place, one in found.items()}


def _said(generation: Mapping[str, Any]) -> tuple[Any, ...]:
    """Verdict and causes of a published generation."""
    return generation["verdict"]["grade"], [
        (one["kind"], one["certainty"], one["subjects"]) for one in generation["cause"]
    ]


_READ: dict[Path, Capture] = {}


def stamps_of(records: Sequence[RawRecord], known: ClusterSettings) -> Stamps:
    """The clocks that all records of a capture carry."""
    stamps = Stamps()
    for one in records:
        row = decode(one, known)
        if one.topic == OFFSETS_TOPIC:
            place = (one.topic, one.partition, one.offset, one.timestamp_ms)
            stamps.logged(*place, exact=wanted_key_prefix(one.key))
        if row is not None and not (isinstance(row.body, OtherGroup) and row.body.record is None):
            stamps.written(row)
        if one.append_time:
            stamps.appended.add(one.topic)
    return stamps


def capture(path: Path) -> Capture:
    if path not in _READ:
        folder = path.parent
        known, knowledge, records = settings_of(folder), knowledge_of(folder), list(records_of(folder))
        objects = replay(records, known, knowledge=knowledge).objects
        rows = [
            row
            for record in records
            if (row := decode(record, known)) is not None
            and not (isinstance(row.body, OtherGroup) and row.body.record is None)
        ]
        groups, stamps = route(rows, known), stamps_of(records, known)
        _READ[path] = Capture(
            known,
            knowledge,
            groups,
            {group: Witnesses.of(stamps, own).end_ms() for group, own in groups.items()},
            {one["incident_id"]: one for one in objects if one["kind"] == "violation"},
            {
                (one["source"]["partition"], one["source"]["offset"]): _said(one)
                for one in objects
                if one["kind"] == "generation"
            },
        )
    return _READ[path]


Arrival = Callable[[int], int]


def arrivals(rows: Sequence[Row], arrival: Arrival) -> list[tuple[int, Row]]:
    """When each row comes, in order: inside a partition none comes before its predecessor."""
    reached: dict[tuple[str, int], int] = {}
    found = []
    for row in sorted(rows, key=lambda one: (one.topic, one.partition, one.offset)):
        place = (row.topic, row.partition)
        reached[place] = max(reached.get(place, 0), arrival(row.timestamp_ms))
        found.append((reached[place], row))
    return sorted(found, key=lambda one: (one[0], one[1].topic, one[1].partition, one[1].offset))


def played(of: Capture, group: str, arrival: Arrival, pauses_ms: Iterator[int], killed_at: float = 1.0) -> Job:
    """The rows in batches with a tick each, the next one after a pause; and timers when they are due. `killed_at`:
    after this share of the rows the job ends, and what it has not committed comes again with what came meanwhile."""
    coming = arrivals(of.rows[group], arrival)
    times_ms, rows = [at_ms for at_ms, _ in coming], [row for _, row in coming]
    job, at, now_ms, lived = Job(of, group), 0, times_ms[0], True
    while at < len(rows):
        now_ms += next(pauses_ms)
        some = rows[at : bisect_left(times_ms, now_ms, at)]
        if lived and at + len(some) > len(rows) * killed_at:
            job.fold(some, now_ms)  # and not committed
            now_ms, lived = now_ms + 20_000, False
            some = rows[at : bisect_left(times_ms, now_ms, at)]
        if some or (job.due_ms is not None and job.due_ms <= now_ms):
            job.batch(some, now_ms)
        at += len(some)
    job.batch([], of.ends_ms[group], ends=True)
    return job


def same_as_replay(of: Capture, jobs: Sequence[Job]) -> None:
    """Rows, parts, severities and times of incidents; verdicts and causes of generations."""
    assert {name: one for job in jobs for name, one in job.rows_of_incidents().items()} == of.incidents
    assert {place: one for job in jobs for place, one in job.generations().items()} == of.generations


def received(job: Job) -> None:
    """Each incident that fired: it is in the outbox, its end too, in this order; or its row says whose it is."""
    for name, one in job.documents.items():
        if one.historic or one.fired_at_ms is None or one.alert is AlertSeverity.INFO or name in job.followed:
            continue
        told = [transition for incident, transition in job.outbox if incident == name]
        assert told[:1] == ["fired"], (one.rule, told)
        assert one.firing or told[-1] in ("resolved", "ended"), (one.rule, told)


def every(pause_ms: int) -> Iterator[int]:
    while True:
        yield pause_ms


def ways(rows: Sequence[Row]) -> dict[str, Arrival]:
    times = [row.timestamp_ms for row in rows if row.timestamp_ms > 0]
    first_ms, last_ms = min(times), max(times)
    return {
        "as dated": lambda at_ms: at_ms + 300,
        "an hour late": lambda at_ms: at_ms + 3_600_000,
        "three times as fast": lambda at_ms: last_ms + (at_ms - first_ms) // 3,
        "three times as fast, a month late": lambda at_ms: last_ms + 30 * DAY_MS + (at_ms - first_ms) // 3,
        "at once": lambda at_ms: last_ms + 60_000,
        "at once, a month late": lambda at_ms: last_ms + 30 * DAY_MS,
    }


WAYS = (
    "as dated",
    "an hour late",
    "three times as fast",
    "three times as fast, a month late",
    "at once",
    "at once, a month late",
)


def names(path: Path) -> str:
    return path.parent.name


@pytest.mark.parametrize("path", CONNECT, ids=names)
def test_a_connect_cluster_played_in_any_way_and_cut_is_what_replay_says(path: Path) -> None:
    of = capture(path)
    at = CONNECT.index(path) % len(WAYS)  # the first way that is tried, of each capture another one

    @settings(max_examples=size(2, 40))
    @given(st.sampled_from((*WAYS[at:], *WAYS[:at])), st.lists(st.integers(100, 9_000), min_size=1, max_size=5))
    def check(way: str, pauses: list[int]) -> None:
        jobs = []
        for group, rows in of.rows.items():
            steps = (pause for _ in every(0) for pause in pauses)
            jobs.append(played(of, group, ways(rows)[way], steps))
        same_as_replay(of, jobs)
        for job in jobs:
            received(job)

    check()


@pytest.mark.parametrize("path", CONNECT, ids=names)
@pytest.mark.parametrize("way", ["as dated", "three times as fast"])
def test_a_job_that_is_killed_goes_on_where_it_was(path: Path, way: str) -> None:
    of = capture(path)
    for killed_at in size((0.5,), (0.3, 0.5, 0.7)):
        jobs = [played(of, group, ways(rows)[way], every(1_000), killed_at) for group, rows in of.rows.items()]
        same_as_replay(of, jobs)
        for job in jobs:
            received(job)


@pytest.mark.parametrize("path", GROUPS, ids=names)
def test_other_groups_played_faster_and_late_are_what_replay_says(path: Path) -> None:
    of = capture(path)
    way = "three times as fast, a month late"
    jobs = [played(of, group, ways(rows)[way], every(2_000)) for group, rows in of.rows.items()]
    same_as_replay(of, jobs)
    for job in jobs:
        received(job)
