"""Kafka's `range` assignor: per topic, contiguous blocks over the sorted members.

Each topic is dealt on its own: `per` partitions for everybody and one more for whoever asks while `extra` lasts, so
that the first members in order carry the extra partitions of *every* topic (the classic skew of range).

    a:3 b:3 c:2; m1{a,b}, m2{b,c} with static id zz
    m2 first (static):  a -> m1 all three;  b -> m2 b-0 b-1, m1 b-2;  c -> m2

Since 3.5 (KIP-881) a first pass hands out only partitions with a replica in the member's rack; topics with equal
partition counts and equal members move together in that pass, so that co-partitioned topics stay aligned. The second
pass deals the rest as before. A topic's racks count only if they can matter: some member's rack holds a replica, and
not every partition has a replica in every rack.
"""

from collections.abc import Callable, Sequence

from rebalance_monitor.assignors.consumer.model import (
    NEWEST,
    ConsumerEra,
    ConsumerMember,
    ConsumerResult,
    TopicPartition,
    TopicRacks,
    compute_ordered,
    hash_ordered,
    member_order,
    subscribed_topics,
)
from rebalance_monitor.assignors.java_order import utf16_key

Shares = dict[str, list[TopicPartition]]


class _TopicState:
    """What is left of one topic while it is dealt out. `consumers` maps member id to rack, in member order."""

    def __init__(self, topic: str, partitions: Sequence[frozenset[str]], consumers: dict[str, str | None]) -> None:
        self.topic = topic
        self.consumers = consumers
        self.unassigned = list(range(len(partitions)))
        self.per, self.extra = divmod(len(partitions), len(consumers)) if consumers else (0, 0)
        self.taken = dict.fromkeys(consumers, 0)
        member_racks = {rack for rack in consumers.values() if rack}
        self.racks = tuple(partitions) if member_racks else ()
        partition_racks = frozenset().union(*self.racks)
        self.needs_rack = bool(member_racks & partition_racks) and any(r != partition_racks for r in self.racks)

    def room(self, member: str) -> int:
        """How many more partitions the member may take now."""
        return max(0, self.per + (1 if self.extra > 0 else 0) - self.taken[member])

    def rack_fits(self, member: str, partition: int) -> bool:
        rack = self.consumers[member]
        return not rack or (partition < len(self.racks) and rack in self.racks[partition])

    def give(self, member: str, partitions: list[int], shares: Shares) -> None:
        shares[member].extend((self.topic, partition) for partition in partitions)
        self.taken[member] += len(partitions)
        if self.taken[member] > self.per:
            self.extra -= 1
        gone = set(partitions)
        self.unassigned = [partition for partition in self.unassigned if partition not in gone]


def assign(
    members: Sequence[ConsumerMember], topics: TopicRacks, *, era: ConsumerEra = NEWEST
) -> dict[str, tuple[TopicPartition, ...]]:
    """Partitions of every member, in the order of the leader's lists."""
    return recompute(members, topics, era=era).shares


def recompute(members: Sequence[ConsumerMember], topics: TopicRacks, *, era: ConsumerEra = NEWEST) -> ConsumerResult:
    """The same, and whether Java's hash order could be followed."""
    ordered = member_order(members, era)
    names, unsure = _topic_order(members, topics, era)
    shares: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
    if not era.racks:
        for topic in names:
            _deal_blocks(topic, len(topics[topic]), ordered, shares)
        return ConsumerResult(shares={name: tuple(share) for name, share in shares.items()}, order_unsure=unsure)
    states = [_TopicState(topic, topics[topic], _consumers(ordered, topic)) for topic in names]
    use_racks = any(state.needs_rack for state in states)
    if use_racks:
        _deal_by_rack(states, shares)
    for state in states:
        _deal(state, shares, lambda _member, _partition: True)
    if use_racks:
        for share in shares.values():
            share.sort(key=lambda item: (utf16_key(item[0]), item[1]))
    return ConsumerResult(shares={name: tuple(share) for name, share in shares.items()}, order_unsure=unsure)


def _topic_order(members: Sequence[ConsumerMember], topics: TopicRacks, era: ConsumerEra) -> tuple[list[str], bool]:
    """Known topics in the order in which the leader's map yields them.

    Up to 3.4 the map collects the members of every subscribed topic, unknown ones included (they count for its size);
    since 3.5 it is filled from a set of the subscribed topics and holds the known ones only.
    """
    subscribed, members_unsure = subscribed_topics(members)
    first, first_unsure = hash_ordered(subscribed) if era.racks else compute_ordered(subscribed)
    known = [topic for topic in first if topics.get(topic)]
    if not era.racks:
        return known, members_unsure or first_unsure
    second, second_unsure = hash_ordered(known)
    return list(second), members_unsure or first_unsure or second_unsure


def _consumers(ordered: Sequence[ConsumerMember], topic: str) -> dict[str, str | None]:
    return {member.id: member.rack or None for member in ordered if topic in member.topics}


def _deal_blocks(topic: str, partitions: int, ordered: Sequence[ConsumerMember], shares: Shares) -> None:
    """One block for each time a member lists the topic: up to 3.4, a topic listed twice gives a member two seats."""
    seats = [member.id for member in ordered for listed in member.topics if listed == topic]
    per, extra = divmod(partitions, len(seats))
    start = 0
    for at, member_id in enumerate(seats):
        end = start + per + (at < extra)
        shares[member_id].extend((topic, partition) for partition in range(start, end))
        start = end


def _deal(state: _TopicState, shares: Shares, fits: Callable[[str, int], bool]) -> None:
    for member in state.consumers:
        if not state.unassigned:
            return
        block = [partition for partition in state.unassigned if fits(member, partition)][: state.room(member)]
        if block:
            state.give(member, block, shares)


def _deal_by_rack(states: Sequence[_TopicState], shares: Shares) -> None:
    """First pass: only where racks fit. Topics with equal members and equal size are dealt together."""
    together: dict[tuple[tuple[tuple[str, str | None], ...], int], list[_TopicState]] = {}
    for state in states:
        together.setdefault((tuple(state.consumers.items()), len(state.racks)), []).append(state)
    for (_, partitions), group in together.items():
        if len(group) > 1:
            _deal_aligned(group, partitions, shares)
        elif group[0].needs_rack:
            _deal(group[0], shares, group[0].rack_fits)


def _deal_aligned(states: Sequence[_TopicState], partitions: int, shares: Shares) -> None:
    remaining = list(states[0].consumers)
    for partition in range(partitions):
        member = next((m for m in remaining if all(s.rack_fits(m, partition) and s.room(m) > 0 for s in states)), None)
        if member is None:
            continue
        for state in states:
            state.give(member, [partition], shares)
        if not any(state.room(member) > 0 for state in states):
            remaining.remove(member)
            if not remaining:
                return
