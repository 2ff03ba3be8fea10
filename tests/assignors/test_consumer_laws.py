"""Laws that `range` and `roundrobin` keep for every group, and the order rules of Java's maps on small examples."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.consumer import range_assignor, round_robin_assignor
from rebalance_monitor.assignors.consumer.model import (
    ERAS,
    ConsumerEra,
    ConsumerMember,
    ConsumerResult,
    TopicRacks,
    compute_ordered,
    era_of,
    hash_ordered,
)
from tests.profile import size

Recompute = Callable[..., ConsumerResult]
few = settings(max_examples=size(15, 400), deadline=None)
NO_RACK: frozenset[str] = frozenset()

names = st.text(st.sampled_from("ABab01é\U0001f600"), min_size=1, max_size=4)
racks = st.sampled_from(["x", "y", "z"])
topic_names = st.sampled_from(["a", "b", "c", "AaAa", "BBBB"])


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[ConsumerMember], TopicRacks]:
    topics = draw(
        st.dictionaries(topic_names, st.lists(st.frozensets(racks, max_size=2), max_size=7).map(tuple), max_size=5)
    )
    ids = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    members = [
        ConsumerMember(
            id=name,
            instance_id=f"i{name}" if draw(st.booleans()) else None,
            topics=tuple(draw(st.lists(topic_names, unique=True, max_size=5))),
            rack=draw(st.none() | racks),
        )
        for name in ids
    ]
    return members, topics


@pytest.mark.parametrize(
    "recompute", [range_assignor.recompute, round_robin_assignor.recompute], ids=["range", "roundrobin"]
)
@pytest.mark.parametrize("era", ERAS, ids=lambda era: era.name)
class TestEveryAssignor:
    @few
    @given(group=groups())
    def test_gives_every_subscribed_partition_one_subscribed_owner(
        self, recompute: Recompute, era: ConsumerEra, group: tuple[list[ConsumerMember], TopicRacks]
    ) -> None:
        members, topics = group
        shares = recompute(members, topics, era=era).shares
        assert list(shares) == [member.id for member in members]
        dealt = Counter(item for share in shares.values() for item in share)
        wanted = {topic for member in members for topic in member.topics}
        assert dealt == Counter((topic, n) for topic in wanted for n in range(len(topics.get(topic, ()))))
        for member in members:
            assert {topic for topic, _ in shares[member.id]} <= set(member.topics)

    @few
    @given(group=groups())
    def test_answers_the_same_in_any_order_of_members(
        self, recompute: Recompute, era: ConsumerEra, group: tuple[list[ConsumerMember], TopicRacks]
    ) -> None:
        members, topics = group
        forwards = recompute(members, topics, era=era).shares
        backwards = recompute(members[::-1], topics, era=era).shares
        assert {name: set(share) for name, share in forwards.items()} == {
            name: set(share) for name, share in backwards.items()
        }


@few
@given(group=groups(), era=st.sampled_from(ERAS))
def test_range_spreads_each_topic_within_one(group: tuple[list[ConsumerMember], TopicRacks], era: ConsumerEra) -> None:
    members, topics = group
    shares = range_assignor.recompute(members, topics, era=era).shares
    for topic in topics:
        counts = [sum(item[0] == topic for item in shares[m.id]) for m in members if topic in m.topics]
        assert not counts or max(counts) - min(counts) <= 1


@few
@given(group=groups(), era=st.sampled_from(ERAS))
def test_round_robin_spreads_equal_subscriptions_within_one(
    group: tuple[list[ConsumerMember], TopicRacks], era: ConsumerEra
) -> None:
    members, topics = group
    alike = [ConsumerMember(id=m.id, instance_id=m.instance_id, topics=tuple(topics)) for m in members]
    counts = [len(share) for share in round_robin_assignor.recompute(alike, topics, era=era).shares.values()]
    assert max(counts) - min(counts) <= 1


def plain(**partitions: int) -> TopicRacks:
    return {topic: (NO_RACK,) * count for topic, count in partitions.items()}


def test_range_sorts_static_members_first() -> None:
    members = [
        ConsumerMember(id="m1", topics=("a", "b")),
        ConsumerMember(id="m2", instance_id="zz", topics=("b", "c")),
    ]
    assert range_assignor.recompute(members, plain(a=3, b=3, c=2)).shares == {
        "m1": (("a", 0), ("a", 1), ("a", 2), ("b", 2)),
        "m2": (("b", 0), ("b", 1), ("c", 0), ("c", 1)),
    }


def test_range_prefers_partitions_in_the_members_rack() -> None:
    members = [
        ConsumerMember(id="m16", rack="a", topics=("t0", "t1")),
        ConsumerMember(id="m56", rack="c", topics=("t0", "t1")),
    ]
    topics = {
        "t0": (frozenset("c"), frozenset("cb"), frozenset("c")),
        "t1": (frozenset("b"), frozenset("c"), frozenset("ab")),
    }
    assert range_assignor.recompute(members, topics).shares == {
        "m16": (("t0", 0), ("t0", 2), ("t1", 0), ("t1", 2)),
        "m56": (("t0", 1), ("t1", 1)),
    }


def test_round_robin_goes_on_behind_the_member_served_last() -> None:
    members = [
        ConsumerMember(id="m1", topics=("a", "b", "c")),
        ConsumerMember(id="m2", instance_id="zz", topics=("b",)),
        ConsumerMember(id="m3", topics=("a", "c")),
    ]
    assert round_robin_assignor.recompute(members, plain(a=3, b=3, c=2)).shares == {
        "m1": (("a", 0), ("a", 2), ("b", 1), ("c", 0)),
        "m2": (("b", 0), ("b", 2)),
        "m3": (("a", 1), ("c", 1)),
    }


def test_compute_if_absent_puts_a_colliding_key_in_front() -> None:
    same_hash = ["AaAa", "AaBB", "BBBB"]
    assert hash_ordered(same_hash) == (("AaAa", "AaBB", "BBBB"), False)
    assert compute_ordered(same_hash) == (("BBBB", "AaBB", "AaAa"), False)


def test_more_keys_than_java_keeps_in_a_list_leave_the_order_in_doubt() -> None:
    same_hash = [a + b + c + d for a in ("Aa", "BB") for b in ("Aa", "BB") for c in ("Aa", "BB") for d in ("Aa", "BB")]
    assert hash_ordered(same_hash)[1]
    assert compute_ordered(same_hash)[1]


def test_eras_follow_the_release() -> None:
    assert [era_of(r).name for r in ("2.3.1", "2.4.1", "3.4.1", "3.5.0", "4.3.1", "9.0.0")] == [
        "up to 2.3", "2.4 to 3.4", "2.4 to 3.4", "since 3.5", "since 3.5", "since 3.5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("release", "first", "second"),
    [("3.4.1", ("t-0", "t-1", "t-2", "t-3"), ("t-4", "t-5")), ("3.5.0", ("t-0", "t-1", "t-2"), ("t-3", "t-4", "t-5"))],
)
def test_a_topic_listed_twice_is_two_seats_for_range_up_to_3_4(
    release: str, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    members = [
        ConsumerMember(id="a", instance_id=None, topics=("t", "t"), rack=None),
        ConsumerMember(id="b", instance_id=None, topics=("t",), rack=None),
    ]
    shares = range_assignor.recompute(members, {"t": (NO_RACK,) * 6}, era=era_of(release)).shares
    assert [f"{topic}-{number}" for topic, number in shares["a"]] == list(first)
    assert [f"{topic}-{number}" for topic, number in shares["b"]] == list(second)
