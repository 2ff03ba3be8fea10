"""`simple` of 4.1: a partition by the hash of the member id, then what the member had, then the rest in turn.

Members with equal subscriptions:
1. The hash of a member's id picks one of all partitions for it.
2. A member keeps partitions of its previous target that nobody was given by hash, up to `desired` partitions.
3. Partitions without a member go to the members in turn; one that has more than `desired` is passed over for good.

Members with different subscriptions have no quota: a hashed partition each, then partitions that no previous target
holds in turn among the topic's subscribers, then everything they had, unless it was handed out already.
"""

from collections.abc import Mapping, Sequence

from rebalance_monitor.assignors.java_order import java_hash, topic_partition_hash
from rebalance_monitor.assignors.java_table import JavaTable
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

_Pairs = dict[TopicPartition, list[str]]
_SIGN = 1 << 31


def assign(group: BrokerGroup, partitions: Mapping[TopicId, Sequence[int]], *, java_version: int = JAVA) -> Outcome:
    """The new targets; `partitions` are the assignable ones of every topic, ascending."""
    orders = Orders(group, java_version)
    members = orders.members()
    before, walk = _previous(members, orders)
    walked = members if not group.homogeneous else members[:1]  # those of one member are those of all
    subscribed = {
        member.id: [(topic, number) for topic in orders.topics_of(member) for number in partitions[topic]]
        for member in walked
    }
    if not group.homogeneous:
        shares = _different(members, subscribed, before)
    elif members[0].names:
        topics = set(orders.topics_of(members[0]))
        kept = [(at, before[at]) for at in walk if at[0] in topics]
        dealt = _equal([member.id for member in members], subscribed[members[0].id], kept)
        if dealt is None:
            return AssignorFailed("PartitionAssignorException")
        shares = dealt
        orders.unsure |= walk.unsure
    else:
        return BrokerResult(shares=dict.fromkeys((member.id for member in members), None))
    return BrokerResult(shares=shares_of((member.id for member in members), shares), unsure=orders.unsure)


def _previous(members: Sequence[BrokerMember], orders: Orders) -> tuple[_Pairs, JavaTable[TopicPartition]]:
    """Members of every partition in the previous targets, and the hash order of these partitions."""
    before: _Pairs = {}
    walk: JavaTable[TopicPartition] = JavaTable(hash_of=topic_partition_hash, computed=True)
    for member in members:
        for topic, numbers in orders.previous(member):
            for number in numbers:
                walk.add((topic, number))
                before.setdefault((topic, number), []).append(member.id)
    return before, walk


def _hashed(member_id: str, partitions: Sequence[TopicPartition]) -> TopicPartition:
    signed = (java_hash(member_id) ^ _SIGN) - _SIGN
    return partitions[abs(signed) % len(partitions)]


def _equal(
    names: Sequence[str],
    partitions: Sequence[TopicPartition],
    kept: Sequence[tuple[TopicPartition, Sequence[str]]],
) -> dict[str, Share] | None:
    """Shares of members with equal subscriptions, or None if all are over the quota and partitions are left."""
    desired = -(-len(partitions) // len(names))
    shares: dict[str, set[TopicPartition]] = {}
    if partitions:
        shares = {name: {_hashed(name, partitions)} for name in names}
    hashed = {at for share in shares.values() for at in share}
    for at, holders in kept:
        for name in holders:
            share = shares.setdefault(name, set())
            if len(share) < desired and at not in hashed:
                share.add(at)
    taken = {at for share in shares.values() for at in share}
    if not _in_turn(names, [at for at in partitions if at not in taken], shares, desired):
        return None
    return {name: _share(share) for name, share in shares.items()}


def _in_turn(
    names: Sequence[str], free: Sequence[TopicPartition], shares: dict[str, set[TopicPartition]], desired: int
) -> bool:
    """Hand out the free partitions in a circle; whether all found a member."""
    circle = list(names)
    turn = 0
    for at in free:
        while circle:
            turn %= len(circle)
            share = shares.setdefault(circle[turn], set())
            if len(share) <= desired:
                share.add(at)
                turn += 1
                break
            del circle[turn]
        else:
            return False
    return True


def _different(
    members: Sequence[BrokerMember], subscribed: Mapping[str, Sequence[TopicPartition]], before: _Pairs
) -> dict[str, Share]:
    walk: JavaTable[str] = JavaTable()
    walk.add_all(member.id for member in members if member.names)
    subscribers: dict[TopicId, dict[str, None]] = {}
    shares: dict[str, set[TopicPartition]] = {}
    given: set[TopicPartition] = set()
    for name in walk:
        for topic, _ in subscribed[name]:
            subscribers.setdefault(topic, {})[name] = None
        if subscribed[name]:
            at = _hashed(name, subscribed[name])
            shares[name] = {at}
            given.add(at)
    for topic, names in subscribers.items():
        circle = list(names)
        free = [at for at in subscribed[circle[0]] if at[0] == topic and at not in given and at not in before]
        for turn, at in enumerate(free):
            shares.setdefault(circle[turn % len(circle)], set()).add(at)
            given.add(at)
    for at, holders in before.items():
        for name in holders:
            if name in subscribers.get(at[0], ()) and at not in given:
                shares.setdefault(name, set()).add(at)
    return {name: _share(share) for name, share in shares.items()}


def _share(partitions: set[TopicPartition]) -> Share:
    share: Share = {}
    for topic, number in partitions:
        share.setdefault(topic, set()).add(number)
    return share
