"""State of one KIP-848 consumer group, built from its records (types 3 to 8 and 16).

Every key stands for itself: the last value wins, a tombstone deletes. Nothing rests on the order of tombstones, because
compaction removes keys one by one. A tombstone of the group epoch ends the group; what is left of it is garbage.

One heartbeat writes several records as one batch. In the midst of it the state breaks laws that hold before and after,
so `take_all` applies the records of one operation (same partition and timestamp) together.

    3 epoch 2 | 5 m1 | 7 m1 {t-0} | 6 epoch 2 | 8 m1 epoch 2 STABLE {t-0}
    -> group epoch 2, assignment epoch 2, m1: target {t-0}, holds {t-0} at epoch 2
"""

from collections.abc import Iterable, Mapping
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
from rebalance_monitor.streaming.core.targets.group import PartitionsMember, TargetGroup

STATIC_AWAY = -2
"""Member epoch of a static member that left for a while: nobody consumes its partitions, and they stay reserved."""

_EPOCH, _METADATA, _MEMBER, _ASSIGNED, _TARGET, _CURRENT, _REGEX = 3, 4, 5, 6, 7, 8, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView(PartitionsMember):
    """What the records say of one member."""

    metadata: ConsumerMember | None = None

    @property
    def away(self) -> bool:
        """Whether it is a static member that left for a while."""
        return self.epoch == STATIC_AWAY


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochGroup(TargetGroup):
    """One group, as its records show it."""

    topics: PartitionMetadata | None = None
    members: Mapping[str, MemberView] = field(default_factory=dict)
    regexes: Mapping[str, ResolvedRegex] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        """Whether every present member is stable at the epoch of the newest target."""
        return all(self.arrived(member) for member in self.members.values() if not member.away)

    @property
    def converged(self) -> bool:
        """Whether no newer target is due either."""
        return not self.behind and self.reached

    def arrived(self, member: MemberView) -> bool:
        """Whether a member holds the newest target."""
        return member.state is MemberState.STABLE and member.epoch == self.assignment_epoch

    def names_of(self, member: MemberView) -> tuple[str, ...]:
        """Topic names that a member subscribes to: its own, then those of its regular expression."""
        if member.metadata is None:
            return ()
        resolved = self.regexes.get(member.metadata.regex) if member.metadata.regex is not None else None
        return tuple(dict.fromkeys((*member.metadata.names, *(resolved.topics if resolved is not None else ()))))


def take_all(group: EpochGroup, records: Iterable[GroupRecord], at_ms: int) -> EpochGroup:
    """The group after all records of one operation."""
    for record in records:
        group = take(group, record, at_ms)
    return group


def take(group: EpochGroup, record: GroupRecord, at_ms: int) -> EpochGroup:
    """The group after one record; records of share and Streams groups change nothing."""
    match record.value:
        case None:
            return _deleted(group, record)
        case GroupEpoch(epoch=epoch, metadata_hash=topics_hash) if record.type == _EPOCH:
            return replace(group.raised(epoch, at_ms), metadata_hash=topics_hash)
        case PartitionMetadata() as topics if record.type == _METADATA:
            return replace(group, topics=topics)
        case AssignmentEpoch(epoch=epoch, at_ms=computed_ms) if record.type == _ASSIGNED:
            return group.computed(epoch, at_ms if computed_ms is None else computed_ms)
        case ConsumerMember() as metadata:
            return _changed(group, record, replace(_member(group, record), metadata=metadata))
        case Target(partitions=partitions) if record.type == _TARGET:
            return _changed(group, record, replace(_member(group, record), target=partitions))
        case Current() as current if record.type == _CURRENT:
            return _changed(group, record, _member(group, record).moved(current, at_ms))
        case ResolvedRegex() as resolved:
            return replace(group, regexes={**group.regexes, record.member or "": resolved})
        case GroupEpoch() | PartitionMetadata() | AssignmentEpoch() | Target() | Current():
            return group  # of a share or Streams group
        case ShareMember() | ShareStates() | StreamsEpoch() | StreamsMember() | StreamsTarget() | StreamsCurrent():
            return group
        case Topology() | ResolvedTopics():
            return group
        case _:
            assert_never(record.value)


def _member(group: EpochGroup, record: GroupRecord) -> MemberView:
    return group.members.get(record.member or "", MemberView())


def _changed(group: EpochGroup, record: GroupRecord, member: MemberView) -> EpochGroup:
    return replace(group, members={**group.members, record.member or "": member})


def _deleted(group: EpochGroup, record: GroupRecord) -> EpochGroup:
    match record.type:
        case 3:
            return EpochGroup()
        case 4:
            return replace(group, topics=None)
        case 6:
            return replace(group, assignment_epoch=None, assignment_ms=None)
        case 16:
            return replace(group, regexes={name: one for name, one in group.regexes.items() if name != record.member})
        case 5 | 7 | 8:
            return _without(group, record)
        case _:
            return group


def _without(group: EpochGroup, record: GroupRecord) -> EpochGroup:
    name = record.member or ""
    if name not in group.members:
        return group
    member = group.members[name]
    match record.type:
        case 5:
            member = replace(member, metadata=None)
        case 7:
            member = replace(member, target=None)
        case _:
            member = member.without_current()
    others = {one: view for one, view in group.members.items() if one != name}
    return replace(group, members=others if member == MemberView() else {**group.members, name: member})
