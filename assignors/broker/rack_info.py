"""Racks of members and partitions as `uniform` of 3.7 sees them. No later release of the broker looks at racks.

Racks count only if a member's rack holds a replica and not every partition has a replica in every rack.
"""

from collections.abc import Callable, Sequence

from rebalance_monitor.assignors.java_order import uuid_key
from rebalance_monitor.assignors.java_table import hash_map_order
from .model import BrokerGroup, BrokerMember, TopicId, TopicPartition


class RackInfo:
    """Which members share a rack with a partition. `members` are in hash order, `topics` those of the group."""

    def __init__(self, group: BrokerGroup, members: Sequence[BrokerMember], topics: Sequence[TopicId]) -> None:
        by_rack: dict[str, list[str]] = {}
        for member in members:
            if member.rack:
                by_rack.setdefault(member.rack, []).append(member.id)
        by_id = {topic.id: topic for topic in group.topics.values()}
        self._racks: dict[TopicPartition, frozenset[str]] = {}
        if by_rack:
            for topic in topics:
                racks = by_id[topic].racks
                for number in range(by_id[topic].partitions):
                    self._racks[topic, number] = racks[number] if number < len(racks) else frozenset()
        everywhere = frozenset().union(*self._racks.values())
        self.useful = bool(everywhere & by_rack.keys()) and any(racks != everywhere for racks in self._racks.values())
        self.rack_of = {member.id: member.rack for member in members if member.rack} if self.useful else {}
        self._near: dict[TopicPartition, list[str]] = {}
        if self.useful:
            for at, near in self._racks.items():
                walk = hash_map_order(sorted(near)).keys()
                self._near[at] = [name for rack in walk for name in by_rack.get(rack, ())]

    def mismatch(self, member_id: str, at: TopicPartition) -> bool:
        """Whether the member has no rack or the partition no replica there."""
        return self.rack_of.get(member_id) not in self._racks.get(at, ())

    def near(self, at: TopicPartition, size_of: Callable[[str], int]) -> list[str]:
        """Members in the racks of a partition, those with the fewest partitions first.

        Kafka sorts its list in place, so members of equal size keep the order of the call before.
        """
        listed = self._near.get(at, [])
        listed.sort(key=size_of)
        return listed

    def with_near_members(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Those partitions that have members in their racks, the ones with the fewest first."""
        found = [at for at in partitions if self._near.get(at)]
        return sorted(found, key=lambda at: (len(self._near[at]), uuid_key(at[0]), at[1]))
