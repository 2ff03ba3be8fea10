"""State of one KIP-848 consumer group or Streams group, built from its records (types 3 to 8 and 16; 17 to 23).

Every key stands for itself: the last value wins, a tombstone deletes. Nothing rests on the order of tombstones, because
compaction removes keys one by one. A tombstone of the group epoch ends the group; what is left of it is garbage.

One heartbeat writes several records as one batch. In the midst of it the state breaks laws that hold before and after,
so `take_all` applies the records of one operation (same partition and timestamp) together.

    3 epoch 2 | 5 m1 | 7 m1 {t-0} | 6 epoch 2 | 8 m1 epoch 2 STABLE {t-0}
    -> group epoch 2, assignment epoch 2, m1: target {t-0}, holds {t-0} at epoch 2

The records of a Streams group (KIP-1071) say the same of tasks in a role, and once what the topology is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

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
from rebalance_monitor.streaming.core.targets.group import TargetGroup, TargetMember
from rebalance_monitor.streaming.core.targets.stated import OF_MEMBERS, StatedPart

STATIC_AWAY = -2
"""Member epoch of a static member that left for a while: nobody consumes its partitions, and they stay reserved."""

CONSUMER, STREAMS = "consumer", "streams"
"""Kinds of groups."""

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
FIRST_OF_STREAMS = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView(TargetMember):
    """What the records say of one member. `target`: its partitions; `tasks`: its tasks, in a Streams group;
    `gained_ms`: the time of its last record with an active task that the one before did not have."""

    metadata: ConsumerMember | StreamsMember | None = None
    target: Partitions | None = None
    tasks: StreamsTarget | None = None
    gained_ms: int | None = None

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

    @property
    def untold(self) -> bool:
        """Whether it has or waits for something, and no record tells its target."""
        waits = self.current is not None and self.state is not MemberState.STABLE
        return self.target is None and self.tasks is None and (waits or bool(self.held()))

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

    def subscribing(self, names: tuple[str, ...]) -> Self:
        """The member as if it had joined with these names of topics, and nothing else to say."""
        unsaid = ConsumerMember(
            instance_id=None,
            rack=None,
            client_id="",
            client_host="",
            names=names,
            regex=None,
            rebalance_timeout_ms=0,
            server_assignor=None,
            classic=None,
        )
        return replace(self, metadata=unsaid)

    def without(self, part: StatedPart) -> Self:
        """The member after the tombstone of one of its records."""
        match part:
            case StatedPart.MEMBER:
                return replace(self, metadata=None)
            case StatedPart.TARGET:
                return replace(self, target=None, tasks=None)
            case _:
                return replace(self.without_current(), gained_ms=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochGroup(TargetGroup):
    """One group, as its records show it.

    Of a Streams group: `topology`; `validated`: the topology epoch for which the coordinator found all topics, and
    `configs` of the last assignment, both None up to 4.1 and where no record states them.
    """

    kind: str = CONSUMER
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

    def unresolved(self, member: MemberView) -> bool:
        """Whether nobody has found yet which topics fit the regular expression of a member. With a new one it has none
        at first, and gives up what it holds before the group gets another epoch."""
        regex = member.metadata.regex if isinstance(member.metadata, ConsumerMember) else None
        return bool(regex) and regex not in self.regexes

    def names_of(self, member: MemberView) -> tuple[str, ...]:
        """Topic names that a member subscribes to: its own, then those of its regular expression. The members of a
        Streams group subscribe to none by themselves."""
        if not isinstance(member.metadata, ConsumerMember):
            return ()
        resolved = self.regexes.get(member.metadata.regex) if member.metadata.regex is not None else None
        return tuple(dict.fromkeys((*member.metadata.names, *(resolved.topics if resolved is not None else ()))))

    @staticmethod
    def parts() -> Mapping[int, StatedPart]:
        """What the records of such a group state, by their types."""
        return PARTS

    def take(self, record: GroupRecord, at_ms: int) -> Self:
        """The group after one record; records of share groups change nothing."""
        part, name = PARTS.get(record.type), record.member or ""
        if part is None:
            return self
        group = self if record.type < FIRST_OF_STREAMS or self.kind == STREAMS else replace(self, kind=STREAMS)
        if record.value is None:
            return _deleted(group, part, name)
        if part in OF_MEMBERS:
            member = self.members.get(name, MemberView())
            return group.told(name, _said(member, record.value, at_ms, self.ahead_ms))
        return _stated(group, record.value, name, at_ms)


G = TypeVar("G", bound=EpochGroup)


def _stated(group: G, value: Value, name: str, at_ms: int) -> G:
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
    held = units.assigned(member.current)
    gained = any(unit not in held for unit in units.tasks_in(units.assigned(current)) if unit[0] == ACTIVE)
    gained_ms = at_ms if gained else member.gained_ms
    return replace(member.moved(current, at_ms, ahead_ms), gained_ms=gained_ms)


def _deleted(group: G, part: StatedPart, name: str) -> G:
    match part:
        case StatedPart.TOPOLOGY:
            return replace(group, topology=None)
        case StatedPart.REGEX:
            return replace(group, regexes={pattern: one for pattern, one in group.regexes.items() if pattern != name})
        case _:
            return group.without(part, name)
