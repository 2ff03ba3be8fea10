"""Kafka's `roundrobin` assignor: all partitions dealt in one circle over all members.

Topics go in string order, partitions ascending; a member that does not subscribe to the topic is skipped, and the
cursor stays behind the member that was served last. Neither racks nor earlier ownership play a part.

    a:3 b:3 c:2; m1{a,b,c}, m2{b} with static id zz, m3{a,c}; the circle is m2 (static) m1 m3
    a-0 m1, a-1 m3, a-2 m1, b-0 m2, b-1 m1, b-2 m2, c-0 m1, c-1 m3
"""

from collections.abc import Sequence

from rebalance_monitor.assignors.java_order import utf16_key
from .model import (
    NEWEST,
    ConsumerEra,
    ConsumerMember,
    ConsumerResult,
    TopicPartition,
    TopicRacks,
    member_order,
    subscribed_topics,
)


def recompute(members: Sequence[ConsumerMember], topics: TopicRacks, *, era: ConsumerEra = NEWEST) -> ConsumerResult:
    """Every member's partitions in the order of the leader's lists, and whether Java's hash order could be followed."""
    circle = member_order(members, era)
    subscribed = {member.id: frozenset(member.topics) for member in members}
    names, unsure = subscribed_topics(members)
    shares: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
    at = 0
    for topic in sorted(set(names), key=utf16_key):
        for partition in range(len(topics.get(topic, ()))):
            while topic not in subscribed[circle[at].id]:
                at = (at + 1) % len(circle)
            shares[circle[at].id].append((topic, partition))
            at = (at + 1) % len(circle)
    return ConsumerResult(shares={name: tuple(share) for name, share in shares.items()}, order_unsure=unsure)
