"""State of one share group, built from its records (types 9 to 15).

Every key stands for itself: the last value wins, a tombstone deletes. Since 4.1 the coordinator assigns a partition
only once its share state was initialized, and writes down which are (type 15), with the names of their topics.

    10 m1 {t} | 11 epoch 1 | 13 m1 {} | 12 epoch 1 | 14 m1 epoch 1 {} | 15 t-0 initializing
    15 t-0 initialized
    11 epoch 2 | 13 m1 {t-0} | 12 epoch 2 | 14 m1 epoch 2 {t-0}

Source: KIP-932; docs/protocol/coordinator-log.md, sections 3.8 and 7.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from rebalance_monitor.schemas.group_records import GroupRecord, Value
from rebalance_monitor.schemas.group_values import (
    AssignmentEpoch,
    Current,
    GroupEpoch,
    PartitionMetadata,
    Partitions,
    ShareMember,
    ShareStates,
    Target,
)
from rebalance_monitor.streaming.core.targets.group import TargetGroup, TargetMember, TopicPartition, flat
from rebalance_monitor.streaming.core.targets.stated import OF_MEMBERS, StatedPart

KIND = "share"
"""The kind of such groups."""
PARTS: Mapping[int, StatedPart] = {
    9: StatedPart.METADATA,
    10: StatedPart.MEMBER,
    11: StatedPart.EPOCH,
    12: StatedPart.ASSIGNED,
    13: StatedPart.TARGET,
    14: StatedPart.CURRENT,
    15: StatedPart.SHARE_STATES,
}
"""By record type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareView(TargetMember):
    """What the records say of one member."""

    metadata: ShareMember | None = None
    target: Partitions | None = None
    current: Current | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Topics that it subscribes to, as far as that is known."""
        return () if self.metadata is None else self.metadata.names

    @property
    def untold(self) -> bool:
        """Whether it has something, and no record tells its target."""
        return self.target is None and bool(self.assigned())

    def assigned(self) -> frozenset[TopicPartition]:
        """What it may consume."""
        return frozenset() if self.current is None else flat(self.current.assigned)

    def pending(self) -> frozenset[TopicPartition]:
        """What it has to give up and may still consume."""
        return frozenset() if self.current is None else flat(self.current.pending_revocation)

    def wanted(self) -> frozenset[TopicPartition]:
        """Its target."""
        return flat(self.target or ())

    def subscribing(self, names: tuple[str, ...]) -> Self:
        """The member as if it had joined with these names of topics, and nothing else to say."""
        return replace(self, metadata=ShareMember(rack=None, client_id="", client_host="", names=names))

    def without(self, part: StatedPart) -> Self:
        """The member after the tombstone of one of its records."""
        match part:
            case StatedPart.MEMBER:
                return replace(self, metadata=None)
            case StatedPart.TARGET:
                return replace(self, target=None)
            case _:
                return self.without_current()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroup(TargetGroup):
    """One group. `states`: which partitions have share state; `anew`: a partition got it since the newest target;
    `dated`: that target says when it was computed (4.3)."""

    states: ShareStates | None = None
    anew: bool = False
    dated: bool = False
    members: Mapping[str, ShareView] = field(default_factory=dict)

    @property
    def subscribed(self) -> tuple[str, ...]:
        """All names that members subscribe to."""
        return tuple(sorted({name for member in self.members.values() for name in member.names}))

    @property
    def wanted(self) -> frozenset[TopicPartition]:
        """Partitions that stand in any target."""
        return frozenset[TopicPartition]().union(*(member.wanted() for member in self.members.values()))

    def initialized(self) -> dict[bytes, frozenset[int]]:
        """Partitions that have share state, by topic id."""
        return {} if self.states is None else {one.topic: frozenset(one.numbers) for one in self.states.initialized}

    def names(self) -> dict[bytes, str]:
        """Names of topics that the records tell, by id."""
        told = TargetGroup.names(self)
        if self.states is not None:
            told |= {one.topic: one.name for one in self.states.deleting}
            told |= {one.topic: one.name for one in (*self.states.initializing, *self.states.initialized)}
        return told

    @staticmethod
    def parts() -> Mapping[int, StatedPart]:
        """What the records of such a group state, by their types."""
        return PARTS

    def take(self, record: GroupRecord, at_ms: int) -> Self:
        """The group after one record; records of other groups change nothing."""
        part, name = PARTS.get(record.type), record.member or ""
        if part is None:
            return self
        if record.value is None:
            return replace(self, states=None) if part is StatedPart.SHARE_STATES else self.without(part, name)
        if part in OF_MEMBERS:
            member = self.members.get(name, ShareView())
            return self.told(name, _said(member, record.value, at_ms, self.ahead_ms))
        return _stated(self, record.value, at_ms)


G = TypeVar("G", bound=ShareGroup)


def _stated(group: G, value: Value, at_ms: int) -> G:
    """The group after a record about itself."""
    match value:
        case GroupEpoch(epoch=epoch, metadata_hash=topics_hash):
            return replace(group.raised(epoch, at_ms), metadata_hash=topics_hash)
        case AssignmentEpoch(epoch=epoch, at_ms=computed_ms):
            after = group.computed(epoch, at_ms if computed_ms is None else computed_ms)
            return replace(after, dated=computed_ms is not None, anew=False)
        case PartitionMetadata() as topics:
            return replace(group, topics=topics)
        case ShareStates() as states:
            after = replace(group, states=states)
            return replace(after, anew=group.anew or bool(_flat(after) - _flat(group)))
        case _:
            return group


def _said(member: ShareView, value: Value, at_ms: int, ahead_ms: int) -> ShareView:
    """The member after a record about it, in a group with this `ahead_ms`."""
    match value:
        case ShareMember() as metadata:
            return replace(member, metadata=metadata)
        case Target(partitions=partitions):
            return replace(member, target=partitions)
        case Current() as current:
            return member.moved(current, at_ms, ahead_ms)
        case _:
            return member


def _flat(group: ShareGroup) -> frozenset[TopicPartition]:
    return frozenset((topic, number) for topic, numbers in group.initialized().items() for number in numbers)
