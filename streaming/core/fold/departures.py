"""Whether a member that is in no record any more left its group or was lost, by the coordinator's clock alone.

A member leaves by a request. A member that falls silent is removed when its session time-out (or, in a join phase, its
rebalance time-out) has passed, and both begin anew when a join phase ends with it (coordinator-log.md 10.5, 10.6).

    record 7: join phase ended at 10:00:00, A is a member, session time-out 10 s
    record 8: join phase ended at 10:00:04 without A       no session of A can have ended: it left
    record 8: join phase ended at 10:02:00 without A       left or lost: nothing in the records tells
"""

from collections.abc import Iterable

from rebalance_monitor.streaming.core.model.records import MemberRow
from rebalance_monitor.streaming.core.model.results import Certainty

CERTAIN_SHARE, LIKELY_SHARE = 0.6, 0.9
"""How much of a time-out the time between two join phases may be: the rest is for two brokers' clocks."""


def shortest_ms(members: Iterable[MemberRow]) -> int:
    """The shortest time in which one of these members can be removed without asking for it; 0 where not known."""
    times = [ms for one in members for ms in (one.session_timeout_ms, one.rebalance_timeout_ms) if ms > 0]
    return min(times, default=0)


def left(before_ms: int, now_ms: int, shortest_ms: int) -> Certainty | None:
    """How sure it is that a member of the join phase that ended at `before_ms`, missing in the one that ended at
    `now_ms`, left by a request; None where its time-out may have passed. Times that are not known are 0 or less."""
    if before_ms <= 0 or not before_ms <= now_ms:
        return None
    if now_ms - before_ms < shortest_ms * CERTAIN_SHARE:
        return Certainty.CERTAIN
    return Certainty.LIKELY if now_ms - before_ms < shortest_ms * LIKELY_SHARE else None


def too_soon(before_ms: int, now_ms: int, shortest_ms: int) -> str:
    """The sentence that shows a departure by request."""
    return (
        f"{now_ms - before_ms} ms after the join phase before ended with it: too soon for a time-out of "
        f"{shortest_ms} ms, so it asked to leave"
    )


CANNOT_TELL = "the time-out may have passed since the join phase before: a request to leave would look the same"
NO_LEAVE_REQUEST = (
    "a static member sends no leave request: it was stopped or died, and did not come back within its session time-out"
)
