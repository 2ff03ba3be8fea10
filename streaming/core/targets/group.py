"""Epochs of a group that has targets, and one member of a group whose targets are partitions.

group epoch 3, assignment epoch 2      a target is due
group epoch 3, assignment epoch 3      every member is to move to it
"""

from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from rebalance_monitor.schemas.group_values import Current, MemberState, Partitions, State

TopicPartition: TypeAlias = tuple[bytes, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetGroup:
    """Epochs of one group. `epoch` is None before the first record of it and after its tombstone; `epoch_ms`: its time;
    `needed_ms`: the time of the first epoch that has no target yet, or had none before the newest target;
    `metadata_hash`: that of the subscribed topics as of the epoch (4.1). `ahead_ms`: by how much the times since when
    members are where they are have to be moved on: time that passed by the coordinator's clock alone, and is not
    counted. They are moved when the group is stored, not for every record."""

    epoch: int | None = None
    epoch_ms: int | None = None
    needed_ms: int | None = None
    metadata_hash: int | None = None
    assignment_epoch: int | None = None
    assignment_ms: int | None = None
    ahead_ms: int = 0

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

    def shifted(self, by_ms: int) -> Self:
        """The same by a clock that is so far ahead."""
        return replace(
            self,
            epoch_ms=later(self.epoch_ms, by_ms),
            assignment_ms=later(self.assignment_ms, by_ms),
            ahead_ms=self.ahead_ms + by_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedMember:
    """The times of one member, in ms.

    `epoch_since_ms`: since when it is at its epoch and in its state, with the same to give up; `heard_ms`: its last
    record of what it holds; both count only time that has surely passed, and the group's `ahead_ms` is to be added.
    `wrote_ms`: the time of that record.
    """

    epoch_since_ms: int | None = None
    heard_ms: int | None = None
    wrote_ms: int | None = None

    def heard(self, at_ms: int, ahead_ms: int, *, same: bool) -> Self:
        """The member by a new record of what it holds, in a group with this `ahead_ms`; `same`: it is where it was."""
        since_ms = self.epoch_since_ms if same else at_ms - ahead_ms
        return replace(self, epoch_since_ms=since_ms, heard_ms=at_ms - ahead_ms, wrote_ms=at_ms)

    def unheard(self) -> Self:
        """The member without such a record."""
        return replace(self, epoch_since_ms=None, heard_ms=None, wrote_ms=None)

    def shifted(self, by_ms: int) -> Self:
        """The same by a clock that is so far ahead; the time of a record stays."""
        return replace(self, epoch_since_ms=later(self.epoch_since_ms, by_ms), heard_ms=later(self.heard_ms, by_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsMember(TimedMember):
    """What the records say of one member whose target is partitions."""

    target: Partitions | None = None
    current: Current | None = None

    @property
    def state(self) -> MemberState | None:
        """Its state; None without a record of what it holds, or with a state that is not known."""
        return self.current.state if self.current is not None and isinstance(self.current.state, MemberState) else None

    @property
    def epoch(self) -> int | None:
        return None if self.current is None else self.current.epoch

    def assigned(self) -> frozenset[TopicPartition]:
        """What it may consume."""
        return frozenset() if self.current is None else flat(self.current.assigned)

    def pending(self) -> frozenset[TopicPartition]:
        """What it has to give up and may still consume."""
        return frozenset() if self.current is None else flat(self.current.pending_revocation)

    def wanted(self) -> frozenset[TopicPartition]:
        """Its target."""
        return flat(self.target or ())

    def moved(self, current: Current, at_ms: int, ahead_ms: int) -> Self:
        """The member by its newest record of what it holds, in a group with this `ahead_ms`."""
        same = self.current is not None and _standing(self.current) == _standing(current)
        return replace(self.heard(at_ms, ahead_ms, same=same), current=current)

    def without_current(self) -> Self:
        """The member after the tombstone of that record."""
        return replace(self.unheard(), current=None)


def later(at_ms: int | None, by_ms: int) -> int | None:
    """A time by a clock that is so far ahead."""
    return None if at_ms is None else at_ms + by_ms


def flat(partitions: Partitions) -> frozenset[TopicPartition]:
    """Partitions without order."""
    if not partitions:
        return frozenset()
    return frozenset((one.topic, number) for one in partitions for number in one.numbers)


def _standing(current: Current) -> tuple[int, State | None, frozenset[TopicPartition]]:
    """What keeps its time-out running: with other partitions to give up, the coordinator begins it anew."""
    return current.epoch, current.state, flat(current.pending_revocation)
