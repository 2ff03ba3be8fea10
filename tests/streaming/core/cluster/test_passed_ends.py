"""Lag in seconds from samples of end offsets, and its laws."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.passed_ends import (
    CAUGHT_UP,
    HORIZON_MS,
    MOST_POINTS,
    Behind,
    PassedEnds,
    first_end,
)

EVERY_MS = 30_000
STEPS = st.lists(st.tuples(st.integers(1, 10 * EVERY_MS), st.integers(0, 5_000)), max_size=200)
"""Time and records between two samples."""
MANY = st.integers(0, 3).flatmap(lambda times: STEPS.map(lambda steps: steps * (4**times)))


def sampled(*points: tuple[int, int]) -> PassedEnds:
    (at_ms, end), *others = points
    ends = first_end(at_ms, end)
    for at_ms, end in others:
        ends = ends.after(at_ms, end)
    return ends


def walked(steps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return list(accumulate(steps, lambda one, step: (one[0] + step[0], one[1] + step[1]), initial=(0, 0)))


def test_between_two_samples_the_end_grows_evenly() -> None:
    ends = sampled((0, 100), (30_000, 400), (60_000, 400), (90_000, 500))
    assert ends.behind(250, 90_000) == Behind(75_000)
    assert ends.behind(450, 90_000) == Behind(15_000)
    assert ends.behind(500, 90_000) == CAUGHT_UP
    assert ends.behind(501, 90_000) == CAUGHT_UP


def test_what_was_written_after_a_pause_is_no_older_than_its_end() -> None:
    assert sampled((0, 100), (3_600_000, 100), (3_630_000, 101)).behind(100, 3_630_000) == Behind(30_000)


@given(st.integers(50, 400), st.integers(0, 40))
def test_a_pause_stays_known_when_there_are_too_many_samples(since: int, committed: int) -> None:
    """Nothing is written in a night, then 10 records between two samples: a group that stands since is no older."""
    night_ms = 8 * 3_600_000
    ends = sampled((0, 100), (night_ms, 100), *((night_ms + at * EVERY_MS, 100 + at * 10) for at in range(1, since)))
    now_ms, stands_ms = ends.at_ms[-1], (since - 1 - committed / 10) * EVERY_MS
    behind = ends.behind(100 + committed, now_ms)
    assert not behind.at_least
    assert stands_ms - 1 <= behind.ms <= 1.5 * stands_ms + EVERY_MS


def test_before_the_oldest_sample_it_is_at_least() -> None:
    assert sampled((1_000, 100), (31_000, 400)).behind(99, 61_000) == Behind(60_000, at_least=True)
    assert first_end(1_000, 100).behind(50, 1_000) == Behind(0, at_least=True)


def test_an_end_that_fell_begins_anew() -> None:
    assert sampled((0, 100), (30_000, 40)) == first_end(30_000, 40)


def test_a_sample_that_is_not_newer_changes_nothing() -> None:
    ends = sampled((0, 100), (30_000, 400))
    assert ends.after(30_000, 400) is ends
    assert ends.after(0, 100) is ends


@given(MANY)
def test_few_samples_stay_the_newest_among_them_for_a_day_at_most(steps: list[tuple[int, int]]) -> None:
    points = walked(steps)
    ends = sampled(*points)
    assert len(ends.at_ms) == len(ends.ends) <= MOST_POINTS
    assert (ends.at_ms[-1], ends.ends[-1]) == points[-1]
    assert set(zip(ends.at_ms, ends.ends, strict=True)) <= set(points)
    if points[-1][0] <= HORIZON_MS:
        assert ends.at_ms[0] == 0, "the oldest sample stays"


@given(STEPS, st.integers(0, 600_000), st.integers(0, 600_000), st.integers(0, EVERY_MS))
def test_who_has_committed_more_is_less_behind_and_nobody_negatively(
    steps: list[tuple[int, int]], one: int, other: int, later_ms: int
) -> None:
    ends = sampled(*walked(steps))
    now_ms = ends.at_ms[-1] + later_ms
    less, more = ends.behind(min(one, other), now_ms), ends.behind(max(one, other), now_ms)
    assert less.ms >= more.ms >= 0
    assert less.at_least or not more.at_least


@given(MANY, st.data())
def test_the_end_passed_the_offset_between_the_samples_around_it(
    steps: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Whatever samples were left out: those that stay bound the answer."""
    points = walked(steps)
    ends = sampled(*points)
    committed, now_ms = data.draw(st.integers(0, points[-1][1])), points[-1][0]
    behind = ends.behind(committed, now_ms)
    if committed == points[-1][1]:
        assert behind == CAUGHT_UP
        return
    kept = list(zip(ends.at_ms, ends.ends, strict=True))
    before_ms = max(at_ms for at_ms, end in kept if end <= committed)
    after_ms = min(at_ms for at_ms, end in kept if end > committed)
    assert now_ms - after_ms <= behind.ms <= now_ms - before_ms


def test_a_partition_that_is_written_evenly_is_exact_after_hours() -> None:
    ends = sampled(*((at * EVERY_MS, at * 3_000) for at in range(2_000)))
    now_ms = ends.at_ms[-1]
    assert len(ends.at_ms) <= MOST_POINTS
    for behind_ms in (1_000, 45_000, 600_000, 7_200_000, 50_000_000):
        committed = (now_ms - behind_ms) // 10
        assert ends.behind(committed, now_ms) == Behind(behind_ms)
