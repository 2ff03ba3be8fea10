"""CONNECT-K2: each sign of life that makes a suspicion certain, beside what only looks like it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from rebalance_monitor.streaming.core.connect.observed import job_name
from rebalance_monitor.streaming.core.connect.topics import StatusChange
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Certainty, Incident, Severity
from tests.streaming.core.rules.builders import OFFSETS, REBALANCE_MS, SESSION_MS, STATUSES, Story, incidents
from tests.streaming.core.rules.cases_status import JOB, handed_on, owner_of, owners
from tests.streaming.core.rules.processes import Given

CODE = "CONNECT-K2"


def found(story: Story) -> list[Incident]:
    return incidents(story.fold(), CODE)


def certain(story: Story) -> bool:
    """Whether some transition is certain; all others are info."""
    return any(one.certainty is Certainty.CERTAIN for one in found(story))


# -- it writes about the job after the other has started it ------------------------------------------------------------


def runs(story: Story, first: str) -> None:
    story.wait(6_000)
    story.status(JOB, "RUNNING", first, generation=1)


def fails(story: Story, first: str) -> None:
    story.wait(6_000)
    story.status(JOB, "FAILED", first, generation=1)


def stops_much_later(story: Story, first: str) -> None:
    story.wait(20_000)
    story.status(JOB, "UNASSIGNED", first, generation=1)


def writes_with_a_newer_generation(story: Story, first: str) -> None:
    story.wait(500)
    story.status(JOB, "RUNNING", first, generation=2)


def runs_as_a_write_delayed(story: Story, first: str) -> None:
    story.wait(1_000)
    story.status(JOB, "RUNNING", first, generation=1)


def stops_by_a_clock_ahead(story: Story, first: str) -> None:
    story.wait(4_000)
    story.status(JOB, "UNASSIGNED", first, generation=1)


def is_restarted_under_its_name_and_runs_others(story: Story, first: str) -> None:
    """The process is another one: that it lives says nothing of the job the dead one had."""
    story.join(first)
    story.configure("c2", 2)
    for _ in range(3):
        story.rebalance()
    story.wait(6_000)
    for name in sorted(story.workers[first].holds()):
        story.status(name, "RUNNING", first)


@pytest.mark.parametrize(
    ("what", "sure"),
    [
        (runs, True),
        (fails, True),
        (stops_much_later, True),
        (writes_with_a_newer_generation, True),
        (runs_as_a_write_delayed, False),
        (stops_by_a_clock_ahead, False),
        (is_restarted_under_its_name_and_runs_others, False),
    ],
)
def test_a_status_of_the_former_owner(what: Callable[[Story, str], None], sure: bool) -> None:
    story, first, _ = handed_on()
    what(story, first)
    story.until(1_000)
    assert certain(story) is sure


def test_its_own_stop_before_the_other_starts_leaves_nothing_to_suspect() -> None:
    story = owners()
    first = owner_of(story, JOB)
    story.status(JOB, "RUNNING", first)
    story.join("w3", "w4")
    story.configure("c2", 4)
    for _ in range(3):
        story.rebalance()
    second = next(name for name in story.workers if name != first)
    story.status(JOB, "UNASSIGNED", first)
    story.status(JOB, "RUNNING", second)
    assert not found(story)


@pytest.mark.parametrize(
    ("state", "recorded"),
    [
        *((state, True) for state in ("RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED")),
        *((state, False) for state in ("RUNNING", "PAUSED", "STOPPED")),
    ],
)
def test_who_is_given_the_job_back_does_not_run_it_beside_the_other(state: str, recorded: bool) -> None:
    """The other's statuses are told late, as workers' clocks or the topic's partitions make them."""
    story = owners()
    first = owner_of(story, JOB)
    story.status(JOB, "RUNNING", first)
    story.leave(first)
    story.rebalance(after_ms=10_000)
    second = owner_of(story, JOB)
    story.leave(second)
    story.join(first)
    if recorded:
        story.rebalance(after_ms=10_000)
        assert owner_of(story, JOB) == first
    story.status(JOB, "RUNNING", second, generation=2)
    story.status(JOB, "UNASSIGNED", second, generation=2)
    story.wait(8_000)
    story.status(JOB, state, first, generation=3)
    assert not certain(story.until(1_000))


# -- it is in the current generation with the job in its allocation ----------------------------------------------------


def returned(
    *, with_job: bool, protocol: str = "sessioned", statuses: tuple[str, ...] = ("RUNNING",), away_ms: int = 5_000
) -> Story:
    """The first owner wrote these statuses and was cut off; it comes back after the second one has started the job."""
    story = owners()
    story.protocol = protocol
    if protocol == "default":
        story.rebalance()
    first = owner_of(story, JOB)
    for state in statuses:
        story.status(JOB, state, first)
        story.wait(100)
    gone = story.leave(first)
    story.rebalance(after_ms=10_000)
    story.wait(200)
    story.status(JOB, "RUNNING", owner_of(story, JOB))
    if not with_job:
        gone.held, gone.header = type(gone.held)(), None
    story.back(gone)
    story.rebalance(after_ms=away_ms)
    return story.until(1_000)


def test_a_member_that_reports_the_job_beside_its_holder_runs_it() -> None:
    opened, *_ = found(returned(with_job=True))
    assert opened.certainty is Certainty.POSSIBLE
    assert certain(returned(with_job=True))


@pytest.mark.parametrize("last", ["UNASSIGNED", "FAILED"])
def test_a_member_that_reports_a_job_whose_end_it_wrote_does_not_run_it(last: str) -> None:
    """It stopped the task for its new configuration, and its answer to the sync that starts it again was lost."""
    assert not certain(returned(with_job=True, statuses=("RUNNING", last)))
    assert certain(returned(with_job=True, statuses=("RUNNING", last, "RUNNING")))


def compacted(story: Story, *, first_generation: int) -> Story:
    """The monitor begins with this generation's record, and finds the topics compacted up to it."""
    records = [row for row in story.rows if row.topic == OFFSETS]
    begin = story.rows.index(records[first_generation - 1])
    old = [row for row in story.rows[: begin + 2] if row.topic == STATUSES]
    newest = {_job_of(row): row for row in old}
    gone = {id(row) for row in old if newest[_job_of(row)] is not row}
    gone |= {id(row) for row in records[: first_generation - 1]}
    story.rows = [row for row in story.rows if id(row) not in gone]
    return story


def _job_of(row: Row) -> tuple[str, int | None]:
    assert isinstance(row.body, StatusChange)
    return row.body.record.connector, row.body.record.task


@pytest.mark.parametrize("last", ["RUNNING", "UNASSIGNED", "FAILED"])
def test_what_was_compacted_away_may_have_said_that_the_job_ended(last: str) -> None:
    """The new owner's RUNNING is the last status of the job, so nobody can read what the old one wrote before."""
    told = found(compacted(returned(with_job=True, statuses=("RUNNING", last)), first_generation=2))
    assert {(one.severity, one.certainty) for one in told} == {(Severity.INFO, Certainty.POSSIBLE)}


def test_a_returned_worker_that_writes_about_the_job_runs_it_whatever_was_compacted() -> None:
    story = compacted(returned(with_job=True), first_generation=2)
    story.status(JOB, "UNASSIGNED", list(story.workers)[-1])
    assert certain(story.until(1_000))


@pytest.mark.parametrize(("older_ms", "hidden"), [(60_000, False), (0, True)])
def test_only_what_was_compacted_since_the_worker_joined_hides_its_end(older_ms: int, hidden: bool) -> None:
    """Its time-outs are over when it comes back, so what it wrote counts no more."""
    story = returned(with_job=True, away_ms=SESSION_MS + REBALANCE_MS + 1_000)
    assert certain(story)
    first = next(row for row in story.rows if row.topic == STATUSES)
    behind_hole = replace(first, offset=3, timestamp_ms=first.timestamp_ms - older_ms)
    moved = [replace(row, offset=row.offset + 4) if row.topic == STATUSES else row for row in story.rows]
    story.rows = [behind_hole, *moved]
    assert certain(story) is not hidden


@pytest.mark.parametrize("protocol", ["sessioned", "default"])
def test_a_member_that_is_back_without_the_job_runs_it_no_more(protocol: str) -> None:
    """Eager workers report nothing at all, for they have stopped everything before they join."""
    story = returned(with_job=protocol == "default", protocol=protocol)
    assert not certain(story)
    assert found(story)[-1].resolved_at_ms is not None


# -- it is silent ------------------------------------------------------------------------------------------------------


def test_a_killed_worker_is_a_suspicion_that_ends_with_its_time_outs() -> None:
    patience_ms = SESSION_MS + REBALANCE_MS
    for after_ms, ended in ((patience_ms - 1, False), (patience_ms, True)):
        story, _, _ = handed_on()
        told = found(story.until(after_ms))
        assert {(one.severity, one.certainty, one.alert) for one in told} == {
            (Severity.INFO, Certainty.POSSIBLE, AlertSeverity.INFO)
        }
        assert (told[-1].resolved_at_ms is not None) is ended


def test_a_job_that_is_deleted_runs_nowhere() -> None:
    story, first, _ = handed_on()
    story.status(JOB, None, first)
    told = found(story.until(1_000))
    assert told[-1].resolved_at_ms is not None
    assert not certain(story)


def test_one_name_for_all_workers_is_never_a_second_run() -> None:
    story = owners()
    for _ in range(3):
        story.status(JOB, "RUNNING", "a->b")
        story.rebalance(after_ms=10_000)
    assert not found(story.until(200_000))


# -- what was written before the first record that is there ------------------------------------------------------------


@pytest.mark.parametrize(("generation", "sure"), [(12, False), (3, True)])
def test_who_runs_it_in_a_later_generation_without_a_record_may_have_been_given_it_anew(
    generation: int, sure: bool
) -> None:
    """The group's topic was compacted, the statuses of days are there: a worker that was killed unseen had the job
    before this one. A write of its former generation shows that it ran all the time."""
    story = Story()
    story.configure("c1", 2)
    story.status(JOB, "RUNNING", "w1", generation=3)
    story.wait(15_000)
    story.status(JOB, "RUNNING", "w2", generation=7)
    story.wait(15_000)
    story.status(JOB, "RUNNING", "w1", generation=generation)
    story.wait(5_000)
    story.status(JOB, "UNASSIGNED", "w1", generation=generation)
    story.skip(19)
    story.join("w1", "w2")
    story.rebalance()
    story.status(JOB, "RUNNING", owner_of(story, JOB))
    story.until(1_000)
    assert certain(story) is sure


# -- a fall to the eager protocol --------------------------------------------------------------------------------------


def fell_to_eager(*, restarted: bool = False, stopped: bool = False, unseen: bool = False, early_ms: int = 0) -> Story:
    """Both workers run what they hold; then the group falls to eager, and the job moves to the other worker."""
    story = owners()
    first = owner_of(story, JOB)
    second = next(one for one in story.workers if one != first)
    story.status(JOB, "RUNNING", first)
    story.wait(60_000)
    if stopped:
        story.status(JOB, "UNASSIGNED", first)
    if restarted:
        story.restart(first)
    story.protocol = "default"
    if unseen:
        story.skip(1)
    story.rebalance(moved_to(second), leader=second)
    story.now_ms += 400 - early_ms
    story.status(JOB, "RUNNING", second)
    story.now_ms += early_ms
    return story.until(5_000)


def moved_to(taker: str) -> Callable[[Given], None]:
    """The eager round as it falls out where the job goes to this worker."""

    def change(given: Given) -> None:
        for name, answer in given.items():
            assert isinstance(answer, ConnectAssignment)
            tasks = tuple(one for one in answer.tasks if job_name(one) != JOB)
            given[name] = replace(answer, tasks=(*tasks, ("c1", 0)) if name == taker else tasks)

    return change


@pytest.mark.parametrize("early_ms", [0, 900])
def test_a_fall_to_eager_doubles_what_moves(early_ms: int) -> None:
    told = found(fell_to_eager(early_ms=early_ms))
    worst = max(told, key=lambda one: one.certainty is Certainty.LIKELY)
    assert (worst.severity, worst.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert "probably runs twice" in worst.message
    assert "fell from a cooperative protocol to eager" in worst.message


def test_a_worker_restarted_for_the_fall_to_eager_runs_nothing_from_before() -> None:
    assert {one.certainty for one in found(fell_to_eager(restarted=True))} <= {Certainty.POSSIBLE}


def test_after_a_generation_without_a_record_the_fall_to_eager_proves_nothing() -> None:
    assert {one.certainty for one in found(fell_to_eager(unseen=True))} <= {Certainty.POSSIBLE}


def test_what_was_stopped_before_the_fall_to_eager_runs_once() -> None:
    assert found(fell_to_eager(stopped=True)) == []


def test_the_next_eager_round_ends_what_the_fall_has_doubled() -> None:
    story = fell_to_eager()
    first = next(one for one in story.workers if one != owner_of(story, JOB))
    story.wait(2_000)
    story.status(JOB, "UNASSIGNED", first)
    story.rebalance()
    assert found(story)[-1].resolved_at_ms is not None
