"""What is remembered between batches of every group that has targets, whatever its protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.fold.missing_members import MissedMembers
from rebalance_monitor.streaming.core.model.details import EpochDetail
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Cause, Source
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .group import TargetGroup
from .member import later


@dataclass(frozen=True, slots=True, kw_only=True)
class Underway:
    """The target that was published last, while members are on their way to it, as it was published."""

    epoch: int
    source: Source
    cause: tuple[Cause, ...]
    detail: EpochDetail


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsState:
    """`begun`: records of a moment that may go on; `last`: the last record of the last closed one.

    `trusted`: every record since the group began, or since it was last seen to be in order, was read. `cause`: what
    asked for the target that is due; `left`: what members had, by name, that have gone since the last target;
    `uncovered_ms`: since when the newest target lacks a partition; `fired_ms`: up to when timers have fired.
    `doubted`: records may be missing since the last target that was recomputed; `unsettled_ms`: they may since this
    time, and the group was not seen to be in order since. `missed`: static members that went and did not come back.
    `shown`: the state of the group that was published last; `view`: the group after its last closed moment.
    """

    shown: str | None = None
    begun: tuple[Row, ...] = ()
    last: LastRecord | None = None
    trusted: bool = False
    doubted: bool = False
    unsettled_ms: int | None = None
    cause: tuple[Cause, ...] = ()
    left: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    underway: Underway | None = None
    uncovered_ms: int | None = None
    fired_ms: int | None = None
    missed: MissedMembers = field(default_factory=MissedMembers)
    view: TargetGroup = field(default_factory=TargetGroup)

    @property
    def sure(self) -> bool:
        """Whether no moment is begun, and every record was read or the group was seen to be in order since."""
        return not self.begun and self.trusted and self.unsettled_ms is None

    def shifted(self, by_ms: int) -> "TargetsState":
        """The same by a clock that is so far ahead."""
        if not by_ms:
            return self
        return replace(
            self,
            fired_ms=later(self.fired_ms, by_ms),
            uncovered_ms=later(self.uncovered_ms, by_ms),
            missed=self.missed.moved(by_ms),
            view=self.view.shifted(by_ms),
        )

    def settled(self) -> "TargetsState":
        """The same with the members' times moved on, as it is stored."""
        return replace(self, view=self.view.settled())
