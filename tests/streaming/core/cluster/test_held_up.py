"""What a rebalance held up, by the lag in the samples around it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.held_up import (
    CLOSE_MS,
    EMPTY,
    FELL_BEHIND,
    LONG,
    LONGEST_MS,
    NONE_BEFORE,
    NONE_BEHIND,
    OTHER_PARTITIONS,
    OpenRebalance,
    followed,
    looked_at,
)
from rebalance_monitor.streaming.core.cluster.lag_trend import Total
from rebalance_monitor.streaming.core.model.results import HeldUp, Source

EVERY_MS = 30_000
BEGAN_MS, ENDED_MS = 6 * EVERY_MS + 12_000, 6 * EVERY_MS + 20_000
BEFORE = [900, 1_000, 800, 950, 1_000, 800, 900]
"""Lag in the samples before, the last at 6 * EVERY_MS."""
OPEN = OpenRebalance(source=Source("t", 0, 7), generation=4, since_ms=BEGAN_MS, at_ms=ENDED_MS)


def totals(*lags: int, partitions: int = 3, from_ms: int = 0) -> list[Total]:
    return [
        Total(from_ms + at * EVERY_MS, from_ms + at * EVERY_MS + 50, lag, at * 1_000, partitions)
        for at, lag in enumerate(lags)
    ]


def settled(known: OpenRebalance, *lags: int) -> HeldUp:
    told = looked_at(known, totals(*BEFORE, *lags))
    assert isinstance(told, HeldUp)
    return told


def test_lag_above_what_it_was_until_it_is_that_again() -> None:
    told = settled(OPEN, 5_400, 2_100, 950)
    assert (told.before, told.records, told.final, told.why) == (1_000, 4_400, True, None)
    assert (told.since_ms, told.caught_up_ms) == (BEGAN_MS, 9 * EVERY_MS + 50)


def test_while_it_has_not_caught_up_it_is_open() -> None:
    told = looked_at(OPEN, totals(*BEFORE, 5_400, 2_100))
    assert isinstance(told, OpenRebalance)
    assert (told.records, told.held_up().final) == (4_400, False)


def test_a_group_that_lost_nothing_held_up_nothing() -> None:
    assert settled(OPEN, 700).records == 0


def test_what_the_samples_do_not_tell_is_not_known() -> None:
    late = totals(*BEFORE) + totals(5_000, from_ms=ENDED_MS + CLOSE_MS + 1)
    assert looked_at(OPEN, late) == OPEN.unknown(NONE_BEHIND)
    assert looked_at(OPEN, totals(5_000, from_ms=ENDED_MS + 1_000)) == OPEN.unknown(NONE_BEFORE)
    other = totals(*BEFORE) + totals(500, partitions=4, from_ms=7 * EVERY_MS)
    assert looked_at(OPEN, other) == OPEN.unknown(OTHER_PARTITIONS)
    growing = totals(*(1_000 * at for at in range(1, 9)))
    assert looked_at(OPEN, growing) == OPEN.unknown(FELL_BEHIND)
    assert OPEN.unknown(NONE_BEFORE).records is None


def test_of_a_group_that_never_committed_nothing_is_known() -> None:
    """Its sums are 0, of no partitions."""
    none = totals(*[0] * 7, partitions=0)
    assert looked_at(OPEN, none) == OPEN
    assert looked_at(OPEN, totals(*[0] * 9, partitions=0)) == OPEN.unknown(NONE_BEFORE)
    lost = totals(*BEFORE) + totals(0, partitions=0, from_ms=7 * EVERY_MS)
    assert looked_at(OPEN, lost) == OPEN.unknown(OTHER_PARTITIONS)


def test_a_sample_that_the_rebalance_cuts_in_two_does_not_say_what_was_before() -> None:
    during = [Total(BEGAN_MS - 20, BEGAN_MS + 20, 900, 0, 3)]
    assert looked_at(OPEN, during) == OPEN, "it may still become known"
    behind = totals(5_000, from_ms=ENDED_MS + 1_000)
    assert looked_at(OPEN, during + behind) == OPEN.unknown(NONE_BEFORE)


def test_without_a_sample_behind_it_nothing_is_settled() -> None:
    assert isinstance(looked_at(OPEN, totals(*BEFORE)), OpenRebalance)
    assert looked_at(OPEN, []) == OPEN


def test_after_an_hour_other_reasons_count_too() -> None:
    known = looked_at(OPEN, totals(*BEFORE, 5_400))
    assert isinstance(known, OpenRebalance)
    told = looked_at(known, totals(2_000, from_ms=ENDED_MS + LONGEST_MS + 1))
    assert isinstance(told, HeldUp)
    assert (told.records, told.caught_up_ms, told.why) == (4_400, None, LONG)


def test_rebalances_that_no_sample_separates_are_one() -> None:
    later = replace(OPEN, source=Source("t", 0, 9), generation=5, since_ms=ENDED_MS + 3_000, at_ms=ENDED_MS + 4_000)
    both, told = followed(OPEN, later)
    assert told is None
    assert (both.generation, both.rebalances, both.since_ms) == (5, 2, BEGAN_MS)
    assert settled(both, 5_400, 900).records == 4_400


def test_one_that_follows_ends_what_is_known_of_the_one_before() -> None:
    known = looked_at(OPEN, totals(*BEFORE, 5_400))
    assert isinstance(known, OpenRebalance)
    later = replace(OPEN, generation=5, since_ms=8 * EVERY_MS, at_ms=8 * EVERY_MS)
    new, told = followed(known, later)
    assert new == replace(later, before=1_000, most=5_400, partitions=3), "the first one is not caught up with yet"
    assert told is not None
    assert (told.records, told.caught_up_ms, told.final) == (4_400, None, True)
    assert known.held_up(EMPTY, final=True).records == 4_400


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=20), st.data())
def test_samples_one_by_one_or_all_at_once_tell_the_same(lags: list[int], data: st.DataObject) -> None:
    every = totals(*BEFORE, *lags)
    whole = looked_at(OPEN, every)
    known: OpenRebalance | HeldUp = OPEN
    at = 0
    while at < len(every) and isinstance(known, OpenRebalance):
        at = data.draw(st.integers(at + 1, len(every)))
        known = looked_at(known, every[:at])
    assert known == whole
    told = known if isinstance(known, HeldUp) else known.held_up()
    assert told.records is None or told.records >= 0


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=20), st.integers(0, 10_000))
def test_a_lag_that_was_larger_before_holds_up_no_more(lags: list[int], more: int) -> None:
    """One sample more before, with a larger lag: less of what came is above it."""
    one = looked_at(OPEN, totals(*BEFORE, *lags))
    higher = looked_at(OPEN, totals(*BEFORE[:-1], max(*BEFORE, more), *lags))
    told = [known if isinstance(known, HeldUp) else known.held_up() for known in (one, higher)]
    records = [known.records for known in told if known.records is not None]
    assert len(records) < 2 or records[0] >= records[1]


def test_a_second_rebalance_during_the_backlog_of_the_first_has_not_caught_up_with_it() -> None:
    known = looked_at(OPEN, totals(*BEFORE, 29_000))
    assert isinstance(known, OpenRebalance)
    moved_ms = 2 * EVERY_MS
    second = replace(OPEN, generation=5, since_ms=BEGAN_MS + moved_ms, at_ms=ENDED_MS + moved_ms)
    goes_on, first = followed(known, second)
    assert first is not None
    assert (first.records, first.caught_up_ms) == (28_000, None)
    after = looked_at(goes_on, totals(*BEFORE, 29_000, 28_800, 28_500))
    assert isinstance(after, OpenRebalance), "it is far above what it was before the first one"
    told = looked_at(goes_on, totals(*BEFORE, 29_000, 28_800, 28_500, 900))
    assert isinstance(told, HeldUp)
    assert (told.before, told.final) == (1_000, True)


def test_the_last_of_several_says_the_most_that_all_of_them_held_up() -> None:
    """Else a sum, which counts the last one alone, would miss what the first one held up."""
    known = looked_at(OPEN, totals(*BEFORE, 29_000))
    assert isinstance(known, OpenRebalance)
    moved_ms = 2 * EVERY_MS
    goes_on, _ = followed(known, replace(OPEN, since_ms=BEGAN_MS + moved_ms, at_ms=ENDED_MS + moved_ms))
    told = looked_at(goes_on, totals(*BEFORE, 29_000, 5_000, 900))
    assert isinstance(told, HeldUp)
    assert told.records == 28_000
