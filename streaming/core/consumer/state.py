"""What is remembered of a consumer group, or of any other classic group, between batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.fold.missing_members import MissedMembers
from rebalance_monitor.streaming.core.fold.static_members import Sightings
from rebalance_monitor.streaming.core.fold.written_again import FirstVerdict
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .own_assignors import Habits
from .presumed_client import NO_ANSWERS, StickyAnswers
from .unowned import Waits


@dataclass(frozen=True, slots=True)
class LastJoin:
    """When the join phase of the last record with members ended, by the coordinator's clock, and the shortest time-out
    of its members (`departures`); 0 where not known."""

    ended_ms: int = 0
    shortest_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerState:
    """`holds`: the partitions of each member after the last record; `subscribed`, in the same order: a digest of the
    topics it subscribes to (0: not known). `held_since_ms`: the time of the first record since the group had no
    members, by the coordinator's clock. `waits`: what the last record left to be done. `sightings`:
    the processes of static members; `missed`: those that went and did not come back. `first`: the verdict on the newest
    generation, in case it is written again. `answers`: what sticky leaders answered. `habits`: what an assignor that
    nobody knows has shown."""

    last: LastRecord | None = None
    holds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    subscribed: tuple[int, ...] = ()
    held_since_ms: int | None = None
    last_join: LastJoin = LastJoin()
    waits: Waits = field(default_factory=Waits)
    sightings: Sightings = field(default_factory=dict)
    missed: MissedMembers = field(default_factory=MissedMembers)
    first: FirstVerdict | None = None
    answers: StickyAnswers = NO_ANSWERS
    habits: Habits = field(default_factory=Habits)
