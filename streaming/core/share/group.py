"""State of one share group, built from its records (types 9 to 15).

Every key stands for itself: the last value wins, a tombstone deletes. Since 4.1 the coordinator assigns a partition
only once its share state was initialized, and writes down which are (type 15), with the names of their topics.

    10 m1 {t} | 11 epoch 1 | 13 m1 {} | 12 epoch 1 | 14 m1 epoch 1 {} | 15 t-0 initializing
    15 t-0 initialized
    11 epoch 2 | 13 m1 {t-0} | 12 epoch 2 | 14 m1 epoch 2 {t-0}

Source: KIP-932; docs/protocol/coordinator-log.md, sections 3.8 and 7.2.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.schemas.group_values import (
    AssignmentEpoch,
    ConsumerMember,
    Current,
    GroupEpoch,
    MemberState,
    PartitionMetadata,
    ResolvedRegex,
    ShareMember,
    ShareStates,
    Target,
)
from rebalance_monitor.schemas.streams_values import (
    ResolvedTopics,
    StreamsCurrent,
    StreamsEpoch,
    StreamsMember,
    StreamsTarget,
    Topology,
)
from rebalance_monitor.streaming.core.targets.group import PartitionsMember, TargetGroup, TopicPartition

METADATA, MEMBER, EPOCH, ASSIGNED, TARGET, CURRENT, STATES = 9, 10, 11, 12, 13, 14, 15


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareView(PartitionsMember):
    """What the records say of one member."""

    metadata: ShareMember | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Topics that it subscribes to, as far as that is known."""
        return () if self.metadata is None else self.metadata.names


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroup(TargetGroup):
    """One group. `topics`: partition counts as the coordinator knew them (4.0); `states`: which partitions have share
    state; `anew`: a partition got it since the newest target; `dated`: that target says when it was computed (4.3)."""

    topics: PartitionMetadata | None = None
    states: ShareStates | None = None
    anew: bool = False
    dated: bool = False
    members: Mapping[str, ShareView] = field(default_factory=dict)

    def arrived(self, member: ShareView) -> bool:
        """Whether a member holds the newest target."""
        return member.state is MemberState.STABLE and member.epoch == self.assignment_epoch

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
        told: dict[bytes, str] = {}
        if self.topics is not None:
            told |= {one.topic: one.name for one in self.topics.topics}
        if self.states is not None:
            told |= {one.topic: one.name for one in self.states.deleting}
            told |= {one.topic: one.name for one in (*self.states.initializing, *self.states.initialized)}
        return told


def take_all(group: ShareGroup, records: Iterable[GroupRecord], at_ms: int) -> ShareGroup:
    """The group after all records of one moment."""
    for record in records:
        group = take(group, record, at_ms)
    return group


def take(group: ShareGroup, record: GroupRecord, at_ms: int) -> ShareGroup:
    """The group after one record; records of other groups change nothing."""
    match record.value:
        case None:
            return _deleted(group, record)
        case GroupEpoch(epoch=epoch, metadata_hash=topics_hash) if record.type == EPOCH:
            return replace(group.raised(epoch, at_ms), metadata_hash=topics_hash)
        case AssignmentEpoch(epoch=epoch, at_ms=computed_ms) if record.type == ASSIGNED:
            after = group.computed(epoch, at_ms if computed_ms is None else computed_ms)
            return replace(after, dated=computed_ms is not None, anew=False)
        case PartitionMetadata() as topics if record.type == METADATA:
            return replace(group, topics=topics)
        case ShareStates() as states:
            after = replace(group, states=states)
            return replace(after, anew=group.anew or bool(_flat(after) - _flat(group)))
        case ShareMember() as metadata:
            return _changed(group, record, replace(_member(group, record), metadata=metadata))
        case Target(partitions=partitions) if record.type == TARGET:
            return _changed(group, record, replace(_member(group, record), target=partitions))
        case Current() as current if record.type == CURRENT:
            return _changed(group, record, _member(group, record).moved(current, at_ms, group.ahead_ms))
        case GroupEpoch() | AssignmentEpoch() | PartitionMetadata() | Target() | Current():
            return group  # of another kind of group
        case ConsumerMember() | ResolvedRegex() | StreamsEpoch() | StreamsMember() | StreamsTarget():
            return group
        case StreamsCurrent() | Topology() | ResolvedTopics():
            return group
        case _:
            assert_never(record.value)


def _flat(group: ShareGroup) -> frozenset[TopicPartition]:
    return frozenset((topic, number) for topic, numbers in group.initialized().items() for number in numbers)


def _member(group: ShareGroup, record: GroupRecord) -> ShareView:
    return group.members.get(record.member or "", ShareView())


def _changed(group: ShareGroup, record: GroupRecord, member: ShareView) -> ShareGroup:
    return replace(group, members={**group.members, record.member or "": member})


def _deleted(group: ShareGroup, record: GroupRecord) -> ShareGroup:
    match record.type:
        case 11:
            return ShareGroup()
        case 9:
            return replace(group, topics=None)
        case 12:
            return replace(group, assignment_epoch=None, assignment_ms=None)
        case 15:
            return replace(group, states=None)
        case 10 | 13 | 14:
            return _without(group, record)
        case _:
            return group


def _without(group: ShareGroup, record: GroupRecord) -> ShareGroup:
    name = record.member or ""
    if name not in group.members:
        return group
    member = group.members[name]
    match record.type:
        case 10:
            member = replace(member, metadata=None)
        case 13:
            member = replace(member, target=None)
        case _:
            member = member.without_current()
    if member != ShareView():
        return _changed(group, record, member)
    return replace(group, members={one: view for one, view in group.members.items() if one != name})


def changed_by(records: Iterable[GroupRecord], group: ShareGroup) -> set[str]:
    """Members that may be others after these records, of those in the group before and of new ones."""
    changed: set[str] = set()
    for record in records:
        if record.type in (MEMBER, TARGET, CURRENT):
            changed.add(record.member or "")
        elif record.type == EPOCH and record.value is None:
            changed |= group.members.keys()
    return changed


def among(group: ShareGroup, names: Collection[str]) -> ShareGroup:
    """The group as if these were its only members, in their order."""
    if len(names) < 2:
        return replace(group, members={name: group.members[name] for name in names if name in group.members})
    return replace(group, members={name: member for name, member in group.members.items() if name in names})
