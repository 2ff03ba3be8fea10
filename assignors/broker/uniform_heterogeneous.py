"""`uniform` for a group whose members subscribe to different topics (KIP-848; releases since 4.0).

Members are numbered in hash order. First every partition that no subscriber holds goes to the subscriber with the
fewest partitions, topic by topic. Then topics are balanced one by one, among their subscribers alone, until a whole
round over all topics moves nothing; after 16 rounds it ends anyway.

    x:4 y:2; A{x} holds x-0..x-3, B{x,y} holds nothing
    free: y-0, y-1 -> B (the only subscriber). Sizes A 4, B 2.
    balance x: the partition with the highest number that the fullest member holds goes to the emptiest: x-3 -> B.
    Sizes 3 and 3: done. A {x-0, x-1, x-2}, B {x-3, y-0, y-1}.

A `_Balancer` walks the subscribers of one topic from both ends of a list that is sorted once. The range of members with
the fewest partitions grows to the right by one level whenever everybody in it was served; the range of those with the
most grows to the left in the same way. The list keeps its order although the sizes change, and so the walk never looks
at a size twice.
"""

from rebalance_monitor.assignors.java_order import uuid_key
from .model import (
    JAVA,
    AssignorFailed,
    BrokerGroup,
    BrokerMember,
    BrokerResult,
    Orders,
    Outcome,
    Share,
    TopicId,
    shares_of,
)

_MAX_ROUNDS = 16
_NOBODY = -1


class _State:
    """Who owns what while partitions are handed out; members are indexes in hash order."""

    def __init__(self, members: list[BrokerMember], orders: Orders) -> None:
        self.counts = orders.group.counts()
        self.subscribers: dict[TopicId, list[int]] = {}
        self.sizes = [0] * len(members)
        self.owner: dict[TopicId, list[int]] = {}
        # What two members claimed stays in both shares unless it moves; `owner` names the last one.
        self.shares: list[Share] = [{} for _ in members]
        for index, member in enumerate(members):
            for topic in orders.topics_of(member):
                self.subscribers.setdefault(topic, []).append(index)
        for topic in self.subscribers:
            self.owner[topic] = [_NOBODY] * self.counts[topic]
        for index, member in enumerate(members):
            subscribed = set(orders.topics_of(member))
            for topic, numbers in member.previous:
                if topic in subscribed:
                    self.shares[index][topic] = set(numbers)
                    self.sizes[index] += len(self.shares[index][topic])
                    for number in numbers:
                        self.owner[topic][number] = index

    def give(self, topic: TopicId, number: int, index: int) -> None:
        before = self.owner[topic][number]
        if before != _NOBODY:
            self.sizes[before] -= 1
            self.shares[before][topic].discard(number)
        self.owner[topic][number] = index
        self.sizes[index] += 1
        self.shares[index].setdefault(topic, set()).add(number)

    def sorted_topics(self) -> list[TopicId]:
        """Topics with many partitions per subscriber first, then those with few subscribers, then by id."""

        def key(topic: TopicId) -> tuple[float, int, bytes]:
            subscribers = len(self.subscribers[topic])
            return -(self.counts[topic] / subscribers), subscribers, uuid_key(topic)

        return sorted(self.subscribers, key=key)


class _Balancer:
    """Walks the subscribers of one topic, the emptiest from the left and the fullest from the right."""

    def __init__(self, state: _State, topic: TopicId) -> None:
        self._sizes = sizes = state.sizes
        self._sorted = order = sorted(state.subscribers[topic], key=lambda index: (sizes[index], index))
        self._low_end = self._low_next = 0
        self._low_level = sizes[order[0]] - 1
        self._high_start = self._high_end = len(order)
        self._high_next = len(order) - 1
        self._high_level = sizes[order[-1]] + 1
        self.gap = sizes[order[-1]] - sizes[order[0]]

    @property
    def balanced(self) -> bool:
        return self._high_level - self._low_level <= 1

    def least(self) -> int:
        """The next member of those with the fewest partitions."""
        if self._low_next >= self._low_end:
            self._low_level += 1
            while self._low_end < len(self._sorted) and self._size_at(self._low_end) == self._low_level:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._sorted[self._low_next - 1]

    def most(self) -> int | None:
        """The next member of those with the most partitions; None once all were excluded."""
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                self._high_level = self._size_at(self._high_start - 1)  # everybody of the level was excluded
            else:
                self._high_level -= 1
            while self._high_start > 0 and self._size_at(self._high_start - 1) == self._high_level:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        self._high_next -= 1
        return self._sorted[self._high_next + 1]

    def exclude(self) -> None:
        """Leave out the member that `most` returned last: it has no partition of this topic left."""
        at, last = self._high_next + 1, self._high_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._high_end = last

    def _size_at(self, place: int) -> int:
        return self._sizes[self._sorted[place]]


def assign(group: BrokerGroup, *, java_version: int = JAVA) -> Outcome:
    """The new targets. Sizes may differ by more than one over the whole group: balance holds per topic."""
    orders = Orders(group, java_version)
    members = orders.members()
    try:
        state = _State(members, orders)
    except IndexError:  # a previous target names a partition that does not exist
        return AssignorFailed("ArrayIndexOutOfBoundsException")
    if not state.subscribers:
        return BrokerResult(shares=dict.fromkeys((member.id for member in members), None), unsure=orders.unsure)
    for topic in state.sorted_topics():
        free = [number for number, index in enumerate(state.owner[topic]) if index == _NOBODY]
        if free:
            balancer = _Balancer(state, topic)
            for number in free:
                state.give(topic, number, balancer.least())
    _balance_all(state)
    shares = {member.id: share for member, share in zip(members, state.shares, strict=True)}
    return BrokerResult(shares=shares_of((member.id for member in members), shares), unsure=orders.unsure)


def _balance_all(state: _State) -> None:
    shared = [topic for topic in state.sorted_topics() if len(state.subscribers[topic]) > 1]
    last: TopicId | None = None
    for _ in range(_MAX_ROUNDS):
        for topic in shared:
            if topic == last:
                return
            if _balance(state, topic) or last is None:
                last = topic


def _balance(state: _State, topic: TopicId) -> int:
    """Move partitions of one topic from the fullest to the emptiest subscribers; how many were moved."""
    balancer = _Balancer(state, topic)
    if balancer.gap <= 1:
        return 0
    held: dict[int, list[int]] = {}
    for number, index in enumerate(state.owner[topic]):
        held.setdefault(index, []).append(number)
    moved = 0
    while not balancer.balanced:
        while (giver := balancer.most()) is not None and not held.get(giver):
            balancer.exclude()
        if giver is None:
            return moved
        number = held[giver].pop()
        taker = balancer.least()
        if balancer.balanced:
            return moved
        state.give(topic, number, taker)
        moved += 1
    return moved
