"""One member of a group that has targets, as its records show it, whatever the group's protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.group_records import Value
from rebalance_monitor.schemas.group_values import (
    ClassicMember,
    ConsumerMember,
    Current,
    MemberState,
    ShareMember,
    Target,
    UnknownState,
)
from rebalance_monitor.schemas.streams_values import StreamsCurrent, StreamsMember, StreamsTarget
from . import units
from .units import ACTIVE, Units


class StatedPart(Enum):
    """A part of a group that one type of record states; its tombstone takes that part away."""

    EPOCH = auto()
    ASSIGNED = auto()
    MEMBER = auto()
    TARGET = auto()
    CURRENT = auto()
    METADATA = auto()
    REGEX = auto()
    TOPOLOGY = auto()
    SHARE_STATES = auto()


Parts: TypeAlias = Mapping[int, StatedPart]
"""What the records of one kind of group state, by their types; records of other types change nothing."""
OF_MEMBERS = (StatedPart.MEMBER, StatedPart.TARGET, StatedPart.CURRENT)

STATIC_AWAY = -2
"""Member epoch of a static member that left for a while: nobody consumes its partitions, and they stay reserved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetMember:
    """What the records say of one member: how it joined (`metadata`), its `target`, what it holds (`current`), and
    times in ms.

    `epoch_since_ms`: since when it is at its epoch and in its state, with the same to give up; `heard_ms`: its last
    record of what it holds; both count only time that has surely passed, and the group's `ahead_ms` is to be added.
    `wrote_ms`: the time of that record; `gained_ms`: of the last one with an active task that the one before did not
    have.
    """

    metadata: ConsumerMember | StreamsMember | ShareMember | None = None
    target: Target | StreamsTarget | None = None
    current: Current | StreamsCurrent | None = None
    epoch_since_ms: int | None = None
    heard_ms: int | None = None
    wrote_ms: int | None = None
    gained_ms: int | None = None

    @property
    def state(self) -> MemberState | None:
        """Its state; None where no record says what it holds, or with a state that is not known."""
        return self.current.state if self.current is not None and isinstance(self.current.state, MemberState) else None

    @property
    def unknown_state(self) -> int | None:
        """The number of its state, where no known release has it."""
        state = None if self.current is None else self.current.state
        return state.code if isinstance(state, UnknownState) else None

    @property
    def epoch(self) -> int | None:
        return None if self.current is None else self.current.epoch

    @property
    def away(self) -> bool:
        """Whether it is a static member that left for a while."""
        return self.epoch == STATIC_AWAY

    @property
    def instance_id(self) -> str | None:
        """The name under which a static member comes back."""
        known = self.metadata
        return known.instance_id if isinstance(known, ConsumerMember | StreamsMember) else None

    @property
    def rebalance_timeout_ms(self) -> int | None:
        """How long it may take to give something up; None where it has nothing to give up, or is not known."""
        known = self.metadata
        return known.rebalance_timeout_ms if isinstance(known, ConsumerMember | StreamsMember) else None

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
        return self.target is None and (waits or bool(self.held()))

    @property
    def previous_ahead(self) -> bool:
        """Whether its record states a previous epoch above its own. That of a static member that is away does."""
        return self.current is not None and 0 <= self.current.epoch < self.current.previous_epoch

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
        return units.targeted(self.target)

    def fell(self, before: "TargetMember") -> int | None:
        """The epoch that it was at before, if it went back since. A static member that is away states the epoch before
        its last."""
        if self.epoch is None or self.epoch < 0 or before.current is None:
            return None
        known = before.current.epoch if before.current.epoch >= 0 else before.current.previous_epoch
        return known if self.epoch < known else None

    def named(self, member_id: str) -> str:
        """What it is called: by its instance id, which outlives a restart, or its member id."""
        return self.instance_id or member_id

    def after_record(self, value: Value, at_ms: int, ahead_ms: int) -> "TargetMember":
        """The member after a record about it, in a group with this `ahead_ms`."""
        match value:
            case ConsumerMember() | StreamsMember() | ShareMember() as metadata:
                return replace(self, metadata=metadata)
            case Target() | StreamsTarget() as target:
                return replace(self, target=target)
            case Current() | StreamsCurrent() as current:
                return self._moved(current, at_ms, ahead_ms)
            case _:
                return self

    def _moved(self, current: Current | StreamsCurrent, at_ms: int, ahead_ms: int) -> "TargetMember":
        """By its newest record of what it holds. Its time-out goes on only while it is where it was: with other things
        to give up, the coordinator begins it anew."""
        held = self.assigned()
        gained = any(one not in held for one in units.tasks_in(units.assigned(current)) if one[0] == ACTIVE)
        gained_ms = at_ms if gained else self.gained_ms
        after = replace(self, current=current, heard_ms=at_ms - ahead_ms, wrote_ms=at_ms, gained_ms=gained_ms)
        before = self.current
        same = before is not None and (before.epoch, before.state) == (current.epoch, current.state)
        if same and self.pending() == after.pending():
            return after
        return replace(after, epoch_since_ms=at_ms - ahead_ms)

    def without(self, part: StatedPart) -> "TargetMember":
        """The member after the tombstone of one of its records."""
        match part:
            case StatedPart.MEMBER:
                return replace(self, metadata=None)
            case StatedPart.TARGET:
                return replace(self, target=None)
            case _:
                return TargetMember(metadata=self.metadata, target=self.target)

    def subscribing(self, names: tuple[str, ...]) -> "TargetMember":
        """The member as if it had joined with these names of topics, and nothing else to say: a share group's member
        says no more."""
        return replace(self, metadata=ShareMember(rack=None, client_id="", client_host="", names=names))

    def shifted(self, by_ms: int) -> "TargetMember":
        """The same by a clock that is so far ahead; the time of a record stays."""
        return replace(self, epoch_since_ms=later(self.epoch_since_ms, by_ms), heard_ms=later(self.heard_ms, by_ms))


def later(at_ms: int | None, by_ms: int) -> int | None:
    """A time by a clock that is so far ahead."""
    return None if at_ms is None else at_ms + by_ms
