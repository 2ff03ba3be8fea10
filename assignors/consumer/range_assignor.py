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

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import islice

from rebalance_monitor.assignors.java_order import utf16_key
from .model import (
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

Shares = dict[str, list[TopicPartition]]
KnownTopic = tuple[str, tuple[frozenset[str], ...]]
"""A topic and, for each partition, the racks of its replicas."""
MOST_REMEMBERED = 4_096
"""Topics, or topics that move together, whose shares a leader remembers."""


class _TopicState:
    """What is left of one topic while it is dealt out, and what is given. `consumers` maps member id to rack, in member
    order."""

    def __init__(self, topic: str, partitions: Sequence[frozenset[str]], consumers: dict[str, str | None]) -> None:
        self.topic = topic
        self.consumers = consumers
        self.unassigned = list(range(len(partitions)))
        self.per, self.extra = divmod(len(partitions), len(consumers)) if consumers else (0, 0)
        self.shares: Shares = {member: [] for member in consumers}
        member_racks = {rack for rack in consumers.values() if rack}
        self.racks = tuple(partitions) if member_racks else ()
        partition_racks = frozenset().union(*self.racks)
        self.needs_rack = bool(member_racks & partition_racks) and any(r != partition_racks for r in self.racks)

    def room(self, member: str) -> int:
        """How many more partitions the member may take now."""
        return max(0, self.per + (1 if self.extra > 0 else 0) - len(self.shares[member]))

    def rack_fits(self, member: str, partition: int) -> bool:
        rack = self.consumers[member]
        return not rack or (partition < len(self.racks) and rack in self.racks[partition])

    def give(self, member: str, partitions: Sequence[int]) -> None:
        share = self.shares[member]
        share.extend([(self.topic, partition) for partition in partitions])
        if len(share) > self.per:
            self.extra -= 1

    def gone(self, partitions: Set[int]) -> None:
        self.unassigned = [partition for partition in self.unassigned if partition not in partitions]


def recompute(members: Sequence[ConsumerMember], topics: TopicRacks, *, era: ConsumerEra = NEWEST) -> ConsumerResult:
    """Every member's partitions in the order of the leader's lists, and whether Java's hash order could be followed."""
    leader = _leader(tuple(members), era)
    names, unsure = leader.topic_order(topics)
    if era.racks:
        shares = leader.dealt([(topic, tuple(topics[topic])) for topic in names])
    else:
        shares = {member.id: [] for member in members}
        for topic in names:
            _deal_blocks(topic, len(topics[topic]), leader.ordered, shares)
    return ConsumerResult(shares={name: tuple(share) for name, share in shares.items()}, order_unsure=unsure)


class _Leader:
    """What answers to the same members have in common, whatever is known of the topics: who searches for what a leader
    knew asks hundreds of times, and most topics are as they were."""

    def __init__(self, members: Sequence[ConsumerMember], era: ConsumerEra) -> None:
        self._members, self._era = members, era
        self.ordered = member_order(members, era)
        self._subscribed = subscribed_topics(members)
        self._consumers: dict[str, dict[str, str | None]] = {}
        self._needs_rack: dict[KnownTopic, bool] = {}
        self._dealt: dict[tuple[bool, tuple[KnownTopic, ...]], tuple[Shares, ...]] = {}

    def topic_order(self, topics: TopicRacks) -> tuple[list[str], bool]:
        """Known topics in the order in which the leader's map yields them.

        Up to 3.4 the map collects the members of every subscribed topic, unknown ones included (they count for its
        size); since 3.5 it is filled from a set of the subscribed topics and holds the known ones only.
        """
        subscribed, members_unsure = self._subscribed
        first, first_unsure = hash_ordered(subscribed) if self._era.racks else compute_ordered(subscribed)
        known = [topic for topic in first if topics.get(topic)]
        if not self._era.racks:
            return known, members_unsure or first_unsure
        second, second_unsure = hash_ordered(known)
        return list(second), members_unsure or first_unsure or second_unsure

    def dealt(self, known: Sequence[KnownTopic]) -> Shares:
        """Partitions of every member, of these topics in this order, or sorted where racks count."""
        use_racks = any([self._counts(one) for one in known])
        by_topic: dict[str, Shares] = {}
        for group in self._together(known) if use_racks else [[one] for one in known]:
            place = (use_racks, tuple(group))
            if place not in self._dealt:
                if len(self._dealt) >= MOST_REMEMBERED:
                    self._dealt.clear()
                self._dealt[place] = _dealt_together(map(self._state, group), use_racks=use_racks)
            by_topic.update(zip((topic for topic, _ in group), self._dealt[place], strict=True))
        shares: Shares = {member.id: [] for member in self._members}
        for topic in sorted(by_topic, key=utf16_key) if use_racks else (topic for topic, _ in known):
            for member, share in by_topic[topic].items():
                shares[member] += share
        return shares

    def _counts(self, known: KnownTopic) -> bool:
        """Whether racks count for this topic."""
        if known not in self._needs_rack:
            if len(self._needs_rack) >= MOST_REMEMBERED:
                self._needs_rack.clear()
            self._needs_rack[known] = self._state(known).needs_rack
        return self._needs_rack[known]

    def _state(self, known: KnownTopic) -> _TopicState:
        topic, partitions = known
        return _TopicState(topic, partitions, self._of(topic))

    def _of(self, topic: str) -> dict[str, str | None]:
        if topic not in self._consumers:
            self._consumers[topic] = {one.id: one.rack or None for one in self.ordered if topic in one.topics}
        return self._consumers[topic]

    def _together(self, known: Iterable[KnownTopic]) -> Iterable[list[KnownTopic]]:
        """Topics with equal members and equal size."""
        together: dict[tuple[tuple[tuple[str, str | None], ...], int], list[KnownTopic]] = {}
        for topic, partitions in known:
            consumers = self._of(topic)
            racked = len(partitions) if any(consumers.values()) else 0
            together.setdefault((tuple(consumers.items()), racked), []).append((topic, partitions))
        return together.values()


_leader = lru_cache(maxsize=2)(_Leader)


def _deal_blocks(topic: str, partitions: int, ordered: Sequence[ConsumerMember], shares: Shares) -> None:
    """One block for each time a member lists the topic: up to 3.4, a topic listed twice gives a member two seats."""
    seats = [member.id for member in ordered for listed in member.topics if listed == topic]
    per, extra = divmod(partitions, len(seats))
    start = 0
    for at, member_id in enumerate(seats):
        end = start + per + (at < extra)
        shares[member_id].extend((topic, partition) for partition in range(start, end))
        start = end


def _dealt_together(some: Iterable[_TopicState], *, use_racks: bool) -> tuple[Shares, ...]:
    """The shares of each topic: where racks count, a first pass deals only where they fit."""
    states = list(some)
    if use_racks and len(states) > 1:
        _deal_aligned(states)
    elif states[0].needs_rack:
        _deal(states[0], by_rack=True)
    for state in states:
        _deal(state, by_rack=False)
        if use_racks:
            for share in state.shares.values():
                share.sort()
    return tuple(state.shares for state in states)


def _deal(state: _TopicState, *, by_rack: bool) -> None:
    """Each member takes the first partitions that are left, `by_rack`: of those with a replica in its rack. What a
    member passes over is gone, so all members of a rack go once through its partitions."""
    given: set[int] = set()
    left: dict[str | None, Iterator[int]] = {}
    for member, rack in state.consumers.items():
        place = rack if by_rack else None
        if place not in left:
            left[place] = iter([one for one in state.unassigned if place is None or state.rack_fits(member, one)])
        block = list(islice((one for one in left[place] if one not in given), state.room(member)))
        if block:
            given.update(block)
            state.give(member, block)
    state.gone(given)


def _deal_aligned(states: Sequence[_TopicState]) -> None:
    """Each partition goes to the first member whose rack fits for all topics, and who has room for all of them. Room
    only becomes less, so whoever has none is passed over once."""
    waiting = defaultdict[str | None, deque[tuple[int, str]]](deque)
    for place, (member, rack) in enumerate(states[0].consumers.items()):
        waiting[rack].append((place, member))
    given: set[int] = set()
    for partition in range(len(states[0].racks)):
        shared = frozenset[str].intersection(*(state.racks[partition] for state in states))
        first: list[tuple[int, str]] = []
        for rack in (None, *shared):
            members = waiting[rack]
            while members and not all(state.room(members[0][1]) > 0 for state in states):
                members.popleft()
            first += islice(members, 1)
        if first:
            _, member = min(first)
            given.add(partition)
            for state in states:
                state.give(member, [partition])
    for state in states:
        state.gone(given)
