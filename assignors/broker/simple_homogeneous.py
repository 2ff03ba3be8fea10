"""`simple` since 4.2 for members with equal subscriptions: keep, take away what is too much, fill what lacks.

1. What members hold of subscribed topics is kept. A member with more than its count is overfilled, with less unfilled.
2. An overfilled member gives partitions away, in the hash order of its partitions, until it has its count.
3. A partition with more members than `sharing` loses some, in the order of member numbers.
4. Partitions with fewer members, in hash order, get them from the circle of unfilled members.

    t:4; A {0, 1, 2, 3}, B new: sharing 1, counts 2 and 2; A gives 0 and 1 away, B takes them

Members are numbered in hash order. Some members may miss partitions when the only free ones are theirs already.
"""

from collections.abc import Mapping, Sequence

from rebalance_monitor.assignors.java_order import topic_partition_hash
from rebalance_monitor.assignors.java_table import JavaTable
from .model import JAVA, AssignorFailed, BrokerGroup, BrokerResult, Orders, Outcome, TopicId, TopicPartition, shares_of
from .share_quotas import Circle, NoMembersLeft, counts_of, number_hash, sharing_of, sized


class _State:
    """Who holds what: `target` is the result, `of_member` and `of_partition` what counts towards the quotas."""

    def __init__(self, orders: Orders, partitions: Sequence[TopicPartition]) -> None:
        members = orders.members()
        size = len(members)
        self.partitions = partitions
        self.sharing = sharing_of(len(partitions), size)
        self.counts = counts_of(len(partitions), size)
        self.names = [member.id for member in members]
        self.previous = [orders.previous(member) for member in members]
        self.target: list[dict[TopicId, set[int]]] = [{} for _ in members]
        self.of_member: list[JavaTable[TopicPartition]] = [JavaTable(hash_of=topic_partition_hash) for _ in members]
        self.of_partition: dict[TopicPartition, JavaTable[int]] = {}
        self.walk: JavaTable[TopicPartition] = JavaTable(topic_partition_hash, sized(len(partitions)), computed=True)
        self.unfilled: JavaTable[int] = JavaTable(number_hash, sized(size))
        self.overfilled: JavaTable[int] = JavaTable(number_hash, sized(size))

    def keep(self, topics: set[TopicId]) -> None:
        for member, previous in enumerate(self.previous):
            for topic, numbers in previous:
                if topic in topics:
                    self.target[member][topic] = set(numbers)
                    for number in numbers:
                        self.holders((topic, number)).add(member)
                        self.of_member[member].add((topic, number))
            held = sum(len(numbers) for topic, numbers in previous if topic in topics)
            if held < self.counts[member]:
                self.unfilled.add(member)
            elif held > self.counts[member]:
                self.overfilled.add(member)

    def holders(self, at: TopicPartition) -> JavaTable[int]:
        self.walk.add(at)
        return self.of_partition.setdefault(at, JavaTable(hash_of=number_hash))

    def take(self, member: int, at: TopicPartition) -> None:
        self.target[member][at[0]].discard(at[1])
        self.of_partition[at].remove(member)
        self.of_member[member].remove(at)

    def give(self, member: int, at: TopicPartition) -> None:
        self.target[member].setdefault(at[0], set()).add(at[1])
        self.of_member[member].add(at)

    @property
    def unsure(self) -> bool:
        return self.walk.unsure or any(table.unsure for table in self.of_member)


def assign(group: BrokerGroup, partitions: Mapping[TopicId, Sequence[int]], *, java_version: int = JAVA) -> Outcome:
    """The new targets; `partitions` are the assignable ones of every topic, ascending."""
    orders = Orders(group, java_version)
    members = orders.members()
    if not members[0].names:
        return BrokerResult(shares=dict.fromkeys((member.id for member in members), None))
    topics = orders.topics_of(members[0])
    state = _State(orders, [(topic, number) for topic in topics for number in partitions[topic]])
    state.keep(set(topics))
    _revoke_overfilled(state)
    _revoke_overshared(state)
    for at in state.partitions:
        state.holders(at)
    try:
        _fill(state)
    except NoMembersLeft:
        return AssignorFailed("NoSuchElementException")
    shares = dict(zip(state.names, state.target, strict=True))
    return BrokerResult(shares=shares_of(state.names, shares), unsure=orders.unsure or state.unsure)


def _revoke_overfilled(state: _State) -> None:
    for member in state.overfilled:
        surplus = len(state.of_member[member]) - state.counts[member]
        for at in list(state.of_member[member])[:surplus]:
            state.take(member, at)


def _revoke_overshared(state: _State) -> None:
    for at in state.walk:
        holders = state.of_partition[at]
        for member in list(holders)[: max(0, len(holders) - state.sharing)]:
            state.take(member, at)
            state.unfilled.add(member)


def _fill(state: _State) -> None:
    circle = Circle(state.unfilled)
    for at in state.walk:
        holders = state.of_partition[at]
        for member in circle.wanted_by(set(holders), state.sharing - len(holders)):
            state.give(member, at)
            if len(state.of_member[member]) >= state.counts[member]:
                state.unfilled.remove(member)
        if not state.unfilled:
            return
