"""The interval of each worker's clock: it holds the truth, and what it makes certain is true."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.clocks.span import QUICK_MS, ClockOffset
from rebalance_monitor.streaming.core.connect.statuses.facts import Sighting
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep
from rebalance_monitor.streaming.core.connect.statuses.worker_clocks import Offsets
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Certainty, Severity, Source
from tests.streaming.core.rules.builders import OFFSETS, STATUSES, Story, incidents
from tests.streaming.core.rules.cases_status import JOB, handed_on, owner_of, owners
from tests.streaming.core.test_clocks import moved

START_MS = 1_800_000_000_000
A, B = "a:8083", "b:8083"


def record(
    generation: int,
    after_ms: int,
    joined: tuple[str, ...] = (),
    jump_ms: int = 0,
    starts: tuple[str, ...] = (A, B),
) -> RecordStep:
    at_ms = START_MS + after_ms
    return RecordStep(
        source=Source("__consumer_offsets", 0, generation),
        incarnation=0,
        generation=generation,
        at_ms=at_ms,
        state_ms=at_ms,
        joined=joined,
        jump_ms=jump_ms,
        started=dict.fromkeys(starts, ("task c-0",)),
    )


def status(
    worker: str, generation: int, after_ms: int, read_after_ms: int | None = None, state: str = "RUNNING"
) -> Sighting:
    read_ms = None if read_after_ms is None else START_MS + read_after_ms
    return Sighting("task c-0", state, worker, generation, START_MS + after_ms, 0, abs(after_ms), read_ms=read_ms)


def told(offsets: Offsets, sighting: Sighting) -> int:
    ((_, told_ms, _),) = offsets.with_times([sighting])
    return told_ms - START_MS


def test_the_example() -> None:
    started, given, failed = status(A, 5, 200), status(B, 7, 59_900), status(A, 5, 63_000)
    later = status(A, 5, 69_000)
    steps = [record(5, 0, (A, B)), record(7, 60_000)]
    offsets = Offsets({}, (), 0, (), [started, given, failed, later], steps)
    assert (told(offsets, started), told(offsets, given)) == (200, 60_000)
    b_started_ms = offsets.latest_ms(given)
    assert b_started_ms == START_MS + 65_000
    assert [(offsets.earliest_ms(one) or 0) > b_started_ms for one in (failed, later)] == [False, True]


def test_where_nothing_speaks_against_a_clock_all_times_stay() -> None:
    late = status(A, 5, 40_000)
    offsets = Offsets({}, (), 0, (), [late], [record(5, 0, (A,))])
    assert told(offsets, late) == 40_000


def test_a_worker_nobody_knows_makes_nothing_certain() -> None:
    word = status(A, 5, 0)
    offsets = Offsets({}, (), 0, (), [word], [])
    assert (offsets.earliest_ms(word), offsets.latest_ms(word)) == (None, None)


@given(
    apart_ms=st.integers(-4_000_000, 4_000_000),
    latencies=st.lists(st.integers(1, QUICK_MS), min_size=1, max_size=6),
    live=st.booleans(),
)
def test_the_interval_holds_the_truth(apart_ms: int, latencies: list[int], live: bool) -> None:
    steps = [record(number, number * 30_000, (A,) if number == 0 else ()) for number in range(len(latencies))]
    true = [number * 30_000 + latency for number, latency in enumerate(latencies)]
    words = [status(A, number, at + apart_ms, at + 300 if live else None) for number, at in enumerate(true)]
    offsets = Offsets({}, (), 0, (), words, steps)
    for word, at in zip(words, true, strict=True):
        ((_, told_ms, _),) = offsets.with_times([word])
        earliest_ms, latest_ms = offsets.earliest_ms(word), offsets.latest_ms(word)
        assert earliest_ms is not None
        assert earliest_ms <= START_MS + at
        assert latest_ms is None or START_MS + at <= latest_ms
        assert latest_ms is not None or word is words[0]
        assert told_ms >= steps[word.generation].at_ms


@given(late_ms=st.integers(QUICK_MS + 1, 4_000_000), state=st.sampled_from(["UNASSIGNED", "RUNNING"]))
def test_a_worker_that_is_given_nothing_is_in_no_hurry(late_ms: int, state: str) -> None:
    steps = [record(5, 0, (A, B), starts=(B,)), record(6, late_ms + 60_000, starts=())]
    words = [status(B, 5, 20), status(A, 5, late_ms, state=state), status(A, 6, 2 * late_ms + 60_000, state=state)]
    offsets = Offsets({}, (), 0, (), words, steps)
    assert [offsets.latest_ms(one) for one in words[1:]] == [None, None]
    assert [told(offsets, one) for one in words[1:]] == [late_ms, 2 * late_ms + 60_000]


def test_one_late_start_is_a_slow_start_or_a_clock_ahead() -> None:
    steps, words = [record(5, 0, (A,)), record(6, 100_000)], [status(A, 5, 60_000), status(A, 6, 160_300)]
    once = Offsets({}, (), 0, (), words[:1], steps)
    assert once.latest_ms(words[0]) is None
    twice = Offsets(once.known, once.recorded(), 0, (A,), words[1:], steps[1:])
    assert twice.latest_ms(words[1]) == START_MS + 160_300 - 60_000 + QUICK_MS
    slow = status(A, 5, 60_000, read_after_ms=60_400)
    assert Offsets({}, (), 0, (), [slow], steps).latest_ms(slow) is None  # read a minute late: not known


def test_the_start_that_a_record_asked_for_may_come_in_a_later_batch() -> None:
    starts = {(A, "task c-0"): 5}
    word = status(A, 5, 200)
    known = Offsets({}, ((5, START_MS),), 0, (A,), [word], [], lambda worker, job: starts.get((worker, job)))
    assert known.latest_ms(word) == START_MS + 200 - 200 + QUICK_MS
    assert Offsets({}, ((5, START_MS),), 0, (A,), [word], []).latest_ms(word) is None


def test_it_goes_on_from_batch_to_batch() -> None:
    steps = [record(5, 0, (A,)), record(6, 30_000)]
    first = Offsets({}, (), 0, (), [status(A, 5, 600_100)], steps[:1])
    second = Offsets(first.known, first.recorded(), 0, (A,), [status(A, 6, 630_050)], steps[1:])
    assert second.known[A].high_ms == 600_050
    late = status(A, 6, 640_000)
    third = Offsets(second.known, second.recorded(), 0, (A,), [late], [])
    assert second.known[A] == third.known[A]
    last = status(B, 6, 900_000)
    fourth = Offsets({**third.known, B: ClockOffset(None, 70, 3)}, third.recorded(), 0, (A, B), [last], [])
    assert fourth.earliest_ms(last) == START_MS + 900_000 - 70  # others have told of this generation before
    assert third.earliest_ms(late) == START_MS + 640_000 - 600_050


def test_a_clock_that_is_set_begins_anew() -> None:
    known = {A: ClockOffset(-5, 100, 5)}
    offsets = Offsets(known, ((5, START_MS),), 0, (A,), [status(A, 6, -3_600_000 + 30_020)], [record(6, 30_000)])
    assert offsets.known[A].high_ms == -3_599_980


def test_another_coordinator_makes_all_begin_anew() -> None:
    known = {A: ClockOffset(-5, 100, 5), B: ClockOffset(-5, 100, 5)}
    offsets = Offsets(known, (), 0, (A, B), [status(A, 6, 3_600_000)], [record(6, 0, jump_ms=-3_600_000)])
    assert offsets.known == {A: ClockOffset(None, 3_600_000, 6, start_ms=3_600_000)}


def test_where_nobody_is_quick_the_record_may_be_wrong() -> None:
    known = {A: ClockOffset(None, 100, 5), B: ClockOffset(None, 100, 5)}
    late, step = [status(A, 6, 90_000), status(B, 6, 90_100)], record(6, 0)
    offsets = Offsets(known, (), 0, (A, B), late, [step])
    assert [offsets.given_ms(step, worker) for worker in (A, B)] == [START_MS + 90_000, START_MS + 90_100]
    offsets = Offsets(known, (), 0, (A, B), [late[0], status(B, 6, 50)], [step])
    assert offsets.given_ms(step, A) == START_MS + 100


# -- one worker's clock, in a story ------------------------------------------------------------------------------------


def given_back() -> Story:
    """The first owner was killed without a word; restarted, it is given its job back when the second one is gone."""
    story, first, second = handed_on()
    story.wait(1_000)
    story.leave(second)
    story.join(first)
    story.rebalance()
    assert owner_of(story, JOB) == first
    story.wait(20)
    story.status(JOB, "RUNNING", first)
    return story.until(1_000)


def off(story: Story, worker: str, ms: int) -> Story:
    story.rows = [
        _off(row, ms) if row.topic == STATUSES and f"{worker}:8083" in repr(row.body) else row for row in story.rows
    ]
    return story


def _off(row: Row, ms: int) -> Row:
    return replace(row, timestamp_ms=row.timestamp_ms + ms)


@pytest.mark.parametrize("ms", [0, -160, 160, -3_000, 3_000, -300_000, 300_000, -3_600_000, 3_600_000])
@pytest.mark.parametrize("worker", ["w1", "w2"])
def test_a_job_given_back_to_a_restarted_worker_is_no_second_run(worker: str, ms: int) -> None:
    found = incidents(off(given_back(), worker, ms).fold(), "CONNECT-K2")
    assert {one.severity for one in found} <= {Severity.INFO}


def stopped_minutes_later() -> Story:
    """The monitor begins with a record that gives nobody anything. Minutes later the next one stops what runs."""
    story = Story(max_delay_ms=0)
    story.configure("c1", 4)
    story.join("w1")
    story.rebalance()
    story.wait(200)
    for name in ("c1", "c1-0", "c1-1", "c1-2", "c1-3"):
        story.status(name, "RUNNING", "w1")
    story.wait(60_000)
    story.rows = [row for row in story.rows if row.topic != OFFSETS]
    story.rebalance()
    story.wait(390_000)
    story.join("w2")
    story.rebalance()
    revoked = [name for name in ("c1", "c1-0", "c1-1", "c1-2", "c1-3") if name not in story.workers["w1"].holds()]
    for name in revoked:
        story.wait(100)
        story.status(name, "UNASSIGNED", "w1", generation=2)
    story.rebalance()
    story.wait(100)
    for name in revoked:
        story.status(name, "RUNNING", "w2")
    return story.until(100_000)


def test_a_first_stop_that_comes_late_makes_no_job_idle() -> None:
    assert not incidents(stopped_minutes_later().fold(), "CONNECT-K4")
    assert not incidents(stopped_minutes_later().replayed(), "CONNECT-K4")


def runs_on() -> Story:
    """Both workers start what they are given twice, so their clocks are known."""
    story = owners()
    first = owner_of(story, JOB)
    for worker in list(story.workers.values()):
        for name in sorted(worker.holds()):
            story.status(name, "RUNNING", worker.name)
    story.wait(2_000)
    story.leave(first)
    story.rebalance(after_ms=10_000)
    story.wait(200)
    story.status(JOB, "RUNNING", owner_of(story, JOB))
    story.wait(6_000)
    story.status(JOB, "RUNNING", first, generation=1)
    return story.until(1_000)


@pytest.mark.parametrize("ms", [0, -160, 160, -3_000, 3_000, -300_000, 300_000, -3_600_000, 3_600_000])
@pytest.mark.parametrize("worker", ["w1", "w2"])
def test_a_second_run_is_found_whatever_the_clock(worker: str, ms: int) -> None:
    found = incidents(off(runs_on(), worker, ms).fold(), "CONNECT-K2")
    assert Certainty.CERTAIN in {one.certainty for one in found}


@pytest.mark.parametrize("story", [given_back, runs_on])
def test_nor_does_the_coordinators_matter(story: Callable[[], Story]) -> None:
    right = {one.certainty for one in incidents(story().fold(), "CONNECT-K2")}
    for ms in (-3_600_000, -160, 160, 3_600_000):
        wrong = story()
        wrong.rows = [moved(row, ms) for row in wrong.rows]
        assert {one.certainty for one in incidents(wrong.fold(), "CONNECT-K2")} == right
