"""A group that has targets, and one member of it, as far as all protocols agree on them.

group epoch 3, assignment epoch 2      a target is due
group epoch 3, assignment epoch 3      every member is to move to it
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias, TypeVar, assert_never

from rebalance_monitor.schemas.group_records import GroupRecord
from rebalance_monitor.schemas.group_values import Current, MemberState, PartitionMetadata, Partitions
from rebalance_monitor.schemas.streams_values import StreamsCurrent
from rebalance_monitor.streaming.core.targets.stated import StatedPart

TopicPartition: TypeAlias = tuple[bytes, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetMember(ABC):
    """What the records say of one member: how it joined (`metadata`), what it holds (`current`), and times in ms.

    `epoch_since_ms`: since when it is at its epoch and in its state, with the same to give up; `heard_ms`: its last
    record of what it holds; both count only time that has surely passed, and the group's `ahead_ms` is to be added.
    `wrote_ms`: the time of that record.
    """

    metadata: object = None
    current: Current | StreamsCurrent | None = None
    epoch_since_ms: int | None = None
    heard_ms: int | None = None
    wrote_ms: int | None = None

    @abstractmethod
    def assigned(self) -> frozenset[object]:
        """What it may use."""

    @abstractmethod
    def pending(self) -> frozenset[object]:
        """What it has to give up and may still use."""

    @abstractmethod
    def wanted(self) -> frozenset[Any]:
        """Its target."""

    @abstractmethod
    def subscribing(self, names: tuple[str, ...]) -> Self:
        """The member as if it had joined with these names of topics, and nothing else to say."""

    @abstractmethod
    def without(self, part: StatedPart) -> Self:
        """The member after the tombstone of one of its records."""

    @property
    def state(self) -> MemberState | None:
        """Its state; None where no record says what it holds, or with a state that is not known."""
        return self.current.state if self.current is not None and isinstance(self.current.state, MemberState) else None

    @property
    def epoch(self) -> int | None:
        return None if self.current is None else self.current.epoch

    @property
    def previous_ahead(self) -> bool:
        """Whether its record states a previous epoch above its own. That of a static member that is away does."""
        return self.current is not None and 0 <= self.current.epoch < self.current.previous_epoch

    def fell(self, before: Self) -> int | None:
        """The epoch that it was at before, if it went back since. A static member that is away states the epoch before
        its last."""
        if self.epoch is None or self.epoch < 0 or before.current is None:
            return None
        known = before.current.epoch if before.current.epoch >= 0 else before.current.previous_epoch
        return known if self.epoch < known else None

    def moved(self, current: Current | StreamsCurrent, at_ms: int, ahead_ms: int) -> Self:
        """The member by its newest record of what it holds, in a group with this `ahead_ms`. Its time-out goes on only
        while it is where it was: with other things to give up, the coordinator begins it anew."""
        after = replace(self, current=current, heard_ms=at_ms - ahead_ms, wrote_ms=at_ms)
        before = self.current
        same = before is not None and (before.epoch, before.state) == (current.epoch, current.state)
        if same and self.pending() == after.pending():
            return after
        return replace(after, epoch_since_ms=at_ms - ahead_ms)

    def without_current(self) -> Self:
        """The member after the tombstone of that record."""
        return replace(self, current=None, epoch_since_ms=None, heard_ms=None, wrote_ms=None)

    def shifted(self, by_ms: int) -> Self:
        """The same by a clock that is so far ahead; the time of a record stays."""
        return replace(self, epoch_since_ms=later(self.epoch_since_ms, by_ms), heard_ms=later(self.heard_ms, by_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetGroup(ABC):
    """Epochs and members of one group.

    `epoch` is None before the first record of it and after its tombstone; `epoch_ms`: its time;
    `needed_ms`: the time of the first epoch that has no target yet, or had none before the newest target;
    `metadata_hash`: that of the subscribed topics as of the epoch (4.1); `topics`: what the coordinator wrote down of
    them (4.0). `ahead_ms`: by how much the times since when members are where they are have to be moved on: time that
    passed by the coordinator's clock alone, and is not counted. They are moved when the group is stored, not for every
    record."""

    epoch: int | None = None
    epoch_ms: int | None = None
    needed_ms: int | None = None
    metadata_hash: int | None = None
    assignment_epoch: int | None = None
    assignment_ms: int | None = None
    ahead_ms: int = 0
    topics: PartitionMetadata | None = None
    members: Mapping[str, TargetMember] = field(default_factory=dict)

    @staticmethod
    @abstractmethod
    def parts() -> Mapping[int, StatedPart]:
        """What the records of such a group state, by their types."""

    @abstractmethod
    def take(self, record: GroupRecord, at_ms: int) -> Self:
        """The group after one record; records of other kinds of groups change nothing."""

    @property
    def behind(self) -> bool:
        """Whether a new target is needed and not computed yet."""
        return self.epoch is not None and self.epoch != self.assignment_epoch

    def raised(self, epoch: int, at_ms: int) -> Self:
        """The group at this epoch; a record that repeats it changes nothing."""
        if epoch == self.epoch:
            return self
        return replace(self, epoch=epoch, epoch_ms=at_ms, needed_ms=self.needed_ms if self.behind else at_ms)

    def computed(self, epoch: int, at_ms: int) -> Self:
        """The group with a target of this epoch."""
        return replace(self, assignment_epoch=epoch, assignment_ms=at_ms)

    def names(self) -> dict[bytes, str]:
        """Names of topics that the records tell, by id."""
        return {} if self.topics is None else {one.topic: one.name for one in self.topics.topics}

    def arrived(self, member: TargetMember) -> bool:
        """Whether a member holds the newest target."""
        return member.state is MemberState.STABLE and member.epoch == self.assignment_epoch

    def lags_since_ms(self, member: TargetMember) -> int | None:
        """Since when a member could have moved to the newest target, by its own times; None if it has, or if nobody
        knows."""
        if member.state is None or member.epoch is None or member.heard_ms is None:
            return None
        if self.assignment_epoch is None or self.assignment_ms is None or member.epoch >= self.assignment_epoch:
            return None
        return max(member.heard_ms, self.assignment_ms - self.ahead_ms)

    def shifted(self, by_ms: int) -> Self:
        """The same by a clock that is so far ahead."""
        return replace(
            self,
            epoch_ms=later(self.epoch_ms, by_ms),
            assignment_ms=later(self.assignment_ms, by_ms),
            ahead_ms=self.ahead_ms + by_ms,
        )

    def settled(self) -> Self:
        """The same with the members' times moved on."""
        if not self.ahead_ms:
            return self
        members = {name: member.shifted(self.ahead_ms) for name, member in self.members.items()}
        return replace(self, ahead_ms=0, members=members)

    def told(self, name: str, member: TargetMember) -> Self:
        """The group with what a record says of a member."""
        return replace(self, members={**self.members, name: member})

    def without(self, part: StatedPart, name: str) -> Self:
        """The group after the tombstone of a record of this part; `name`: the record's member. A member of whom nothing
        is left is gone. What one protocol alone states is its own to take away."""
        match part:
            case StatedPart.EPOCH:
                return type(self)()
            case StatedPart.METADATA:
                return replace(self, topics=None)
            case StatedPart.ASSIGNED:
                return replace(self, assignment_epoch=None, assignment_ms=None)
            case StatedPart.MEMBER | StatedPart.TARGET | StatedPart.CURRENT:
                return self if name not in self.members else self._told_less(name, self.members[name].without(part))
            case StatedPart.REGEX | StatedPart.TOPOLOGY | StatedPart.SHARE_STATES:
                return self
            case _:
                assert_never(part)

    def _told_less(self, name: str, member: TargetMember) -> Self:
        return self.told(name, member) if member != type(member)() else among(self, self.members.keys() - {name})


G = TypeVar("G", bound=TargetGroup)


def among(group: G, names: Collection[str]) -> G:
    """The group as if these were its only members, in their order."""
    if len(names) < 2:
        return replace(group, members={name: group.members[name] for name in names if name in group.members})
    return replace(group, members={name: member for name, member in group.members.items() if name in names})


def later(at_ms: int | None, by_ms: int) -> int | None:
    """A time by a clock that is so far ahead."""
    return None if at_ms is None else at_ms + by_ms


def flat(partitions: Partitions) -> frozenset[TopicPartition]:
    """Partitions without order."""
    if not partitions:
        return frozenset()
    return frozenset((one.topic, number) for one in partitions for number in one.numbers)
