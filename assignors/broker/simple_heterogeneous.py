"""`simple` since 4.2 for members with different subscriptions: every topic is balanced on its own.

The steps of `assignors.broker.simple_homogeneous` run for each topic among its subscribers. A member that holds a topic
it no longer subscribes to has the count 0 there and gives everything away. A topic that no member subscribes to any
more is not looked at: its holders keep it in their targets.

    t:2, u:2; M1{t}, M2{u}, M3{t,u}: t is shared by M1 and M3, u by M2 and M3, one partition each
"""

from collections.abc import Mapping, Sequence

from rebalance_monitor.assignors.java_table import JavaTable
from .model import JAVA, AssignorFailed, BrokerGroup, BrokerResult, Orders, Outcome, TopicId, shares_of
from .share_quotas import Circle, NoMembersLeft, counts_of, number_hash, sharing_of, sized


class _Topic:
    """One topic while it is balanced; members are numbers in hash order."""

    def __init__(self, partitions: Sequence[int], subscribers: Sequence[int], members: int) -> None:
        self.partitions = partitions
        self.subscribers = subscribers
        self.sharing = sharing_of(len(partitions), len(subscribers))
        self.counts = [0] * members
        for member, count in zip(subscribers, counts_of(len(partitions), len(subscribers)), strict=True):
            self.counts[member] = count
        self.walk: JavaTable[int] = JavaTable(number_hash, sized(len(partitions)), computed=True)
        self.of_partition: dict[int, JavaTable[int]] = {}
        self.member_walk: JavaTable[int] = JavaTable(number_hash, sized(len(subscribers)), computed=True)
        self.of_member: dict[int, JavaTable[int]] = {}

    def keep(self, member: int, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.holders(number).add(member)
            self.held_by(member).add(number)

    def holders(self, number: int, capacity: int = 16) -> JavaTable[int]:
        self.walk.add(number)
        if number not in self.of_partition:
            self.of_partition[number] = JavaTable(number_hash, capacity)
        return self.of_partition[number]

    def held_by(self, member: int) -> JavaTable[int]:
        self.member_walk.add(member)
        return self.of_member.setdefault(member, JavaTable(hash_of=number_hash))

    def balance(self) -> None:
        for member in self.member_walk:
            held = self.of_member[member]
            for number in list(held)[: max(0, len(held) - self.counts[member])]:
                self._take(member, number)
        for number in self.walk:
            holders = self.of_partition[number]
            for member in list(holders)[: max(0, len(holders) - self.sharing)]:
                self._take(member, number)
        for number in self.partitions:
            self.holders(number, sized(len(self.subscribers)))
        self._fill()

    def _fill(self) -> None:
        unfilled: JavaTable[int] = JavaTable(number_hash, sized(len(self.counts)))
        unfilled.add_all(
            member for member in self.subscribers if len(self.of_member.get(member, ())) < self.counts[member]
        )
        circle = Circle(unfilled)
        for number in self.walk:
            holders = self.of_partition[number]
            for member in circle.wanted_by(set(holders), self.sharing - len(holders)):
                self.held_by(member).add(number)
                if len(self.of_member[member]) >= self.counts[member]:
                    unfilled.remove(member)
            if not unfilled:
                return

    def _take(self, member: int, number: int) -> None:
        self.of_partition[number].remove(member)
        self.of_member[member].remove(number)

    @property
    def unsure(self) -> bool:
        return self.walk.unsure or self.member_walk.unsure or any(table.unsure for table in self.of_member.values())


def assign(group: BrokerGroup, partitions: Mapping[TopicId, Sequence[int]], *, java_version: int = JAVA) -> Outcome:
    """The new targets; `partitions` are the assignable ones of every topic, ascending."""
    orders = Orders(group, java_version)
    members = orders.members()
    names = [member.id for member in members]
    subscribers: dict[TopicId, list[int]] = {}
    for index, member in enumerate(members):
        for topic in orders.topics_of(member):
            subscribers.setdefault(topic, []).append(index)
    if not subscribers:
        return BrokerResult(shares=dict.fromkeys(names, None))
    previous = [dict(orders.previous(member)) for member in members]
    shares = {name: {topic: set(numbers) for topic, numbers in previous[at].items()} for at, name in enumerate(names)}
    unsure = orders.unsure
    for topic, indexes in subscribers.items():
        state = _Topic(partitions[topic], indexes, len(members))
        for index in range(len(members)):
            state.keep(index, previous[index].get(topic, ()))
        try:
            state.balance()
        except NoMembersLeft:
            return AssignorFailed("NoSuchElementException")
        for index, held in state.of_member.items():
            shares[names[index]][topic] = set(held)
        unsure |= state.unsure
    return BrokerResult(shares=shares_of(names, shares), unsure=unsure)
