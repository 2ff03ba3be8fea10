"""What a sticky leader sees of its group before it decides: the order of its maps, and racks where they count.

Java's orders are made explicit once: members in the order of the leader's map of subscriptions, known topics in the
order of its map of partitions, and ranks by which ids and topics sort as Java sorts strings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from rebalance_monitor.assignors.java_order import sorted_names
from .model import ConsumerMember, TopicPartition, TopicRacks, hash_ordered
from .sticky_eras import StickyEra


class CannotAssign(Exception):
    """Kafka's own class fails on this group; the message is the simple name of its exception."""


NO_STATE = "IllegalStateException"
"""A leader that finds its own sums wrong."""
NO_SUCH_MEMBER = "NullPointerException"
"""A leader that looks up a member or a partition which it has set aside."""


@dataclass(slots=True)
class Racks:
    """The racks that a leader goes by; empty where it ignores racks.

    `of_member`: the members with a rack. `near`: how many members share a rack with a partition, once for each rack of
    the partition; filled whenever some member has a rack, even if racks are ignored in the end.
    """

    of_member: dict[str, str]
    of_partition: dict[TopicPartition, frozenset[str]]
    near: dict[TopicPartition, int]

    def mismatch(self, member: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack and no replica is in it."""
        rack = self.of_member.get(member)
        return rack is not None and rack not in self.of_partition.get(partition, ())


@dataclass(frozen=True)
class Group:
    """One group as its leader sees it. `members` in the order of the map of subscriptions; `counts` maps each known
    topic to its number of partitions, in the order of the map of partitions."""

    members: tuple[ConsumerMember, ...]
    counts: dict[str, int]
    topics: TopicRacks
    era: StickyEra
    cooperative: bool
    order_unsure: bool

    @cached_property
    def by_id(self) -> dict[str, ConsumerMember]:
        return {member.id: member for member in self.members}

    @cached_property
    def member_rank(self) -> dict[str, int]:
        """Place of each member id among all, as Java sorts strings."""
        return {name: rank for rank, name in enumerate(sorted_names(member.id for member in self.members))}

    @cached_property
    def topic_rank(self) -> dict[str, int]:
        """Place of each known topic among all, as Java sorts strings; in this order."""
        return {topic: rank for rank, topic in enumerate(sorted_names(self.counts))}

    @cached_property
    def partitions(self) -> int:
        """Number of all partitions of known topics."""
        return sum(self.counts.values())

    def partitions_of(self, topics: Sequence[str]) -> list[TopicPartition]:
        """All partitions of these topics, ascending inside each."""
        return [(topic, number) for topic in topics for number in range(self.counts[topic])]

    @cached_property
    def racks(self) -> Racks:
        """What racks the leader goes by."""
        of_member = {member.id: member.rack for member in self.members if member.rack} if self.era.racks else {}
        if not of_member:
            return Racks({}, {}, {})
        everywhere = {
            (topic, number): racks for topic in self.counts for number, racks in enumerate(self.topics[topic])
        }
        in_rack: dict[str, int] = {}
        for rack in of_member.values():
            in_rack[rack] = in_rack.get(rack, 0) + 1
        near = {tp: sum(in_rack.get(rack, 0) for rack in racks) for tp, racks in everywhere.items()}
        union = frozenset().union(*everywhere.values())
        if union.isdisjoint(in_rack) or all(racks == union for racks in everywhere.values()):
            return Racks({}, {}, near)
        return Racks(of_member, everywhere, near)


def group_of(members: Sequence[ConsumerMember], topics: TopicRacks, era: StickyEra, *, cooperative: bool) -> Group:
    """The group as the leader of this era sees it; `members` in JoinGroup order."""
    by_id = {member.id: member for member in members}
    ids, ids_unsure = hash_ordered(by_id)
    ordered = tuple(by_id[name] for name in ids)
    first, first_unsure = hash_ordered(dict.fromkeys(chain.from_iterable(member.topics for member in ordered)))
    known, known_unsure = hash_ordered([topic for topic in first if topics.get(topic)])
    return Group(
        members=ordered,
        counts={topic: len(topics[topic]) for topic in known},
        topics=topics,
        era=era,
        cooperative=cooperative,
        order_unsure=ids_unsure or first_unsure or known_unsure,
    )
