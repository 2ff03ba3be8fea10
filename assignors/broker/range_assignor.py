"""The broker's `range` assignor (KIP-848): per topic, one contiguous block for each subscriber in a fixed order.

Static members come first, by instance id; the others follow by member id. In that order the first members of each topic
get one partition more while there are extras. Topics with the same subscribers are cut alike, so co-partitioned topics
stay aligned.

    t:5, u:3; m1{t,u}, m2{t}, m3{t,u} with instance id "a"; the order is m3 m1 m2
    t: 2, 2, 1 -> m3 0-1, m1 2-3, m2 4;  u: 2, 1 -> m3 0-1, m1 2

So since 3.9. Releases 3.7 and 3.8 keep what members have first (`assignors.broker.range_before_3_9`).
"""

from rebalance_monitor.assignors.java_order import utf16_key
from . import range_before_3_9
from .model import (
    JAVA,
    NEWEST,
    BrokerGroup,
    BrokerMember,
    BrokerResult,
    Orders,
    Outcome,
    Release,
    Share,
    TopicId,
    shares_of,
)

_FIRST_NOT_STICKY: Release = (3, 9)


def member_order(group: BrokerGroup) -> list[BrokerMember]:
    """Members in the order in which blocks are handed out."""

    def key(member: BrokerMember) -> tuple[bool, bytes]:
        static = member.instance_id is not None
        return not static, utf16_key(member.instance_id if member.instance_id is not None else member.id)

    return sorted(group.members, key=key)


def assign(group: BrokerGroup, *, release: Release = NEWEST, java_version: int = JAVA) -> Outcome:
    """The new targets that a coordinator of `release` computes."""
    if release < _FIRST_NOT_STICKY:
        return range_before_3_9.assign(group, java_version=java_version)
    orders = Orders(group, java_version)
    members = member_order(group)
    alike = group.homogeneous
    topics_of = {member.id: orders.topics_of(members[0] if alike else member) for member in members}
    subscribers: dict[TopicId, list[str]] = {}
    for member in members:
        for topic in topics_of[member.id]:
            subscribers.setdefault(topic, []).append(member.id)
    counts = group.counts()
    shares: dict[str, Share] = {}
    for topic, names in subscribers.items():
        low, extra = divmod(counts[topic], len(names))
        start = 0
        for at, name in enumerate(names):
            end = start + low + (at < extra)
            shares.setdefault(name, {})[topic] = set(range(start, end))
            start = end
    return BrokerResult(shares=shares_of((member.id for member in members), shares))
