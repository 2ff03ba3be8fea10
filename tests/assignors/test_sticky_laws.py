"""Laws that `sticky` and `cooperative-sticky` keep for every group, in every era that has them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.consumer import sticky, sticky_cooperative
from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember, ConsumerResult, TopicPartition, TopicRacks
from rebalance_monitor.assignors.consumer.sticky_claims import settle
from rebalance_monitor.assignors.consumer.sticky_eras import ERAS, NEWEST, StickyEra
from rebalance_monitor.assignors.consumer.sticky_group import CannotAssign, group_of
from tests.profile import size

Shares = dict[str, tuple[TopicPartition, ...]]
Recompute = Callable[..., ConsumerResult]
Group = tuple[list[ConsumerMember], TopicRacks]
few = settings(max_examples=size(15, 400), deadline=None)

ids = st.text(st.sampled_from("ABab01é\U0001f600"), min_size=1, max_size=4)
topic_names = st.sampled_from(["a", "b", "c", "AaAa", "BBBB"])
eras = st.sampled_from(ERAS)
cooperative_eras = st.sampled_from([era for era in ERAS if era.cooperative])


@st.composite
def groups(draw: st.DrawFn, *, equal: bool | None = None, racked: bool = False, honest: bool = False) -> Group:
    """Members with claims on existing partitions. `honest`: claims do not collide, all are of one generation, and
    everybody subscribes to something."""
    racks = st.frozensets(st.sampled_from("xyz"), max_size=2) if racked else st.just(frozenset[str]())
    topics = draw(st.dictionaries(topic_names, st.lists(racks, min_size=1, max_size=7).map(tuple), min_size=1))
    alike = draw(st.booleans()) if equal is None else equal
    shared = tuple(draw(st.permutations(sorted(topics))))
    everything = [(topic, number) for topic in topics for number in range(len(topics[topic]))]
    names = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    members = []
    for name in names:
        claimed = tuple(draw(st.lists(st.sampled_from(everything), unique=True, max_size=8)))
        generation = 5 if honest else draw(st.none() | st.integers(-1, 3))
        part = st.lists(st.sampled_from(sorted(topics)), unique=True, min_size=1 if honest else 0).map(tuple)
        subscribed = shared if alike else draw(part)
        members.append(
            ConsumerMember(
                id=name,
                topics=subscribed,
                rack=draw(st.none() | st.sampled_from("xyz")) if racked else None,
                owned=claimed,
                generation=-1 if generation is None else generation,
                claim=Claim(claimed, generation),
            )
        )
    if honest:
        seen: set[TopicPartition] = set()
        for at, member in enumerate(members):
            own = tuple(tp for tp in member.owned if tp not in seen)
            seen.update(own)
            members[at] = replace(member, owned=own, claim=Claim(own, 5))
    return members, topics


def partitions(group: Group) -> set[TopicPartition]:
    members, topics = group
    wanted = {topic for member in members for topic in member.topics}
    return {(topic, number) for topic in wanted for number in range(len(topics.get(topic, ())))}


def holding(members: list[ConsumerMember], shares: Shares, generation: int) -> list[ConsumerMember]:
    """The same members in the next round."""
    return [
        replace(
            member,
            owned=shares[member.id],
            generation=generation,
            claim=Claim(shares[member.id], generation),
            claim_again=Claim(),
        )
        for member in members
    ]


@few
@given(group=groups(racked=True), era=eras)
def test_sticky_leaves_no_partition_out_whatever_members_claim(group: Group, era: StickyEra) -> None:
    members, topics = group
    try:
        shares = sticky.recompute(members, topics, era=era).shares
    except CannotAssign:
        return
    assert list(shares) == [member.id for member in members]
    assert {tp for share in shares.values() for tp in share} == partitions(group)


@few
@given(group=groups(racked=True, honest=True), era=eras)
def test_sticky_gives_every_subscribed_partition_one_subscribed_owner(group: Group, era: StickyEra) -> None:
    assume(era.quotas_hold or not era.racks)  # KAFKA-15170: with racks those eras may fail
    members, topics = group
    shares = sticky.recompute(members, topics, era=era).shares
    assert Counter(tp for share in shares.values() for tp in share) == Counter(partitions(group))
    for member in members:
        assert {topic for topic, _ in shares[member.id]} <= set(member.topics)


@few
@given(group=groups(equal=True, racked=True, honest=True), era=eras)
def test_sticky_spreads_equal_subscriptions_within_one(group: Group, era: StickyEra) -> None:
    assume(era.quotas_hold or not era.racks)
    members, topics = group
    counts = [len(share) for share in sticky.recompute(members, topics, era=era).shares.values()]
    assert max(counts) - min(counts) <= 1


@few
@given(group=groups(honest=True), era=eras)
def test_what_sticky_gave_once_it_gives_again(group: Group, era: StickyEra) -> None:
    """Eras that read user data twice forget what they read first; here they do not."""
    members, topics = group
    shares = sticky.recompute(members, topics, era=era).shares
    again = sticky.recompute(holding(members, shares, 6), topics, era=replace(era, rereads=False)).shares
    assert {name: set(share) for name, share in again.items()} == {name: set(share) for name, share in shares.items()}


@few
@given(group=groups(racked=True, honest=True))
def test_cooperative_gives_nobody_what_another_still_holds(group: Group) -> None:
    members, topics = group
    shares = sticky_cooperative.recompute(members, topics).shares
    held = settle(group_of(members, topics, NEWEST, cooperative=True)).held
    owner = {tp: name for name, own in held.items() for tp in own}
    for name, share in shares.items():
        assert all(owner.get(tp, name) == name for tp in share)


@few
@given(group=groups(equal=True, honest=True), era=cooperative_eras)
def test_cooperative_places_in_the_next_generation_what_it_held_back(group: Group, era: StickyEra) -> None:
    members, topics = group
    shares = sticky_cooperative.recompute(members, topics, era=era).shares
    again = sticky_cooperative.recompute(holding(members, shares, 6), topics, era=era).shares
    assert {tp for share in again.values() for tp in share} == partitions(group)
    for member in members:
        assert set(shares[member.id]) <= set(again[member.id])
    settled = sticky_cooperative.recompute(holding(members, again, 7), topics, era=era).shares
    assert {name: set(share) for name, share in settled.items()} == {name: set(own) for name, own in again.items()}


@few
@given(group=groups(equal=False, honest=True), era=eras)
def test_no_two_members_swap_partitions_of_one_topic(group: Group, era: StickyEra) -> None:
    members, topics = group
    shares = sticky.recompute(members, topics, era=replace(era, rereads=False)).shares
    before = {tp: member.id for member in members for tp in member.owned if tp[0] in member.topics}
    after = {tp: name for name, share in shares.items() for tp in share}
    moves = {(tp[0], before[tp], after[tp]) for tp in before if tp in after and before[tp] != after[tp]}
    assert not any((topic, new, old) in moves for topic, old, new in moves)


@few
@given(group=groups(), era=eras)
@pytest.mark.parametrize("recompute", [sticky.recompute, sticky_cooperative.recompute], ids=["sticky", "cooperative"])
def test_the_order_of_members_shows_only_where_ids_share_a_bucket(
    recompute: Recompute, group: Group, era: StickyEra
) -> None:
    """A hash map forgets in which order its keys came, unless they fall into one bucket."""
    assume(era.cooperative)
    members, topics = group
    plain = [replace(member, id=chr(ord("a") + number)) for number, member in enumerate(members)]
    assert outcome(recompute, plain, topics, era) == outcome(recompute, plain[::-1], topics, era)


def outcome(recompute: Recompute, members: list[ConsumerMember], topics: TopicRacks, era: StickyEra) -> Shares | str:
    try:
        return recompute(members, topics, era=era).shares
    except CannotAssign as why:
        return str(why)
