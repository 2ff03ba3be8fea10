"""How much of the time between two records of a Connect group has surely passed, for what waits in the group.

What lies between two records counts as passed only as far as something besides the coordinator's clock confirms it
(`streaming.core.clocks`). A Connect group has one more witness: within one delay, the rest that its leader
announces shrinks by the leader's own clock. Where nobody confirms anything, the time counts in which the group had to
go on anyway.

    10:00:00  delay 300 s             broker 1
    10:21:00  delay 240 s left        broker 2, whose clock is 20 minutes ahead: 60 s have passed, not 21 minutes
"""

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.coordinator import Passing
from rebalance_monitor.streaming.core.clocks.span import FOREVER_MS, SKEW_MS, SLACK_MS, at_least, confirmed
from rebalance_monitor.streaming.core.connect.rules.across import DOWNGRADE_PATIENCE_MS
from rebalance_monitor.streaming.core.connect.rules.memory import shifted
from rebalance_monitor.streaming.core.fold.published import body_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from .observed import Observed
from .state import ConnectState, Emptied


def rebased(state: ConnectState, passing: Passing) -> tuple[ConnectState, bool]:
    """The state as it is to be looked at by the clock of this record: what waits has waited as long as is sure; and
    whether it may as well have waited as long as the records say."""
    last, head = state.last, passing.head
    body = body_of(head.row)
    if not body.members:
        return state, False
    if state.emptied is not None:
        return _after_empty(state, state.emptied, passing)
    if last is None or not last.views:
        return state, False
    passed_ms = head.row.timestamp_ms - last.at_ms
    shown_ms = _by_the_leader(last, body)
    own_ms, seen_ms = passing.by_the_monitor(last.at_ms), passing.seen_ms(last.at_ms)
    if shown_ms is not None and _contradicted(shown_ms, passed_ms, seen_ms):
        shown_ms = None
    sure_ms = _sure(state, last, passed_ms, shown_ms, seen_ms)
    apart_ms = passed_ms - sure_ms
    window_ms = passed_ms - shown_ms if shown_ms is not None and abs(passed_ms - shown_ms) > SLACK_MS else 0
    since = {key: at_ms + apart_ms for key, at_ms in state.unassigned_since_ms.items()} if apart_ms else None
    moved = replace(
        state,
        apart_ms=apart_ms,
        rule_memory=shifted(state.rule_memory, apart_ms, window_ms=window_ms),
        unassigned_since_ms=state.unassigned_since_ms if since is None else since,
    )
    return moved, apart_ms > 0 and shown_ms is None and own_ms is None


def hidden_ms(state: ConnectState, passing: Passing) -> int:
    """How much more has passed since the last record by the monitor's clock, or by those of a whole input, than by the
    records' own: the next coordinator's clock is behind. 0 where no other clock tells of it."""
    if state.last is None:
        return 0
    own_ms = passing.by_the_monitor(state.last.at_ms)
    passed_ms = passing.head.row.timestamp_ms - state.last.at_ms
    more_ms = passing.slow_ms if own_ms is None else own_ms - passed_ms
    return more_ms if more_ms > SKEW_MS else 0


def _after_empty(state: ConnectState, emptied: Emptied, passing: Passing) -> tuple[ConnectState, bool]:
    """The same for a group that had no worker: it may stay so for any time, so only another clock confirms one."""
    passed_ms, seen_ms = passing.head.row.timestamp_ms - emptied.at_ms, passing.seen_ms(emptied.at_ms)
    apart_ms = 0 if confirmed(passed_ms, seen_ms) else passed_ms - at_least(passed_ms, seen_ms)
    moved = replace(state, emptied=replace(emptied, at_ms=emptied.at_ms + apart_ms))
    return moved, apart_ms > 0 and seen_ms is None


def _sure(state: ConnectState, last: Observed, passed_ms: int, shown_ms: int | None, seen_ms: int | None) -> int:
    bound_ms, least_ms = _bounds(state, last)
    if passed_ms < 0:
        seen_ms = max(seen_ms or 0, 0)
        return min(seen_ms, bound_ms)
    if shown_ms is not None and shown_ms < passed_ms - SLACK_MS:
        return shown_ms
    if passed_ms <= bound_ms or confirmed(passed_ms, seen_ms):
        return passed_ms
    return min(passed_ms, max(seen_ms or 0, least_ms))


def _bounds(state: ConnectState, last: Observed) -> tuple[int, int]:
    """How long nothing comes of the time between two records, and what is believed of a longer one all the same: until
    then a group that works has its next record, where something asks for one. Of the latter a moment less, for the rest
    of a delay that several records announce is read anew in each, and adds up to a moment more than the delay."""
    if last.delay_ms or last.error or state.unassigned_since_ms or last.revoked():
        bound_ms = max(last.delay_ms, 0) + max(state.timeouts_ms - 1, 0)
        return bound_ms, max(bound_ms - SLACK_MS, 0)
    return (DOWNGRADE_PATIENCE_MS - 1, 0) if state.rule_memory.downgrade is not None else (FOREVER_MS, 0)


def _by_the_leader(last: Observed, body: GroupGeneration) -> int | None:
    """How much of one running delay has gone by on the clock of the leader that reckons it."""
    answer = next((one.assignment for one in body.members if one.member_id == body.leader), None)
    if not isinstance(answer, ConnectAssignment) or body.leader != last.leader or last.error or answer.error:
        return None
    gone_ms = last.delay_ms - answer.delay_ms
    return gone_ms if answer.delay_ms > 0 and gone_ms > 0 else None


def _contradicted(shown_ms: int, passed_ms: int, seen_ms: int | None) -> bool:
    """Whether a third clock agrees with the coordinator's against the time that the leader's answer shows.

    The third clock vouches to SKEW_MS at each of the two records, so a smaller difference proves nothing.
    """
    if seen_ms is None or abs(passed_ms - seen_ms) > SLACK_MS:
        return False
    return abs(passed_ms - shown_ms) > 2 * SKEW_MS + SLACK_MS
