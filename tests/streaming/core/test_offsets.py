"""The interval of each worker's clock: it holds the truth, and what it makes certain is true."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.core.connect.statuses.facts import Sighting
from streaming.core.connect.statuses.round_change import Step
from streaming.core.connect.statuses.worker_clocks import QUICK_MS, Offset, Offsets
from streaming.core.model.records import Row
from streaming.core.model.results import Certainty, Severity, Source
from tests.streaming.core.rules.builders import STATUSES, Story, incidents
from tests.streaming.core.rules.cases_status import JOB, handed_on, owner_of
from tests.streaming.core.test_clocks import moved

START_MS = 1_800_000_000_000
A, B = "a:8083", "b:8083"


def record(generation: int, after_ms: int, joined: tuple[str, ...] = (), jump_ms: int = 0) -> Step:
    at_ms = START_MS + after_ms
    source = Source("__consumer_offsets", 0, generation)
    return Step(
        source=source, incarnation=0, generation=generation, at_ms=at_ms, state_ms=at_ms, joined=joined, jump_ms=jump_ms
    )


def status(worker: str, generation: int, after_ms: int, read_after_ms: int | None = None) -> Sighting:
    read_ms = None if read_after_ms is None else START_MS + read_after_ms
    return Sighting("task c-0", "RUNNING", worker, generation, START_MS + after_ms, 0, abs(after_ms), read_ms=read_ms)


def told(offsets: Offsets, one: Sighting) -> int:
    return offsets.told_ms(one) - START_MS


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
    one = status(A, 5, 0)
    offsets = Offsets({}, (), 0, (), [one], [])
    assert (offsets.earliest_ms(one), offsets.latest_ms(one)) == (None, None)


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
    for one, at in zip(words, true, strict=True):
        told_ms = offsets.told_ms(one)
        earliest_ms, latest_ms = offsets.earliest_ms(one), offsets.latest_ms(one)
        assert earliest_ms is not None
        assert latest_ms is not None
        assert earliest_ms <= START_MS + at <= latest_ms
        assert told_ms >= steps[one.generation].at_ms


def test_it_goes_on_from_batch_to_batch() -> None:
    steps = [record(5, 0, (A,)), record(6, 30_000)]
    first = Offsets({}, (), 0, (), [status(A, 5, 600_100)], steps[:1])
    second = Offsets(first.known, first.recorded(), 0, (A,), [status(A, 6, 630_050)], steps[1:])
    assert second.known[A].high_ms == 600_050
    late = status(A, 6, 640_000)
    third = Offsets(second.known, second.recorded(), 0, (A,), [late], [])
    assert second.known[A] == third.known[A]
    last = status(B, 6, 900_000)
    fourth = Offsets({**third.known, B: Offset(None, 70, 3)}, third.recorded(), 0, (A, B), [last], [])
    assert fourth.earliest_ms(last) == START_MS + 900_000 - 70  # others have told of this generation before
    assert third.earliest_ms(late) == START_MS + 640_000 - 600_050


def test_a_clock_that_is_set_begins_anew() -> None:
    known = {A: Offset(-5, 100, 5)}
    offsets = Offsets(known, ((5, START_MS),), 0, (A,), [status(A, 6, -3_600_000 + 30_020)], [record(6, 30_000)])
    assert offsets.known[A].high_ms == -3_599_980


def test_another_coordinator_makes_all_begin_anew() -> None:
    known = {A: Offset(-5, 100, 5), B: Offset(-5, 100, 5)}
    offsets = Offsets(known, (), 0, (A, B), [status(A, 6, 3_600_000)], [record(6, 0, jump_ms=-3_600_000)])
    assert offsets.known == {A: Offset(None, 3_600_000, 6)}


def test_where_nobody_is_quick_the_record_may_be_wrong() -> None:
    known = {A: Offset(None, 100, 5), B: Offset(None, 100, 5)}
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


def runs_on() -> Story:
    story, first, _ = handed_on()
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
