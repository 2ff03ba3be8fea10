"""`uniform` of 3.7 (preview): racks first, then what members had, then turns.

Members with equal topics have a quota of `low` partitions, and `extra` of them one more.
1. Members in hash order keep the first partitions of their previous target, up to the quota. Where racks count, only
   partitions with a replica in the member's rack are kept.
2. Where racks count, partitions with the fewest members in their racks go first, each to such a member with room.
3. The rest, sorted by topic id and number: back to its previous owner if that has room, else to the next in turn.

Groups with different topics: `assignors.broker.uniform_before_4_0`. Different existing topics count, not names.
"""

from collections.abc import Sequence

from rebalance_monitor.assignors.java_order import uuid_key
from rebalance_monitor.assignors.java_table import JavaTable
from . import uniform_before_4_0
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
    TopicPartition,
    shares_of,
)
from .rack_info import RackInfo


class _Round:
    """The partitions without a member, and the members that may still take some."""

    def __init__(self, members: Sequence[BrokerMember], free: set[TopicPartition], extra: int) -> None:
        self.shares: dict[str, Share] = {member.id: {} for member in members}
        self.sizes = {member.id: 0 for member in members}
        self.free = free
        self.extra = extra
        self.missing: dict[str, int] = {}
        self.walk: JavaTable[str] = JavaTable()

    def give(self, member_id: str, at: TopicPartition) -> None:
        numbers = self.shares[member_id].setdefault(at[0], set())
        if at[1] not in numbers:
            numbers.add(at[1])
            self.sizes[member_id] += 1
        self.free.discard(at)

    def offer(self, member_id: str, at: TopicPartition) -> bool:
        """Give a partition to a member below its quota, or above it by an extra one; whether it took it."""
        missing = self.missing[member_id]
        if missing > 0:
            self.missing[member_id] = missing - 1
            if missing == 1 and self.extra == 0:
                self._full(member_id)
        elif self.extra > 0:
            self.extra -= 1
            self._full(member_id)
        else:
            return False
        self.give(member_id, at)
        return True

    def wants(self, member_id: str, missing: int) -> None:
        self.missing[member_id] = missing
        self.walk.add(member_id)

    def _full(self, member_id: str) -> None:
        del self.missing[member_id]
        self.walk.remove(member_id)


def assign(group: BrokerGroup, *, java_version: int = JAVA) -> Outcome:
    """The new targets that a coordinator of 3.7 computes."""
    orders = Orders(group, java_version)
    members = orders.members()
    if len({frozenset(orders.topics_of(member)) for member in members}) > 1:
        return uniform_before_4_0.assign(group, racks=True, java_version=java_version)
    topics = orders.topics_of(members[0])
    if not topics:
        return BrokerResult(shares=dict.fromkeys((member.id for member in members), None))
    counts = group.counts()
    racks = RackInfo(group, members, topics)
    free = {(topic, number) for topic in topics for number in range(counts[topic])}
    low, extra = divmod(len(free), len(members))
    state = _Round(members, free, extra)
    owners = _keep(state, members, orders, racks, set(topics), low)
    if racks.useful:
        for at in racks.with_near_members(list(state.free)):
            for name in racks.near(at, state.sizes.__getitem__):
                if name in state.missing and state.offer(name, at):
                    break
    _deal_in_turn(state, owners)
    if state.free:
        return AssignorFailed("PartitionAssignorException")
    unsure = orders.unsure or state.walk.unsure
    return BrokerResult(shares=shares_of(state.shares, state.shares), unsure=unsure)


def _keep(
    state: _Round, members: Sequence[BrokerMember], orders: Orders, racks: RackInfo, topics: set[TopicId], low: int
) -> dict[TopicPartition, str]:
    """Step 1; returns the owners of partitions that stand in a wrong rack."""
    owners: dict[TopicPartition, str] = {}
    for member in members:
        fitting: list[TopicPartition] = []
        for topic, numbers in orders.previous(member):
            for at in ((topic, number) for number in numbers if topic in topics):
                if racks.useful and racks.mismatch(member.id, at):
                    owners[at] = member.id
                else:
                    fitting.append(at)
        keeps_extra = len(fitting) > low and state.extra > 0
        for at in fitting[: low + keeps_extra]:
            state.give(member.id, at)
        state.extra -= keeps_extra
        if len(fitting) <= low:
            state.wants(member.id, low - len(fitting))
    return owners


def _deal_in_turn(state: _Round, owners: dict[TopicPartition, str]) -> None:
    turn = list(state.walk)
    for at in sorted(state.free, key=lambda at: (uuid_key(at[0]), at[1])):
        owner = owners.get(at)
        if owner is not None and owner in state.missing:
            given = state.offer(owner, at)
            if owner not in state.missing and owner in turn:
                turn.remove(owner)
            if given:
                continue
        tried = 0
        given = False
        while tried < len(turn) and not given:
            name = turn.pop(0)
            tried += 1
            if name in state.missing:
                given = state.offer(name, at)
            if name in state.missing:
                turn.append(name)
