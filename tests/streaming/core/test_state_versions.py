"""What an earlier release stored is carried on, what cannot be read begins anew with a sentence; states stay small."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.bench.state import folded
from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.assignors.connect.model import Jobs, LeaderMemory
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.leader import packed as packed_hypotheses
from rebalance_monitor.streaming.core.connect.leader.packed import LeaderHypothesis, PackedMinds
from rebalance_monitor.streaming.core.connect.statuses import packed as packed_jobs
from rebalance_monitor.streaming.core.connect.statuses.facts import RUNNING, Claim, End, JobFacts, JobKey, Sighting
from rebalance_monitor.streaming.core.connect.statuses.packed import JobTable
from rebalance_monitor.streaming.core.fold.routing import route
from rebalance_monitor.streaming.core.fold.state import STATE_VERSION, Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.core.stored_states import begun_anew, present, unreadable
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases_across import never_handed_out_after_the_delay
from tests.streaming.core.rules.cases_status import runs_what_another_holds
from tests.streaming.states import connect_of, envelope_of

VECTORS = Path(__file__).parents[2] / "vectors"
ZOMBIE = VECTORS / "captures" / "zombie"


def old_state() -> bytes:
    return gzip.decompress((VECTORS / "states" / "zombie-layout-2.json.gz").read_bytes())


def told(state: Saved | None, *, from_generation: int) -> list[tuple[int, Grade | str, str]]:
    """Verdicts and incidents of the capture's later generations, going on from this state."""
    known = settings_of(ZOMBIE)
    (group,) = known.connect
    rows = [row for record in records_of(ZOMBIE) if (row := decode(record, known)) is not None]
    results = fold_group(known, group, state, route(rows, known)[group], Tick(0)).results
    return [
        (one.generation, one.verdict.grade, one.verdict.era or "")
        if isinstance(one, Generation)
        else (one.opened_generation, one.code, one.transition)
        for one in results
        if isinstance(one, Generation | Incident)
        and (one.generation if isinstance(one, Generation) else one.opened_generation) > from_generation
    ]


def test_the_layout_before_is_carried_on_without_a_break() -> None:
    state = present(2, Saved(old_state()))
    assert state is not None
    assert len(connect_of(state).timeline.jobs) == 15
    after = envelope_of(state).generation
    assert after is not None
    going_on = told(state, from_generation=after)
    assert going_on == told(None, from_generation=after)
    assert {what for _, what, _ in going_on if isinstance(what, Grade)} == {Grade.MATCH}


@pytest.mark.parametrize(
    ("version", "state"),
    [(1, b"{}"), (STATE_VERSION + 1, b"{}"), (2, b"\xff"), (2, b"[]"), (2, b'{"processes":{"a":1}}')],
)
def test_what_cannot_be_read_is_said(version: int, state: bytes) -> None:
    assert present(version, Saved(state)) is None
    assert f"layout {version}" in unreadable(version)


@pytest.mark.parametrize("story", [runs_what_another_holds, never_handed_out_after_the_delay])
def test_incidents_of_a_state_that_cannot_be_read_end_once_with_the_reason(story: Callable[[], Story]) -> None:
    """Be they the group's or its timeline's, told or not; and what still holds is found again."""
    told = story().until(30 * 60_000)
    outcome = fold_group(told.settings, GROUP, None, told.rows, Tick(told.now_ms))
    for now_ms in (told.now_ms + 15_000, told.now_ms + 600_000):
        outcome = fold_group(told.settings, GROUP, outcome.state, [], Tick(now_ms))
    book = envelope_of(outcome.state).book
    left = {one.incident_id for one in (*book.records.open.values(), *book.events.open.values())}
    assert left
    anew = begun_anew(outcome.state)
    assert anew is not None
    first = fold_group(told.settings, GROUP, anew, [], Tick(told.now_ms + 700_000))
    ended = {one.incident_id: one for one in first.results if isinstance(one, Incident)}
    assert left == ended.keys()
    assert all(one.transition == "resolved" and not one.firing for one in ended.values())
    assert all("cannot read what was stored" in one.message for one in ended.values())
    second = fold_group(told.settings, GROUP, first.state, [], Tick(told.now_ms + 800_000))
    assert not second.results


@pytest.mark.parametrize("state", [b"\xff", b"[]", b"{}", b'{"incidents":{"a":{"rule":1}},"timeline":[]}', b"null"])
def test_what_holds_no_readable_incident_begins_anew_like_any(state: bytes) -> None:
    assert begun_anew(Saved(state)) is None


def test_the_present_layout_is_left_as_it_is() -> None:
    assert present(STATE_VERSION, Saved(b"anything")) == Saved(b"anything")


names = st.text(max_size=6) | st.sampled_from(["host:8083", "a b", "%20", "{", "r x", "-", "..", "c", ",", "\ud83d:1"])
numbers = st.integers(-1, 1 << 40)


@st.composite
def facts(draw: st.DrawFn, job: JobKey) -> JobFacts:
    worker = draw(names)
    at_ms, generation, offset = draw(numbers), draw(numbers), draw(numbers)
    shown = Sighting(job, draw(st.sampled_from([RUNNING, "FAILED", None])), worker, generation, at_ms, 3, offset)
    claim = Claim(worker, generation, at_ms, 3, offset)
    return JobFacts(
        holders=draw(st.sampled_from([(), (worker,), (worker, "other")])),
        since=draw(numbers),
        since_ms=draw(numbers),
        expected=draw(st.none() | st.just("elsewhere")),
        shown=draw(st.sampled_from([shown, None])),
        claims=draw(st.sampled_from([(claim,), (), (claim, claim)])),
        ended=draw(st.none() | st.builds(End, names, names, numbers, numbers)),
        told_ms=draw(st.sampled_from([at_ms, 5])),
    )


@given(st.data(), names)
@settings(max_examples=60)
def test_a_jobs_facts_survive_their_line(data: st.DataObject, job: str) -> None:
    known = data.draw(facts(job))
    assert packed_jobs.unpack(job, packed_jobs.pack(job, known)) == known


def test_a_job_that_its_holder_runs_is_one_short_line() -> None:
    shown = Sighting("task c-1", RUNNING, "host:8083", 2, 1_000_100, 0, 12)
    known = JobFacts(
        ("host:8083",), 2, 1_000_000, None, shown, (Claim("host:8083", 2, 1_000_100, 0, 12),), None, 1_000_100
    )
    assert packed_jobs.pack("task c-1", known) == "r host:8083 2 1000000 2 100 0 12"


def test_half_of_a_surrogate_pair_in_a_name_is_kept() -> None:
    """JSON may hold one, and so may the name of a worker in a status: the fold must not end for it."""
    worker = "host\ud83d:8083"
    claim = Claim(worker, 2, 1_000_100, 0, 12)
    shown = Sighting("task c-1", RUNNING, worker, 2, 1_000_100, 0, 12)
    known = JobFacts((worker,), 2, 1_000_000, None, shown, (claim,), End(worker, "\udc00", 1, 9), 1_000_100)
    line = packed_jobs.pack("task c-1", known)
    assert line.isascii()
    assert packed_jobs.unpack("task c-1", line) == known


def test_only_jobs_that_changed_are_written_anew() -> None:
    lines = {"task c-1": "r a 1 0 1 0 0 0", "task c-2": '{"holders":["a"],"expected":"b"}'}
    table = JobTable(lines)
    assert [job for job, _ in table.misplaced()] == ["task c-2"]
    table.put("task c-0", JobFacts())
    table.drop("task c-2")
    assert table.get("task c-9") is None
    assert table.lines() == {"task c-0": "{}", "task c-1": lines["task c-1"]}
    assert list(JobTable(table.lines())) == ["task c-0", "task c-1"]


jobs = st.builds(
    lambda connectors, tasks: Jobs(tuple(sorted(connectors)), tuple(sorted(tasks))),
    st.frozensets(names, max_size=4),
    st.frozensets(st.tuples(names, st.integers(-3, 20)), max_size=30),
)
memories = st.builds(
    LeaderMemory,
    previous=jobs,
    previous_revoked=jobs,
    candidates=st.tuples(names),
    delay_ms=numbers,
    can_revoke=st.booleans(),
)


hypotheses = st.builds(LeaderHypothesis, st.sampled_from(list(ERAS)), memories, st.none() | numbers, numbers)


@given(st.lists(hypotheses, max_size=4))
@settings(max_examples=25)
def test_minds_survive_the_way_to_the_database(some: list[LeaderHypothesis]) -> None:
    short = packed_hypotheses.pack([*some, *some])
    assert packed_hypotheses.unpack(loads(PackedMinds, dumps(short))) == (*some, *some)
    assert len(short.memories) == len({one.memory for one in some})


def test_a_maximum_delay_stored_before_it_had_to_be_shown_excludes_no_other() -> None:
    text = '{"memories":[{}],"minds":[["A5",300000,0],["A4",null,0]]}'
    assert packed_hypotheses.unpack(loads(PackedMinds, text)) == (
        LeaderHypothesis("A5", LeaderMemory(), 300_000),
        LeaderHypothesis("A4", LeaderMemory()),
        LeaderHypothesis("A5", LeaderMemory()),
    )


def test_tasks_in_a_row_are_kept_as_one() -> None:
    assert packed_hypotheses.by_connector(Jobs(("a",), (("a", 0), ("a", 1), ("a", 2), ("a", 9), ("b", 4)))) == {
        "a": "c,0..2,9",
        "b": "4",
    }


def test_a_state_costs_little_per_job() -> None:
    """Bytes, not times: every batch with a record of the group reads and writes all of them."""
    state = folded(10, 100, "steady")
    lines = connect_of(state).timeline.jobs
    assert len(lines) == 110
    assert len(state.lines) < 205 * len(lines)
