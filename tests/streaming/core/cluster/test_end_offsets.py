"""Samples of end offsets bound what a topic's partitions ended at between them, and nothing is known of a new topic."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.end_offsets import (
    MOST_END_SAMPLES,
    EndBounds,
    EndSample,
    EndSamples,
    bounds_of,
    with_ends,
)
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata, history_of

SPAN_MS = 60
Moment = tuple[bytes, int]
"""A topic's id and the end offset of its one partition."""


@st.composite
def lives(draw: st.DrawFn) -> list[Moment]:
    """What is true of a topic at each millisecond: it grows, and may be made anew."""
    grown = draw(st.lists(st.integers(0, 3), min_size=SPAN_MS, max_size=SPAN_MS))
    anew = draw(st.sets(st.integers(1, SPAN_MS - 1), max_size=2))
    found: list[Moment] = []
    number, end = 0, draw(st.integers(0, 50))
    for at_ms, more in enumerate(grown):
        if at_ms in anew:
            number, end = number + 1, 0
        end += more
        found.append((bytes([number]) * 16, end))
    return found


def sampled(life: list[Moment], cuts: list[int], picks: Mapping[int, int]) -> list[EndSample]:
    """Samples of one topic id each, with the truth of some moment between question and answer."""
    found = []
    for asked_ms, answered_ms in zip(cuts[::2], cuts[1::2], strict=False):
        at_ms = asked_ms + picks.get(asked_ms, 0) % (answered_ms - asked_ms + 1)
        topic_id, end = life[at_ms]
        if life[asked_ms][0] == topic_id == life[answered_ms][0]:
            found.append(EndSample(asked_ms, answered_ms, topic_id, (end,)))
    return found


@given(
    lives(),
    st.lists(st.integers(0, SPAN_MS - 1), min_size=4, max_size=12, unique=True).map(sorted),
    st.dictionaries(st.integers(0, SPAN_MS), st.integers(0, 50)),
    st.integers(0, SPAN_MS - 1),
    st.integers(0, SPAN_MS - 1),
)
def test_the_truth_lies_within_the_bounds(
    life: list[Moment], cuts: list[int], picks: Mapping[int, int], one_ms: int, other_ms: int
) -> None:
    from_ms, until_ms = sorted((one_ms, other_ms))
    bounds = bounds_of(sampled(life, cuts, picks), from_ms, until_ms)
    if bounds is not None:
        (only,) = bounds
        assert all(only.least <= end <= only.most for _, end in life[from_ms : until_ms + 1])


BEFORE, AFTER = EndSample(0, 1, b"a" * 16, (5, 7)), EndSample(10, 11, b"a" * 16, (5, 9))


def test_a_moment_between_two_samples_is_bounded_by_both() -> None:
    assert bounds_of([BEFORE, AFTER], 1, 10) == (EndBounds(5, 5), EndBounds(7, 9))
    assert EndBounds(5, 5) + EndBounds(7, 9) == EndBounds(12, 14)


def test_what_is_not_between_two_samples_of_one_topic_is_not_known() -> None:
    for samples, from_ms, until_ms in (
        ([BEFORE, AFTER], 0, 10),
        ([BEFORE, AFTER], 1, 11),
        ([BEFORE], 1, 10),
        ([AFTER], 1, 10),
        ([], 1, 10),
        ([BEFORE, replace(AFTER, topic_id=b"b" * 16)], 1, 10),
        ([BEFORE, replace(AFTER, ends=(5, 6))], 1, 10),
        ([BEFORE, replace(AFTER, ends=(5, 9, 0))], 1, 10),
    ):
        assert bounds_of(samples, from_ms, until_ms) is None


def test_the_last_samples_are_kept_and_none_without_an_id() -> None:
    def more(known: EndSamples, at_ms: int) -> EndSamples:
        return with_ends(known, {"t": (at_ms,), "u": (at_ms,)}, {"t": b"t" * 16}, at_ms, at_ms)

    nothing: EndSamples = {}
    known = reduce(more, range(MOST_END_SAMPLES + 3), nothing)
    assert known.keys() == {"t"}
    assert [one.asked_ms for one in known["t"]] == list(range(3, MOST_END_SAMPLES + 3))
    assert with_ends(known, {"u": (1,)}, {}, 50, 51) is known


def test_all_samples_of_a_capture_are_kept() -> None:
    """Its records are judged when all samples are there already."""
    times = range(3 * MOST_END_SAMPLES)
    samples = [TopicMetadata(at_ms, {"t": (frozenset(),)}, {"t": b"t" * 16}, {"t": (at_ms,)}) for at_ms in times]
    assert [one.asked_ms for one in history_of(samples).ends_of("t")] == list(times)
