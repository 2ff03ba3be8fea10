"""What a state packs (facts of connectors and tasks, leaders' hypotheses) is read back as it was, and stays small."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lab.bench.state import folded
from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.assignors.connect.model import Jobs, LeaderMemory
from rebalance_monitor.streaming.core.connect.leader import packed as packed_hypotheses
from rebalance_monitor.streaming.core.connect.leader.packed import LeaderHypothesis, PackedMinds
from rebalance_monitor.streaming.core.connect.statuses import packed as packed_jobs
from rebalance_monitor.streaming.core.connect.statuses.facts import RUNNING, Claim, End, JobFacts, JobKey, Sighting
from rebalance_monitor.streaming.core.connect.statuses.packed import JobTable
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from tests.profile import size
from tests.streaming.states import connect_of

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
@settings(max_examples=size(25, 600))
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
@settings(max_examples=size(10, 250))
def test_minds_survive_the_way_to_the_database(some: list[LeaderHypothesis]) -> None:
    short = packed_hypotheses.pack([*some, *some])
    assert packed_hypotheses.unpack(loads(PackedMinds, dumps(short))) == (*some, *some)
    assert len(short.memories) == len({one.memory for one in some})


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
