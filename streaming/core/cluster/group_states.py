"""Which groups rebalance, as brokers said when they were asked, and since when.

A coordinator writes no record while a group is in PreparingRebalance or CompletingRebalance (coordinator-log.md 5), so
only a question shows a rebalance that does not end. What is kept is what was sure:

    asked 10:00:00, answered 10:00:01     PreparingRebalance: it was so at 10:00:01 at the latest
    asked 10:00:10, answered 10:00:11     PreparingRebalance: it was still so at 10:00:10 at the earliest
    so it lasted from 10:00:01 to 10:00:10 at least, if no record of the group was written meanwhile

A group that rebalanced anew between two polls has written a record in between: the fold knows of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

PREPARING, COMPLETING = "PreparingRebalance", "CompletingRebalance"
REBALANCING = (PREPARING, COMPLETING)
MOST_REBALANCING = 10_000
"""Groups that are kept; a cluster where more rebalance at once has another trouble."""


@dataclass(frozen=True, slots=True)
class StatePoll:
    """One answer: the groups that rebalance, each with its state.

    Times by the monitor's clock, ms: what is shown was true at a moment between `asked_ms` and `answered_ms`. `of`: the
    groups that were asked for (None: all but those in `apart`). A group that is missing in `states` does not rebalance,
    or its coordinator did not answer: then another broker takes over, and its members join again from the beginning.
    """

    asked_ms: int
    answered_ms: int
    states: Mapping[str, str]
    of: frozenset[str] | None = None
    apart: frozenset[str] = frozenset()

    def asked_for(self, group: str) -> bool:
        """Whether the group would be in `states` if its coordinator had answered that it rebalances."""
        return group not in self.apart if self.of is None else group in self.of


@dataclass(frozen=True, slots=True)
class Rebalancing:
    """A group that rebalances: its state, since when it is surely in this one (`since_ms`) and in either (`begun_ms`),
    and until when it surely was (`seen_ms`)."""

    state: str
    since_ms: int
    begun_ms: int
    seen_ms: int


@dataclass(frozen=True, slots=True)
class GroupStates:
    """The groups that rebalance. `answered_ms`: of the last poll, None before the first."""

    rebalancing: Mapping[str, Rebalancing] = field(default_factory=dict)
    answered_ms: int | None = None

    def with_poll(self, poll: StatePoll) -> "GroupStates":
        """After one more poll. A poll that failed is none: what was known stays as it is."""
        now = {group: known for group, known in self.rebalancing.items() if not poll.asked_for(group)}
        for group, state in poll.states.items():
            if state in REBALANCING and (group in self.rebalancing or len(now) < MOST_REBALANCING):
                now[group] = _seen(self.rebalancing.get(group), state, poll)
        return GroupStates(now, poll.answered_ms)


NEVER_POLLED = GroupStates()


def _seen(before: Rebalancing | None, state: str, poll: StatePoll) -> Rebalancing:
    if before is None:
        return Rebalancing(state, poll.answered_ms, poll.answered_ms, poll.answered_ms)
    since_ms = before.since_ms if before.state == state else poll.answered_ms
    return Rebalancing(state, since_ms, before.begun_ms, max(poll.asked_ms, since_ms))
