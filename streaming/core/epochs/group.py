"""State of one KIP-848 consumer group or Streams group, built from its records (types 3 to 8 and 16; 17 to 23).

Every key stands for itself: the last value wins, a tombstone deletes. Nothing rests on the order of tombstones, because
compaction removes keys one by one. A tombstone of the group epoch ends the group; what is left of it is garbage.

One heartbeat writes several records as one batch. In the midst of it the state breaks laws that hold before and after,
so `take_all` applies the records of one operation (same partition and timestamp) together.

    3 epoch 2 | 5 m1 | 7 m1 {t-0} | 6 epoch 2 | 8 m1 epoch 2 STABLE {t-0}
    -> group epoch 2, assignment epoch 2, m1: target {t-0}, holds {t-0} at epoch 2

The records of a Streams group (KIP-1071) say the same of tasks in a role, and once what the topology is.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import assert_never

from rebalance_monitor.schemas.group_records import GroupRecord, Value
from rebalance_monitor.schemas.group_values import (
    AssignmentEpoch,
    ClassicMember,
    ConsumerMember,
    Current,
    GroupEpoch,
    MemberState,
    PartitionMetadata,
    Partitions,
    ResolvedRegex,
    State,
    Target,
)
from rebalance_monitor.schemas.streams_values import (
    StreamsCurrent,
    StreamsEpoch,
    StreamsMember,
    StreamsTarget,
    Topology,
)
from rebalance_monitor.streaming.core.epochs import units
from rebalance_monitor.streaming.core.epochs.units import ACTIVE, Units
from rebalance_monitor.streaming.core.targets.group import TargetGroup, TimedMember

STATIC_AWAY = -2
"""Member epoch of a static member that left for a while: nobody consumes its partitions, and they stay reserved."""

CONSUMER, STREAMS = "consumer", "streams"
"""Kinds of groups."""


class StatedPart(Enum):
    """What of a group a record states, whatever the kind of the group."""

    EPOCH = auto()
    ASSIGNED = auto()
    MEMBER = auto()
    TARGET = auto()
    CURRENT = auto()
    METADATA = auto()
    REGEX = auto()
    TOPOLOGY = auto()


PARTS: Mapping[int, StatedPart] = {
    3: StatedPart.EPOCH,
    4: StatedPart.METADATA,
    5: StatedPart.MEMBER,
    6: StatedPart.ASSIGNED,
    7: StatedPart.TARGET,
    8: StatedPart.CURRENT,
    16: StatedPart.REGEX,
    17: StatedPart.EPOCH,
    19: StatedPart.MEMBER,
    20: StatedPart.ASSIGNED,
    21: StatedPart.TARGET,
    22: StatedPart.CURRENT,
    23: StatedPart.TOPOLOGY,
}
"""By record type. Types 9 to 15 are those of share groups; 18 and 24 are written by no release up to 4.3."""
_OF_MEMBERS = (StatedPart.MEMBER, StatedPart.TARGET, StatedPart.CURRENT)
FIRST_OF_STREAMS = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView(TimedMember):
    """What the records say of one member. `target`: its partitions; `tasks`: its tasks, in a Streams group;
    `gained_ms`: the time of its last record with an active task that the one before did not have."""

    metadata: ConsumerMember | StreamsMember | None = None
    target: Partitions | None = None
    current: Current | StreamsCurrent | None = None
    tasks: StreamsTarget | None = None
    gained_ms: int | None = None

    @property
    def state(self) -> MemberState | None:
        """Its state; None where no record says what it holds, or with a state that is not known."""
        return self.current.state if self.current is not None and isinstance(self.current.state, MemberState) else None

    @property
    def epoch(self) -> int | None:
        return None if self.current is None else self.current.epoch

    @property
    def away(self) -> bool:
        """Whether it is a static member that left for a while."""
        return self.epoch == STATIC_AWAY

    @property
    def process(self) -> str | None:
        """The process that a member of a Streams group runs in."""
        return self.metadata.process_id if isinstance(self.metadata, StreamsMember) else None

    @property
    def classic(self) -> ClassicMember | None:
        """What a member says that speaks the classic protocol inside a KIP-848 group."""
        return self.metadata.classic if isinstance(self.metadata, ConsumerMember) else None

    def assigned(self) -> Units:
        """What it may use."""
        return units.assigned(self.current)

    def pending(self) -> Units:
        """What it has to give up and may still use."""
        return units.pending(self.current)

    def held(self) -> Units:
        """What nobody else may get who may not share it."""
        return self.assigned() | self.pending()

    def wanted(self) -> Units:
        """Its target."""
        return units.targeted(self.target, self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochGroup(TargetGroup):
    """One group, as its records show it.

    Of a Streams group: `topology`; `validated`: the topology epoch for which the coordinator found all topics, and
    `configs` of the last assignment, both None up to 4.1 and where no record states them.
    """

    kind: str = CONSUMER
    topics: PartitionMetadata | None = None
    members: Mapping[str, MemberView] = field(default_factory=dict)
    regexes: Mapping[str, ResolvedRegex] = field(default_factory=dict)
    topology: Topology | None = None
    validated: int | None = None
    configs: tuple[tuple[str, str], ...] | None = None

    @property
    def topics_there(self) -> bool | None:
        """Whether the coordinator had found all topics of a Streams group's topology when it raised the epoch; None
        where the record does not tell (4.1). While it has not, nobody is given a task."""
        return None if self.configs is None and self.validated is None else self.validated is not None

    def arrived(self, member: MemberView) -> bool:
        """Whether a member holds the newest target."""
        return member.state is MemberState.STABLE and member.epoch == self.assignment_epoch

    def names_of(self, member: MemberView) -> tuple[str, ...]:
        """Topic names that a member subscribes to: its own, then those of its regular expression. The members of a
        Streams group subscribe to none by themselves."""
        if not isinstance(member.metadata, ConsumerMember):
            return ()
        resolved = self.regexes.get(member.metadata.regex) if member.metadata.regex is not None else None
        return tuple(dict.fromkeys((*member.metadata.names, *(resolved.topics if resolved is not None else ()))))


def take_all(group: EpochGroup, records: Iterable[GroupRecord], at_ms: int) -> EpochGroup:
    """The group after all records of one operation."""
    for record in records:
        group = take(group, record, at_ms)
    return group


def take(group: EpochGroup, record: GroupRecord, at_ms: int) -> EpochGroup:
    """The group after one record; records of share groups change nothing."""
    part = PARTS.get(record.type)
    if part is None:
        return group
    if record.type >= FIRST_OF_STREAMS and group.kind != STREAMS:
        group = replace(group, kind=STREAMS)
    if record.value is None:
        return _deleted(group, record, part)
    if part in _OF_MEMBERS:
        member = group.members.get(record.member or "", MemberView())
        return replace(
            group, members={**group.members, record.member or "": _said(member, record.value, at_ms, group.ahead_ms)}
        )
    return _stated(group, record.value, record.member or "", at_ms)


def _stated(group: EpochGroup, value: Value, name: str, at_ms: int) -> EpochGroup:
    """The group after a record about itself; `name`: a regular expression."""
    match value:
        case GroupEpoch(epoch=epoch, metadata_hash=topics_hash):
            return replace(group.raised(epoch, at_ms), metadata_hash=topics_hash)
        case StreamsEpoch(epoch=epoch, metadata_hash=topics_hash, validated_topology_epoch=validated, configs=configs):
            raised = group.raised(epoch, at_ms)
            return replace(raised, metadata_hash=topics_hash, validated=validated, configs=configs)
        case PartitionMetadata() as topics:
            return replace(group, topics=topics)
        case Topology() as topology:
            return replace(group, topology=topology)
        case AssignmentEpoch(epoch=epoch, at_ms=computed_ms):
            return group.computed(epoch, at_ms if computed_ms is None else computed_ms)
        case ResolvedRegex() as resolved:
            return replace(group, regexes={**group.regexes, name: resolved})
        case _:
            return group


def _said(member: MemberView, value: Value, at_ms: int, ahead_ms: int) -> MemberView:
    """The member after a record about it, in a group with this `ahead_ms`."""
    match value:
        case ConsumerMember() | StreamsMember() as metadata:
            return replace(member, metadata=metadata)
        case Target(partitions=partitions):
            return replace(member, target=partitions)
        case StreamsTarget() as tasks:
            return replace(member, tasks=tasks)
        case Current() | StreamsCurrent() as current:
            return _moved(member, current, at_ms, ahead_ms)
        case _:
            return member


def _moved(member: MemberView, current: Current | StreamsCurrent, at_ms: int, ahead_ms: int) -> MemberView:
    before = member.current
    same = before is not None and _standing(before) == _standing(current)
    held = units.assigned(before)
    gained = any(unit not in held for unit in units.tasks_in(units.assigned(current)) if unit[0] == ACTIVE)
    gained_ms = at_ms if gained else member.gained_ms
    return replace(member.heard(at_ms, ahead_ms, same=same), current=current, gained_ms=gained_ms)


def _standing(current: Current | StreamsCurrent) -> tuple[int, State | None, Units]:
    """What keeps its time-out running: with other units to give up, the coordinator begins it anew."""
    return current.epoch, current.state, units.pending(current)


def _deleted(group: EpochGroup, record: GroupRecord, part: StatedPart) -> EpochGroup:
    match part:
        case StatedPart.EPOCH:
            return EpochGroup()
        case StatedPart.METADATA:
            return replace(group, topics=None)
        case StatedPart.ASSIGNED:
            return replace(group, assignment_epoch=None, assignment_ms=None)
        case StatedPart.TOPOLOGY:
            return replace(group, topology=None)
        case StatedPart.REGEX:
            return replace(group, regexes={name: one for name, one in group.regexes.items() if name != record.member})
        case StatedPart.MEMBER | StatedPart.TARGET | StatedPart.CURRENT:
            return _without(group, record.member or "", part)
        case _:
            assert_never(part)


def _without(group: EpochGroup, name: str, part: StatedPart) -> EpochGroup:
    if name not in group.members:
        return group
    member = group.members[name]
    match part:
        case StatedPart.MEMBER:
            member = replace(member, metadata=None)
        case StatedPart.TARGET:
            member = replace(member, target=None, tasks=None)
        case _:
            member = replace(member.unheard(), current=None, gained_ms=None)
    if member != MemberView():
        return replace(group, members={**group.members, name: member})
    others = {one: view for one, view in group.members.items() if one != name}
    return replace(group, members=others)


def changed_by(records: Iterable[GroupRecord], group: EpochGroup) -> set[str]:
    """Members that may be others after these records, of those in the group before and of new ones."""
    changed: set[str] = set()
    for record in records:
        part = PARTS.get(record.type)
        if part in _OF_MEMBERS:
            changed.add(record.member or "")
        elif part is StatedPart.EPOCH and record.value is None:
            changed |= group.members.keys()
    return changed


def among(group: EpochGroup, names: Collection[str]) -> EpochGroup:
    """The group as if these were its only members, in their order."""
    if len(names) < 2:
        return replace(group, members={name: group.members[name] for name in names if name in group.members})
    return replace(group, members={name: member for name, member in group.members.items() if name in names})
