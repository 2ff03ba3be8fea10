"""The history of topics: only changes are kept, and nothing of what samples showed is lost by it."""

from dataclasses import replace
from functools import reduce
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.topics import (
    KEPT_MS,
    MOST_CHANGES,
    NO_SAMPLES,
    ContentChange,
    TopicHistory,
    TopicSample,
)
from rebalance_monitor.streaming.core.consumer import topic_views

NAMES = ("a", "b")
REPLICAS = st.lists(st.lists(st.integers(0, 2), max_size=2, unique=True).map(tuple), min_size=1, max_size=3).map(tuple)
CONTENTS = st.tuples(
    st.dictionaries(st.sampled_from(NAMES), REPLICAS), st.dictionaries(st.integers(0, 2), st.sampled_from("xy"))
)


@st.composite
def dense(draw: st.DrawFn) -> list[TopicSample]:
    """Samples of which many show what the one before showed."""
    contents = draw(st.lists(CONTENTS, min_size=1, max_size=4))
    samples, now_ms = [], 0
    for number in draw(st.lists(st.integers(0, len(contents) - 1), min_size=1, max_size=12)):
        topics, racks = contents[number]
        asked_ms = now_ms + draw(st.integers(1, 20_000))
        now_ms = asked_ms + draw(st.integers(0, 2_000))
        samples.append(TopicSample(asked_ms, now_ms, topics, racks))
    return samples


def history(samples: list[TopicSample]) -> TopicHistory:
    return reduce(TopicHistory.with_sample, samples, NO_SAMPLES)


@given(dense(), st.integers(0, 300_000))
def test_the_last_sample_is_shown_at_any_time(samples: list[TopicSample], at_ms: int) -> None:
    known = history(samples)
    last = [one for one in samples if one.answered_ms <= at_ms][-1:]
    expected = {
        name: tuple(frozenset(one.racks[broker] for broker in brokers if broker in one.racks) for brokers in replicas)
        for one in last
        for name, replicas in one.topics.items()
    }
    assert known.shown(NAMES, at_ms) == expected
    assert topic_views.current(known, NAMES, at_ms) == (expected if last else None)


@given(dense())
def test_each_change_lies_between_two_samples(samples: list[TopicSample]) -> None:
    known = history(samples)
    pairs = {(one.asked_ms, other.answered_ms) for one, other in pairwise(samples)}
    pairs.add((0, samples[0].answered_ms))
    assert {(one.after_ms, one.at_ms) for one in known.moments(NAMES)} <= pairs
    assert (known.asked_ms, known.answered_ms) == (samples[-1].asked_ms, samples[-1].answered_ms)


@given(dense(), st.integers(0, 300_000), st.data())
def test_a_sample_that_shows_nothing_new_changes_no_view(
    samples: list[TopicSample], at_ms: int, data: st.DataObject
) -> None:
    """Beside the time until when the content before is known to have held."""
    at = data.draw(st.integers(0, len(samples) - 1))
    again = replace(samples[at], asked_ms=samples[at].answered_ms, answered_ms=samples[at].answered_ms)
    before, after = history(samples), history([*samples[: at + 1], again, *samples[at + 1 :]])
    assert [one.at_ms for one in before.moments(NAMES)] == [one.at_ms for one in after.moments(NAMES)]
    assert before.shown(NAMES, at_ms) == after.shown(NAMES, at_ms)


def test_a_brokers_restart_changes_one_value() -> None:
    topics = {f"t{number}": ((1, 2), (2, 3)) for number in range(100)}
    known = history([TopicSample(1, 1, topics, {1: "x", 2: "y"}), TopicSample(2, 2, topics, {1: "x"})])
    assert all(len(changes) == 1 for changes in known.topics.values())
    assert known.racks == (ContentChange(0, 1, {1: "x", 2: "y"}), ContentChange(1, 2, {1: "x"}))
    assert known.shown(["t0"], 2) == {"t0": (frozenset("x"), frozenset())}


def test_what_was_replaced_long_ago_is_dropped() -> None:
    gone, grown = {"a": ((1,),), "b": ((1,),)}, {"b": ((1,), (1,))}
    known = history([TopicSample(0, 0, gone), TopicSample(10, 10, grown)])
    assert known.kept(KEPT_MS) == known
    late = known.kept(KEPT_MS + 10)
    assert late.topics == {"b": (ContentChange(0, 10, ((1,), (1,))),)}
    assert late.shown(NAMES, 10) == known.shown(NAMES, 10)


def test_a_topic_that_changes_all_the_time_is_bounded() -> None:
    samples = [TopicSample(at, at, {"a": ((at % 2,),)}) for at in range(3 * MOST_CHANGES)]
    known = history(samples).kept(0)
    assert len(known.topics["a"]) == MOST_CHANGES
    assert known.shown(["a"], 3 * MOST_CHANGES) == {"a": (frozenset(),)}


def test_an_old_sample_says_nothing_new() -> None:
    known = history([TopicSample(5, 6, {"a": ((1,),)})])
    assert known.with_sample(TopicSample(4, 5, {})) is known
