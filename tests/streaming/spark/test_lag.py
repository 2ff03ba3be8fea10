"""Whether the positions are current, against samples at any pace of writing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.spark.lag import MARKS, Lag
from rebalance_monitor.streaming.spark.offsets import Bounds, Offset, Sample, SourcePartition

A, B, NEW = SourcePartition("t", "id", 0), SourcePartition("t", "id", 1), SourcePartition("new", "id", 0)
MAX_LAG_S = 10.0
BATCH_S = 0.1


def sample(ends: dict[SourcePartition, int], *, complete: bool = True) -> Sample:
    return Sample(1, {key: Bounds(0, end, 1) for key, end in ends.items()}, complete)


def offset(at: dict[SourcePartition, int], tick_ms: int = 1) -> Offset:
    return Offset(partitions=at, tick_ms=tick_ms)


@pytest.mark.parametrize("per_s", [0, 20, 100, 500, 2_000, 20_000])
def test_a_reader_that_works_is_current_at_any_pace_and_one_that_stops_is_not_within_the_lag(per_s: int) -> None:
    lag, committed = Lag(MAX_LAG_S), 0
    for step in range(1, 6_001):
        now_s, end = step * BATCH_S, int(step * BATCH_S * per_s)
        # A batch commits what the sample before said, while more is written: something is unread at every moment.
        lag.committed(offset({A: committed}))
        lag.sampled(now_s, sample({A: end}), ("t",))
        committed = end
        assert lag.current(now_s) or (per_s and step == 1)
    stopped_s = now_s
    if not per_s:
        return
    for step in range(1, 200):
        now_s = stopped_s + step * BATCH_S
        lag.sampled(now_s, sample({A: end + step}), ("t",))
        assert lag.current(now_s) or step * BATCH_S > MAX_LAG_S - 2 * BATCH_S
    assert not lag.current(stopped_s + MAX_LAG_S + BATCH_S)


def test_no_sample_any_more_is_a_lag_too_even_where_nothing_is_written() -> None:
    lag = Lag(MAX_LAG_S)
    lag.committed(offset({A: 5}))
    lag.sampled(0.0, sample({A: 5}), ("t",))
    assert lag.current(MAX_LAG_S)
    lag.sampled(5.0, sample({A: 5}, complete=False), ("t",))
    assert not lag.current(MAX_LAG_S + 0.1), "a sample that leaves a partition out shows nothing"


def test_before_the_first_tick_nothing_is_current() -> None:
    lag = Lag(MAX_LAG_S)
    lag.committed(offset({A: 5}, tick_ms=0))
    lag.sampled(0.0, sample({A: 5}), ("t",))
    assert not lag.current(0.0)
    assert lag.behind_s(0.0) is None


def test_a_topic_found_a_moment_ago_is_part_of_all_only_once_it_is_read() -> None:
    lag = Lag(MAX_LAG_S)
    lag.committed(offset({A: 5}))
    lag.sampled(0.0, sample({A: 5}), ("t",))
    assert lag.all_current(0.0)
    lag.sampled(1.0, sample({A: 5, NEW: 7}), ("new", "t"))
    assert lag.current(1.0), "what comes up later has as long as everything else"
    assert not lag.all_current(1.0)
    assert not lag.current(MAX_LAG_S + 0.1)
    lag.committed(offset({A: 5, NEW: 7}))
    assert lag.all_current(1.0)


def test_a_topic_made_anew_is_not_waited_for_in_its_old_life() -> None:
    lag, anew = Lag(MAX_LAG_S), SourcePartition("t", "id-2", 0)
    lag.committed(offset({A: 5}))
    lag.sampled(0.0, sample({A: 9}), ("t",))
    lag.sampled(1.0, sample({anew: 2}), ("t",))
    lag.committed(offset({anew: 2}))
    assert lag.current(10.9)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 40), st.booleans()), max_size=80),
    st.floats(1, 30),
)
def test_current_is_what_the_whole_history_of_samples_says_and_memory_is_bounded(
    steps: list[tuple[int, int, int, bool]], max_lag_s: float
) -> None:
    """Against the definition: some sample of at most the lag ago is reached. Marks are thinned, so a mark's distance
    may be missing from the answer, on the cautious side only."""
    lag, history = Lag(max_lag_s), []
    ends = {A: 0, B: 0}
    at = {A: 0, B: 0}
    now_s = 0.0
    for written_a, written_b, tenths, commits in steps:
        now_s += tenths / 10
        ends = {A: ends[A] + written_a, B: ends[B] + written_b}
        lag.sampled(now_s, sample(ends), ("t",))
        history.append((now_s, ends))
        if commits:
            at = {A: min(ends[A], at[A] + 60), B: min(ends[B], at[B] + 60)}
            lag.committed(offset(at))
        reached = [s for s, one in history if lag._committed.tick_ms and all(at[key] >= one[key] for key in one)]
        truly = bool(reached) and now_s - max(reached) <= max_lag_s
        surely = bool(reached) and now_s - max(reached) <= max_lag_s - max_lag_s / MARKS - 4.0
        assert not (lag.current(now_s) and not truly)
        assert lag.current(now_s) or not surely
        assert len(lag._marks) <= MARKS + 2
