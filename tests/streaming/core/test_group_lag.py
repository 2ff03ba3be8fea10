"""What is published of a group's lag, and what its rebalances held up, by samples of its offsets."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.progress import NO_PROGRESS_KNOWN, PartitionOffsets, ProgressSample
from rebalance_monitor.streaming.core.model.published import as_object, from_object
from rebalance_monitor.streaming.core.model.results import Generation, GroupProgress, RebalanceCost
from tests.streaming.core.rules.cases_consumer_time import ROUNDROBIN
from tests.streaming.core.rules.cases_progress import EVERY_MS
from tests.streaming.core.rules.consumers import record
from tests.streaming.core.test_progress import ANSWERED_MS, MOVED, Polled, consumers

OFFSETS = st.dictionaries(
    st.sampled_from(["a-0", "a-1", "b-0"]),
    st.builds(PartitionOffsets, st.integers(0, 1_000), st.none() | st.integers(0, 1_000)),
)


def latest(polled: Polled) -> GroupProgress:
    return [one for one in polled.results if isinstance(one, GroupProgress)][-1]


def costs(polled: Polled) -> list[RebalanceCost]:
    """Of all but the first generation, before which nobody asked."""
    return [one for one in polled.results if isinstance(one, RebalanceCost) and one.held_up.generation > 1]


def test_lag_of_a_group_its_topics_and_partitions() -> None:
    polled = consumers()
    polled.offsets = {"a-0": (100, 200), "a-1": (100, 5_000)}
    polled.goes_on(8 * EVERY_MS, still="a-1")
    told = latest(polled)
    assert (told.lag, told.trend, told.without_members) == (100 + 5_700, "steady", False)
    assert [(one.partition, one.committed, one.lag) for one in told.partitions] == [
        ("a-2", None, None), ("a-1", 100, 5_700), ("a-0", 900, 100),
    ]  # fmt: skip
    assert (told.unknown, told.never_committed) == (1, 1)
    (topic,) = told.topics
    assert (topic.topic, topic.partitions, topic.lag, topic.unknown) == ("a", 3, 5_800, 1)
    # Of a-1 the first record that is not read was written before the first sample, half a minute after the record.
    behind = {one.partition: (one.lag_ms, one.at_least) for one in told.partitions}
    assert behind == {"a-0": (EVERY_MS, False), "a-1": (7 * EVERY_MS, True), "a-2": (None, False)}
    assert (told.lag_ms, told.at_least) == (7 * EVERY_MS, True)
    assert told.changed_ms == told.answered_ms
    assert from_object(GroupProgress, as_object(told)) == told


def test_a_group_that_nobody_is_in_still_lags() -> None:
    polled = consumers()
    polled.goes_on(2 * EVERY_MS)
    polled.joins()
    polled.goes_on(4 * EVERY_MS, still="a-0 a-1 a-2")
    told = latest(polled)
    assert (told.without_members, told.members, told.trend) == (True, (), "falling_behind")
    assert told.lag == 3 * (100 + 4 * 100)
    assert told.changed_ms == told.answered_ms - 4 * EVERY_MS


def test_an_end_before_the_committed_offset_is_no_lag_of_zero() -> None:
    """The topic was made anew, and the old commits are there."""
    polled = consumers()
    polled.offsets = {"a-0": (100, 20), "a-1": (7, 7), "a-2": (7, 8)}
    polled.now_ms += EVERY_MS
    polled.polls()
    told = latest(polled)
    assert (told.lag, told.unknown, told.never_committed) == (1, 1, 0)
    assert told.partitions[0].lag is None


def test_a_partition_whose_end_nobody_tells_is_not_known() -> None:
    polled = consumers()
    polled.now_ms += EVERY_MS
    polled.offsets["a-0"] = (100, None)  # type: ignore[assignment]
    polled.polls()
    assert (latest(polled).unknown, latest(polled).lag) == (1, 200)
    polled.now_ms += EVERY_MS
    polled.offsets["a-0"], polled.offsets["a-1"] = (100, 150), (100, None)  # type: ignore[assignment]
    polled.polls()
    assert (latest(polled).unknown, latest(polled).lag) == (1, 50 + 100), "its last end is of an earlier sample"


def rebalanced() -> Polled:
    """A group that reads evenly, and rebalances."""
    polled = consumers()
    polled.goes_on(4 * EVERY_MS)
    polled.now_ms += 10_000
    polled.joins(*MOVED)
    return polled


def test_a_rebalance_tells_what_it_held_up() -> None:
    polled = rebalanced()
    polled.goes_on(2 * EVERY_MS, still="a-0 a-1")
    assert costs(polled) == []
    told = latest(polled).held_up
    assert told is not None
    assert (told.generation, told.records, told.final) == (2, 400, False)
    polled.goes_on(EVERY_MS, to_the_end="a-0 a-1 a-2")
    (cost,) = costs(polled)
    generations = [one for one in polled.results if isinstance(one, Generation)]
    assert cost.source == generations[-1].source
    assert (cost.held_up.before, cost.held_up.records, cost.held_up.why) == (300, 400, None)
    assert cost.held_up.caught_up_ms == polled.now_ms
    assert latest(polled).held_up == cost.held_up
    assert as_object(cost) == {"held_up": as_object(cost.held_up)}
    polled.goes_on(2 * EVERY_MS)
    assert len(costs(polled)) == 1


def test_a_job_that_begins_anew_goes_on_with_an_open_rebalance() -> None:
    polled = rebalanced()
    polled.goes_on(EVERY_MS, still="a-0 a-1")
    polled.begins_anew()
    polled.goes_on(EVERY_MS, to_the_end="a-0 a-1 a-2")
    (cost,) = costs(polled)
    assert cost.held_up.records == 200


def test_the_next_rebalance_ends_what_is_known_of_the_one_before() -> None:
    polled = rebalanced()
    polled.goes_on(EVERY_MS, still="a-0 a-1")
    polled.now_ms += 5_000
    polled.joins(*MOVED)
    (cost,) = costs(polled)
    assert (cost.held_up.generation, cost.held_up.records, cost.held_up.caught_up_ms) == (2, 200, None)
    assert "generation 3" in str(cost.held_up.why)


def test_a_record_that_repeats_a_generation_is_no_rebalance() -> None:
    """As where a static member was replaced."""
    polled = rebalanced()
    polled.goes_on(EVERY_MS, still="a-0 a-1")
    polled.now_ms += 5_000
    record(polled.story, ROUNDROBIN, *MOVED, again=True, after_ms=polled.now_ms - polled.story.now_ms)
    polled.reads()
    assert costs(polled) == []
    polled.goes_on(EVERY_MS, to_the_end="a-0 a-1 a-2")
    (cost,) = costs(polled)
    assert (cost.held_up.generation, cost.held_up.rebalances, cost.held_up.why) == (2, 1, None)
    assert cost.held_up.caught_up_ms == polled.now_ms


def test_a_group_whose_members_all_leave_does_not_catch_up() -> None:
    polled = rebalanced()
    polled.goes_on(EVERY_MS, still="a-0 a-1")
    polled.joins()
    (cost,) = costs(polled)
    assert cost.held_up.final
    assert "left" in str(cost.held_up.why)


def test_without_samples_nothing_is_said_and_nothing_is_open_in_history() -> None:
    polled = consumers()
    polled.joins(*MOVED)
    assert costs(polled) == []
    assert latest(rebalanced()).held_up is None


@given(
    st.lists(st.dictionaries(st.sampled_from(["g", "h", "i"]), OFFSETS), max_size=8), st.permutations(["g", "h", "i"])
)
def test_the_order_of_groups_in_a_sample_changes_nothing(
    samples: list[dict[str, dict[str, PartitionOffsets]]], order: list[str]
) -> None:
    one = other = NO_PROGRESS_KNOWN
    for at, told in enumerate(samples, start=1):
        # All groups of a sample share the ends of their partitions.
        ends = {name: offsets.end for own in told.values() for name, offsets in own.items()}
        told = {
            group: {name: replace(offsets, end=ends[name]) for name, offsets in own.items()}
            for group, own in told.items()
        }
        sample = ProgressSample(at * EVERY_MS - ANSWERED_MS, at * EVERY_MS, told, frozenset(order))
        one = one.with_sample(sample)
        other = other.with_sample(replace(sample, groups={group: told[group] for group in order if group in told}))
    assert one == other
    for known in one.groups.values():
        assert all(partition.lag >= 0 and (partition.known_lag or 0) >= 0 for partition in known.partitions.values())
