"""A group that has targets, built from its records, whatever its protocol (types 3 to 8 and 16; 9 to 15; 17 to 23).

    group epoch 3, assignment epoch 2      a target is due
    group epoch 3, assignment epoch 3      every member is to move to it

Every key stands for itself: the last value wins, a tombstone deletes. Nothing rests on the order of tombstones, because
compaction removes keys one by one. A tombstone of the group epoch ends the group; what is left of it is garbage.

    3 epoch 2 | 5 m1 | 7 m1 {t-0} | 6 epoch 2 | 8 m1 epoch 2 STABLE {t-0}
    -> group epoch 2, assignment epoch 2, m1: target {t-0}, holds {t-0} at epoch 2

The records of a Streams group (KIP-1071) say the same of tasks in a role, and once what the topology is. In a share
group (KIP-932) the coordinator assigns a partition, since 4.1, only once its share state was initialized, and writes
down which are, with the names of their topics.

    11 epoch 1 | 13 m1 {} | 12 epoch 1 | 14 m1 epoch 1 {} | 15 t-0 initializing
    15 t-0 initialized
    11 epoch 2 | 13 m1 {t-0} | 12 epoch 2 | 14 m1 epoch 2 {t-0}

Source: docs/protocol/coordinator-log.md, sections 3, 6 and 7.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.group_records import GroupRecord, Value
from rebalance_monitor.schemas.group_values import (
    AssignmentEpoch,
    ConsumerMember,
    GroupEpoch,
    MemberState,
    PartitionMetadata,
    ResolvedRegex,
    ShareMember,
    ShareStates,
)
from rebalance_monitor.schemas.streams_values import StreamsEpoch, Topology
from . import units
from .member import OF_MEMBERS, StatedPart, TargetMember, later
from .units import HeldUnit, TopicPartition, Units, partitions_in


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetGroup:
    """Epochs and members of one group.

    `epoch` is None before the first record of it and after its tombstone; `epoch_ms`: its time;
    `needed_ms`: the time of the first epoch that has no target yet, or had none before the newest target; `dated`: the
    newest target says when it was computed (4.3);
    `metadata_hash`: that of the subscribed topics as of the epoch (4.1); `topics`: what the coordinator wrote down of
    them (4.0). `ahead_ms`: by how much the times since when members are where they are have to be moved on: time that
    passed by the coordinator's clock alone, and is not counted. They are moved when the group is stored, not for every
    record.

    Of a consumer group: topics that regular expressions stand for; `alike`: what the coordinator took the subscriptions
    for when it compared them last, where a regular expression was resolved or dropped since, else None. Of a Streams
    group: `topology`; `validated`: the topology epoch for which the coordinator found all topics, and `configs` of the
    last assignment, both None up to 4.1 and where no record states them. Of a share group: which partitions have share
    state (`states`); `anew`: a partition got it since the newest target.
    """

    epoch: int | None = None
    epoch_ms: int | None = None
    needed_ms: int | None = None
    metadata_hash: int | None = None
    assignment_epoch: int | None = None
    assignment_ms: int | None = None
    dated: bool = False
    ahead_ms: int = 0
    topics: PartitionMetadata | None = None
    members: Mapping[str, TargetMember] = field(default_factory=dict)
    regexes: Mapping[str, ResolvedRegex] = field(default_factory=dict)
    alike: bool | None = None
    topology: Topology | None = None
    validated: int | None = None
    configs: tuple[tuple[str, str], ...] | None = None
    states: ShareStates | None = None
    anew: bool = False

    @property
    def behind(self) -> bool:
        """Whether a new target is needed and not computed yet."""
        return self.epoch is not None and self.epoch != self.assignment_epoch

    @property
    def topics_there(self) -> bool | None:
        """Whether the coordinator had found all topics of a Streams group's topology when it raised the epoch; None
        where the record does not tell (4.1). While it has not, nobody is given a task."""
        return None if self.configs is None and self.validated is None else self.validated is not None

    @property
    def subscribed(self) -> tuple[str, ...]:
        return tuple(sorted({name for member in self.members.values() for name in self.names_of(member)}))

    @property
    def wanted(self) -> frozenset[TopicPartition]:
        """Partitions that stand in any target."""
        return frozenset[TopicPartition]().union(*(partitions_in(one.wanted()) for one in self.members.values()))

    def initialized(self) -> dict[bytes, frozenset[int]]:
        """Partitions that have share state, by topic id."""
        return {} if self.states is None else {one.topic: frozenset(one.numbers) for one in self.states.initialized}

    def names(self) -> dict[bytes, str]:
        told = {} if self.topics is None else {one.topic: one.name for one in self.topics.topics}
        if self.states is not None:
            told |= {one.topic: one.name for one in self.states.deleting}
            told |= {one.topic: one.name for one in (*self.states.initializing, *self.states.initialized)}
        return told

    def names_of(self, member: TargetMember) -> tuple[str, ...]:
        """Topic names that a member subscribes to: its own, then those of its regular expression. The members of a
        Streams group subscribe to none by themselves."""
        if not isinstance(member.metadata, ConsumerMember | ShareMember):
            return ()
        resolved = self.regexes.get(_regex_of(member) or "")
        return tuple(dict.fromkeys((*member.metadata.names, *(resolved.topics if resolved is not None else ()))))

    def unresolved(self, member: TargetMember) -> bool:
        """Whether nobody has found yet which topics fit the regular expression of a member. With a new one it has none
        at first, and gives up what it holds before the group gets another epoch."""
        regex = _regex_of(member)
        return bool(regex) and regex not in self.regexes

    def arrived(self, member: TargetMember) -> bool:
        return member.state is MemberState.STABLE and member.epoch == self.assignment_epoch

    def lags_since_ms(self, member: TargetMember) -> int | None:
        """Since when a member could have moved to the newest target, by its own times; None if it has, or if nobody
        knows."""
        if member.state is None or member.epoch is None or member.heard_ms is None:
            return None
        if self.assignment_epoch is None or self.assignment_ms is None or member.epoch >= self.assignment_epoch:
            return None
        return max(member.heard_ms, self.assignment_ms - self.ahead_ms)

    def take(self, part: StatedPart, record: GroupRecord, at_ms: int) -> "TargetGroup":
        """The group after one record, which states this part of it."""
        name, group = record.member or "", self._comparing(part)
        if record.value is None:
            return group._without(part, name)
        if part in OF_MEMBERS:
            return group._with_member(
                name, group.members.get(name, TargetMember()).after_record(record.value, at_ms, group.ahead_ms)
            )
        return group._stated(record.value, name, at_ms)

    def _comparing(self, part: StatedPart) -> "TargetGroup":
        """The coordinator compares subscriptions at each record of a member, but not when a regular expression is
        resolved or dropped: until the next record of a member it goes by what it found before."""
        if part is StatedPart.REGEX and self.alike is None:
            return replace(self, alike=self._subscribed_alike())
        if part in (StatedPart.MEMBER, StatedPart.CURRENT) and self.alike is not None:
            return replace(self, alike=None)
        return self

    def _subscribed_alike(self) -> bool | None:
        """Whether the coordinator takes the subscriptions for equal. It counts who names a topic, and which regular
        expressions stand for it, also those that no member has any more. None where a subscription is not known."""
        members = [one.metadata for one in self.members.values() if isinstance(one.metadata, ConsumerMember)]
        if len(members) < len(self.members):
            return None
        named = Counter(name for one in members for name in set(one.names))
        fitting = Counter(name for one in self.regexes.values() for name in set(one.topics))
        regexes = {one.regex for one in members if one.regex}
        if not regexes:
            return all(named[name] == len(members) for name in named | fitting)
        if len(regexes) > 1 or not all(one.regex for one in members):
            return False
        return not named and all(count == 1 for count in fitting.values())

    def raised(self, epoch: int, at_ms: int) -> "TargetGroup":
        """The group at this epoch; a record that repeats it changes nothing."""
        if epoch == self.epoch:
            return self
        return replace(self, epoch=epoch, epoch_ms=at_ms, needed_ms=self.needed_ms if self.behind else at_ms)

    def shifted(self, by_ms: int) -> "TargetGroup":
        """The same by a clock that is so far ahead."""
        return replace(
            self,
            epoch_ms=later(self.epoch_ms, by_ms),
            assignment_ms=later(self.assignment_ms, by_ms),
            ahead_ms=self.ahead_ms + by_ms,
        )

    def settled(self) -> "TargetGroup":
        """The same with the members' times moved on."""
        if not self.ahead_ms:
            return self
        members = {name: member.shifted(self.ahead_ms) for name, member in self.members.items()}
        return replace(self, ahead_ms=0, members=members)

    def among(self, names: Collection[str]) -> "TargetGroup":
        """The group as if these were its only members, in their order."""
        if len(names) < 2:
            return replace(self, members={name: self.members[name] for name in names if name in self.members})
        return replace(self, members={name: member for name, member in self.members.items() if name in names})

    def _with_member(self, name: str, member: TargetMember) -> "TargetGroup":
        return replace(self, members={**self.members, name: member})

    def _stated(self, value: Value, name: str, at_ms: int) -> "TargetGroup":
        """After a record about itself; `name`: a regular expression."""
        match value:
            case GroupEpoch(epoch=epoch, metadata_hash=topics_hash):
                return replace(self.raised(epoch, at_ms), metadata_hash=topics_hash)
            case StreamsEpoch(epoch=epoch, metadata_hash=of_topics, validated_topology_epoch=valid, configs=configs):
                return replace(self.raised(epoch, at_ms), metadata_hash=of_topics, validated=valid, configs=configs)
            case AssignmentEpoch(epoch=epoch, at_ms=own_ms):
                computed_ms = at_ms if own_ms is None else own_ms
                dated = own_ms is not None
                return replace(self, assignment_epoch=epoch, assignment_ms=computed_ms, dated=dated, anew=False)
            case PartitionMetadata() as topics:
                return replace(self, topics=topics)
            case Topology() as topology:
                return replace(self, topology=topology)
            case ResolvedRegex() as resolved:
                return replace(self, regexes={**self.regexes, name: resolved})
            case ShareStates() as states:
                after = replace(self, states=states)
                return replace(after, anew=self.anew or bool(_with_state(after) - _with_state(self)))
            case _:
                return self

    def _without(self, part: StatedPart, name: str) -> "TargetGroup":
        """After the tombstone of a record of this part; `name`: the record's member, or a regular expression. A member
        of whom nothing is left is gone."""
        match part:
            case StatedPart.EPOCH:
                return TargetGroup()
            case StatedPart.METADATA:
                return replace(self, topics=None)
            case StatedPart.ASSIGNED:
                return replace(self, assignment_epoch=None, assignment_ms=None)
            case StatedPart.TOPOLOGY:
                return replace(self, topology=None)
            case StatedPart.SHARE_STATES:
                return replace(self, states=None)
            case StatedPart.REGEX:
                return replace(self, regexes={regex: one for regex, one in self.regexes.items() if regex != name})
            case StatedPart.MEMBER | StatedPart.TARGET | StatedPart.CURRENT:
                left = self.members[name].without(part) if name in self.members else TargetMember()
                return (
                    self._with_member(name, left)
                    if left != TargetMember()
                    else self.among(self.members.keys() - {name})
                )


def _regex_of(member: TargetMember) -> str | None:
    return member.metadata.regex if isinstance(member.metadata, ConsumerMember) else None


def _with_state(group: TargetGroup) -> frozenset[TopicPartition]:
    return frozenset((topic, number) for topic, numbers in group.initialized().items() for number in numbers)


def waiting_for(group: TargetGroup) -> dict[str, dict[str, Units]]:
    """Law 9: for each member that waits, who still holds what of its target, or another copy of it in its process; ""
    for nobody."""
    some = group.members.items()
    waiting = [(name, one) for name, one in some if one.state is MemberState.UNRELEASED and not one.away]
    holders = _holders(group) if waiting else {}
    chains: dict[str, dict[str, Units]] = {}
    for name, member in waiting:
        by_holder: dict[str, set[HeldUnit]] = {}
        free: set[HeldUnit] = set()
        for unit in member.wanted() - member.assigned():
            alone, together = holders.get(unit, ()), holders.get(_copy_of(member, unit), ())
            others = {other for other in (*alone, *together) if other != name}
            for other in others:
                by_holder.setdefault(other, set()).add(unit)
            if not others:
                free.add(unit)
        found = by_holder | ({"": free} if free else {})
        chains[name] = {other: frozenset(some) for other, some in found.items()}
    return chains


_Copy: TypeAlias = tuple[str, str, str, int] | None
"""A copy of a task in a process, whatever its role: process, "copy", subtopology id, partition; None: there is none."""


def _holders(group: TargetGroup) -> dict[HeldUnit | _Copy, list[str]]:
    """Who holds what one member alone may hold, and who holds a copy of a task in each process."""
    found: dict[HeldUnit | _Copy, list[str]] = {}
    for name, member in group.members.items():
        held = member.held()
        for unit in units.alone(held):
            found.setdefault(unit, []).append(name)
        for copy in {_copy_of(member, unit) for unit in held} - {None}:
            found.setdefault(copy, []).append(name)
    return found


def _copy_of(member: TargetMember, unit: HeldUnit) -> _Copy:
    """The place of a task in the member's process; None for a partition, or where the process is not known."""
    if member.process is None or len(unit) != 3:
        return None
    return member.process, "copy", unit[1], unit[2]
