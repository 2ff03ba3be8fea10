"""How long a group may take: until a member that fell silent is noticed, and until the rebalance without it has ended.

Members state both when they join, and the record keeps them; the coordinator waits for the longest rebalance time-out.
An owner who wants to be notified later, or earlier, states other times for its groups, and those count instead.
"""

from dataclasses import dataclass

from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.settings import ClusterSettings


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Milliseconds, at least 0."""

    session_ms: int
    rebalance_ms: int

    @property
    def both_ms(self) -> int:
        """A member that went away without a word is replaced after this long."""
        return self.session_ms + self.rebalance_ms


ASSUMED = Timeouts(session_ms=45_000, rebalance_ms=300_000)
"""Of members that were polled, which state none: what Kafka's consumers have by default (session.timeout.ms,
max.poll.interval.ms); Connect's workers have less."""


def timeouts_of(settings: ClusterSettings, group: str, body: GroupGeneration) -> Timeouts:
    """The longest of the record's members, unless the group's owner says otherwise."""
    owner = settings.owner_of(group)
    session_ms = settings.silent_member_ms_of(group)
    rebalance_ms = None if owner is None else owner.rebalance_timeout_ms
    if body.sampled is not None:
        assumed = ASSUMED if body.members else Timeouts(0, 0)
        session_ms = assumed.session_ms if session_ms is None else session_ms
        rebalance_ms = assumed.rebalance_ms if rebalance_ms is None else rebalance_ms
    if session_ms is None:
        session_ms = max((member.session_timeout_ms for member in body.members), default=0)
    if rebalance_ms is None:
        rebalance_ms = max((member.rebalance_timeout_ms for member in body.members), default=0)
    return Timeouts(max(session_ms, 0), max(rebalance_ms, 0))


def stated_timeouts(settings: ClusterSettings, group: str, body: GroupGeneration) -> Timeouts | None:
    """The same, where somebody states how long a rebalance of the group may take; else None."""
    owner = settings.owner_of(group)
    stated = body.sampled is None or (owner is not None and owner.rebalance_timeout_ms is not None)
    return timeouts_of(settings, group, body) if stated else None
