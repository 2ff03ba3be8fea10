"""What is remembered of a group that is no classic one between batches."""

from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.epochs.group import EpochGroup
from rebalance_monitor.streaming.core.fold.missing_members import MissedMembers
from rebalance_monitor.streaming.core.targets.state import TargetsState


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochsState(TargetsState):
    """`members`: of a kind that is only counted, known by their ids alone, if their newest record is no tombstone;
    `deleted`: the newest record of such a group's epoch is one. `missed`: static members that went and did not come
    back.
    """

    members: frozenset[str] = frozenset()
    deleted: bool = False
    view: EpochGroup = field(default_factory=EpochGroup)
    missed: MissedMembers = field(default_factory=MissedMembers)
