"""When brokers are asked for offsets, and what is made of their answers. The clock is the test's."""

from collections.abc import Callable, Collection, Mapping

import pytest

from rebalance_monitor.streaming.core.cluster.changelogs import ChangelogEnds
from rebalance_monitor.streaming.core.cluster.progress import PartitionOffsets
from rebalance_monitor.streaming.polling.asking_progress import (
    COMMITTED_REQUESTS,
    EndsAnswer,
    GroupRefused,
    NamedPartition,
)
from rebalance_monitor.streaming.polling.poller import HANGS_S
from rebalance_monitor.streaming.polling.progress import (
    MOST_GROUPS,
    MOST_PARTITIONS,
    MOST_REQUESTS_S,
    PART,
    ProgressPoller,
)
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.polling.observed_poller import ObservedPoller

EVERY_S = 30.0
ENDS_REQUESTS = 4
T0: NamedPartition = ("t", 0)


class Asked(ObservedPoller):
    """A poller of a cluster whose answers the test sets; what it asked, and what it said of itself."""

    part_name = PART
    poller: ProgressPoller

    def __init__(self, *groups: str) -> None:
        super().__init__()
        self.groups: list[str] = []
        self.committed_of: Callable[[str], Mapping[NamedPartition, int]] = lambda _: {T0: 7}
        self.ends_of: Callable[[Collection[NamedPartition]], Mapping[NamedPartition, int]] = lambda all_: dict.fromkeys(
            all_, 9
        )
        self.asked_ends: list[int] = []
        self.turns: list[float] = []
        self.poller = ProgressPoller(self, self, EVERY_S, now_ms=self.now_ms, clock_s=lambda: self.now_s)
        self.poller.watch(groups)

    def committed(self, group: str) -> Mapping[NamedPartition, int]:
        self.groups.append(group)
        self.now_s += 0.01
        return self.committed_of(group)

    def ends(self, partitions: Collection[NamedPartition]) -> EndsAnswer:
        self.asked_ends.append(len(partitions))
        return EndsAnswer(self.ends_of(partitions), ENDS_REQUESTS)

    def progress_turn(self, seconds: float, from_log: int) -> None:
        self.turns.append(seconds)


def refuse(group: str) -> Mapping[NamedPartition, int]:
    raise GroupRefused(group)


def fail(group: str) -> Mapping[NamedPartition, int]:
    raise PartFailed(f"the brokers did not say what {group} has committed (timed out)")


def test_brokers_are_asked_every_half_minute_and_the_requests_are_counted() -> None:
    asked = Asked("g", "h")
    asked.passes(3 * EVERY_S + 1)
    assert len(asked.asked_ends) in (3, 4)
    assert asked.requests == len(asked.asked_ends) * (2 * COMMITTED_REQUESTS + ENDS_REQUESTS)


def test_nobody_is_asked_where_no_group_is_watched() -> None:
    asked = Asked()
    asked.passes(3 * EVERY_S)
    assert (asked.requests, asked.groups) == (0, [])


def test_a_sample_says_when_it_was_asked_and_answered() -> None:
    asked = Asked("g")
    asked.poller.step()
    (sample,) = asked.poller.since(None)
    assert (sample.asked_ms, sample.answered_ms) == (1_000_000, 1_000_010)
    assert sample.groups == {"g": {"t-0": PartitionOffsets(7, 9)}}
    assert asked.poller.since(sample.answered_ms) == []


def test_changelogs_of_a_group_are_asked_for_with_it() -> None:
    asked = Asked("app", "other")
    asked.ends_of = lambda all_: {(topic, number): 10 + number for topic, number in all_ if number < 2}
    changelogs = [("app-store-changelog", number) for number in range(3)]
    asked.poller.watch({"app", "other"}, {"app": changelogs, "forgotten": [("forgotten-store-changelog", 0)]})
    asked.poller.step()
    (sample,) = asked.poller.since(None)
    told = {"app-store-changelog-0": 10, "app-store-changelog-1": 11}
    assert sample.changelogs == {"app": ChangelogEnds(1_000_020, 1_000_020, told)}
    assert sample.groups["app"] == {"t-0": PartitionOffsets(7, 10)}
    assert asked.asked_ends == [4], "one request for the partitions of all"


def test_many_groups_have_their_turn_a_bounded_number_each_time() -> None:
    names = [f"g{number:03}" for number in range(2 * MOST_GROUPS + 1)]
    asked = Asked(*names)
    asked.poller.step()
    assert asked.groups == names[:MOST_GROUPS]
    asked.passes(3 * EVERY_S)
    assert set(asked.groups) == set(names)
    assert len(asked.poller.since(None)[0].watched) == len(names)


def test_300_groups_and_10000_partitions_take_20_requests_a_second_and_half_a_minute() -> None:
    """With two requests a group, and some for the ends of each sample, a turn is a little longer than half a minute."""
    names = [f"g{number:03}" for number in range(300)]
    asked = Asked(*names)
    asked.committed_of = lambda group: {(group, number): number for number in range(33)}
    began_s = asked.now_s
    asked.passes(10 * EVERY_S)
    took_s = asked.now_s - began_s
    assert asked.requests <= MOST_REQUESTS_S * (took_s + 6)
    assert len(asked.groups) >= 9 * len(names), "each about every half minute"
    assert len(set(asked.groups)) == len(names)
    assert sum(asked.asked_ends) / took_s <= 1.1 * MOST_PARTITIONS / EVERY_S
    assert asked.turns
    assert all(EVERY_S <= one <= 1.1 * EVERY_S for one in asked.turns)


def test_a_turn_that_the_bounds_cut_takes_longer_and_says_so() -> None:
    asked = Asked(*(f"g{number:04}" for number in range(1_000)))
    asked.passes(8 * EVERY_S)
    assert len(set(asked.groups)) == 1_000
    assert asked.turns[0] == pytest.approx(1_000 * COMMITTED_REQUESTS / MOST_REQUESTS_S, rel=0.1)
    wide = Asked("a", "b", "c", "d")
    wide.committed_of = lambda group: {(group, number): 1 for number in range(MOST_PARTITIONS)}
    wide.passes(5 * EVERY_S)
    assert wide.turns[0] == pytest.approx(4 * EVERY_S, rel=0.1)


def test_partitions_that_groups_share_are_asked_for_once_with_each_sample() -> None:
    asked = Asked(*(f"g{number}" for number in range(10)))
    asked.committed_of = lambda _: {("shared", number): 1 for number in range(7)}
    asked.poller.step()
    assert asked.asked_ends == [7]


def test_large_groups_are_spread_over_more_samples() -> None:
    asked = Asked("a", "b", "c")
    asked.committed_of = lambda group: {(group, number): 1 for number in range(MOST_PARTITIONS // 2 + 1)}
    asked.poller.step()
    assert asked.groups == ["a", "b"]
    asked.passes(EVERY_S + 1)
    assert asked.groups[2] == "c"


def test_a_partition_whose_end_nobody_tells_has_none() -> None:
    asked = Asked("g")
    asked.ends_of = lambda _: {}
    asked.poller.step()
    assert asked.poller.since(None)[0].groups == {"g": {"t-0": PartitionOffsets(7, None)}}


def test_a_refused_group_is_named_and_the_others_are_told() -> None:
    asked = Asked("g", "h")
    asked.committed_of = lambda group: refuse(group) if group == "g" else {T0: 7}
    with pytest.raises(PartFailed, match=r"refuse the committed offsets of g: .* Describe") as failed:
        asked.poller.step()
    assert failed.value.again_in_s == EVERY_S
    assert set(asked.poller.since(None)[0].groups) == {"h"}


def test_what_was_answered_before_brokers_fail_is_kept_and_others_are_asked_next() -> None:
    asked = Asked("a", "b", "c")
    asked.committed_of = lambda group: fail(group) if group == "b" else {T0: 7}
    with pytest.raises(PartFailed, match="what b has committed"):
        asked.poller.step()
    assert set(asked.poller.since(None)[0].groups) == {"a"}
    with pytest.raises(PartFailed):
        asked.poller.step()
    assert asked.groups == ["a", "b", "c", "a", "b"]


def test_a_round_without_any_answer_is_counted_and_no_sample() -> None:
    asked = Asked("g")
    asked.committed_of = fail
    with pytest.raises(PartFailed):
        asked.poller.step()
    assert asked.poller.since(None) == []
    assert (asked.requests, asked.answered) == (COMMITTED_REQUESTS, [None])


def test_a_request_without_end_is_named() -> None:
    asked = Asked("g")

    def hang(_: str) -> Mapping[NamedPartition, int]:
        asked.now_s += HANGS_S + 1
        asked.poller.look()
        return {}

    asked.committed_of = hang
    asked.poller.step()
    assert asked.problems == ["no answer and no error from the brokers for 31 s"]
