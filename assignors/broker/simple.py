"""The `simple` assignor of share groups (KIP-932), by release.

    3.9, 4.0    every member gets all partitions of its topics
    4.1         one partition per member by the hash of its id, previous ones up to a quota, the rest in turn
    since 4.2   every partition is shared by equally many members, previous targets are kept where they fit

A partition may have several members and a member several partitions; what is balanced is the number of pairs.
"""

from collections.abc import Mapping

from . import simple_4_1, simple_heterogeneous, simple_homogeneous
from .model import JAVA, NEWEST, BrokerGroup, BrokerResult, Orders, Outcome, Release, Share, TopicId

_FIRST_SPARING: Release = (4, 1)
_FIRST_BALANCED: Release = (4, 2)

Assignable = Mapping[TopicId, frozenset[int]]
"""Partitions whose share state is initialized (type 15); since 4.1 no other is assigned."""


def assign(
    group: BrokerGroup, *, release: Release = NEWEST, java_version: int = JAVA, assignable: Assignable | None = None
) -> Outcome:
    """The new targets that a coordinator of `release` computes; without `assignable` every partition counts."""
    if not group.members:
        return BrokerResult(shares={})
    if release < _FIRST_SPARING:
        return _everything(group, java_version)
    partitions = {
        topic.id: [
            number for number in range(topic.partitions) if assignable is None or number in assignable.get(topic.id, ())
        ]
        for topic in group.topics.values()
    }
    if release < _FIRST_BALANCED:
        return simple_4_1.assign(group, partitions, java_version=java_version)
    if group.homogeneous:
        return simple_homogeneous.assign(group, partitions, java_version=java_version)
    return simple_heterogeneous.assign(group, partitions, java_version=java_version)


def _everything(group: BrokerGroup, java_version: int) -> BrokerResult:
    orders = Orders(group, java_version)
    counts = group.counts()
    shares: dict[str, Share | None] = {
        member.id: {topic: set(range(counts[topic])) for topic in orders.topics_of(member)} if member.names else None
        for member in group.members
    }
    return BrokerResult(shares=shares)
