"""Whether a group catches up, by its lag in samples."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.lag_trend import Total, Trend, trend_of

EVERY_MS = 30_000


def trends(lags: list[int], written: int = 0, partitions: int = 3) -> list[Trend | None]:
    """After each sample; so much is written between two."""
    totals: list[Total] = []
    found: list[Trend | None] = [None]
    for at, lag in enumerate(lags):
        totals.append(Total(at * EVERY_MS, at * EVERY_MS + 50, lag, at * written, partitions))
        found.append(trend_of(totals, found[-1]))
    return found[1:]


def test_three_samples_are_too_few() -> None:
    assert trends([0, 100, 200]) == [None, None, None]


def test_lag_that_grows_and_falls() -> None:
    assert trends([5_000, 6_100, 7_000, 8_200])[-1] is Trend.FALLING_BEHIND
    assert trends([9_900, 9_000, 8_200, 6_900])[-1] is Trend.CATCHING_UP
    assert trends([5_000, 5_100, 4_900, 5_000])[-1] is Trend.STEADY


def test_what_is_written_between_two_commits_is_no_trend() -> None:
    """A thousand records a second and a commit each five seconds."""
    assert set(trends([0, 4_900, 300, 4_000, 2_500, 4_800], written=30_000)[3:]) == {Trend.STEADY}


def test_a_trend_stays_until_it_is_less_than_half() -> None:
    growing = [10_000, 10_000, 10_000, 10_000, 12_600, 12_600, 12_600, 12_600]
    slower = [*growing, 13_200, 13_600, 14_100, 14_600]
    assert trends(growing)[-1] is Trend.FALLING_BEHIND
    assert trends(slower)[-1] is Trend.FALLING_BEHIND
    assert trends([*slower, *[14_600] * 10])[-1] is Trend.STEADY


def test_a_partition_that_comes_begins_anew() -> None:
    totals = [Total(at * EVERY_MS, at * EVERY_MS + 50, at * 1_000, 0, 3) for at in range(4)]
    assert trend_of(totals, None) is Trend.FALLING_BEHIND
    assert trend_of([*totals, Total(150_000, 150_050, 9_000, 0, 4)], Trend.FALLING_BEHIND) is None


def test_without_a_lag_that_is_known_there_is_no_trend() -> None:
    """A group that never committed: its sum is one of no partitions."""
    assert set(trends([0] * 6, partitions=0)) == {None}


@given(st.lists(st.integers(0, 10_000), min_size=4, max_size=30))
def test_lag_that_never_grows_is_not_falling_behind(lags: list[int]) -> None:
    falling = trends(sorted(lags, reverse=True))
    assert Trend.FALLING_BEHIND not in falling
    assert Trend.CATCHING_UP not in trends(sorted(lags))


@given(st.lists(st.integers(0, 10_000), min_size=4, max_size=30), st.integers(0, 1_000_000))
def test_the_same_samples_give_the_same_trend_at_any_time(lags: list[int], later_ms: int) -> None:
    totals = [Total(at * EVERY_MS, at * EVERY_MS + 50, lag, 0, 3) for at, lag in enumerate(lags)]
    moved = [one._replace(asked_ms=one.asked_ms + later_ms, answered_ms=one.answered_ms + later_ms) for one in totals]
    assert trend_of(totals, None) is trend_of(moved, None)
    assert all(one.answered_ms < other.answered_ms for one, other in pairwise(moved))
