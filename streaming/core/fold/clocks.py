"""Whose clock it is: records carry the coordinator's, the tick is the monitor's, and the coordinator may move.

Brokers' clocks differ. When another broker takes over a group's partition, the times in its records jump, ahead or
back; Spark's reader does not show the failover itself. So what lies between two records counts as passed only as far
as something else confirms it: the leader's own clock (within one delay the announced rest shrinks with it), the
monitor's clock when both records were read as they came, other clocks of a replay's input, or else the time in which
the group had to go on anyway.

    10:00:00  delay 300 s             broker 1
    10:21:00  delay 240 s left        broker 2, whose clock is 20 minutes ahead: 60 s have passed, not 21 minutes
    tick 10:02:00 of the monitor      reads 10:22:00 for this group from now on

The rest of an interval is no proof of anything: what it alone would bring up is info at most.
"""

from dataclasses import dataclass, replace

from schemas.connect_protocol import ConnectAssignment
from streaming.core.connect.config_history import CLOCKS_APART_MS
from streaming.core.connect.observed import Observed
from streaming.core.connect.rules.across import DOWNGRADE_PATIENCE_MS
from streaming.core.connect.rules.memory import RuleMemory, shifted
from streaming.core.connect.statuses.facts import SKEW_MS
from streaming.core.fold.published import body_of
from streaming.core.fold.state import Emptied, GroupState, Waiting
from streaming.core.model.records import GroupGeneration, Row, Tick

SLACK_MS = 1_000
"""Differences of two clocks below this are the time that messages take."""
FOREVER_MS = 1 << 62
FARTHEST_MS = CLOCKS_APART_MS
"""A clock that is farther off than this is none: records of long ago are read, or the tick is no time of day."""


@dataclass(frozen=True, slots=True)
class Leap:
    """What is odd about the time between two records: `back_ms` (at most 0), how far the second one's time went back
    beyond what passed; `unsure_ms`, how much of a longer time nobody but the coordinator says has passed."""

    back_ms: int = 0
    unsure_ms: int = 0


NO_LEAP = Leap()


def leap(state: GroupState, head: Waiting, others_ms: int | None, *, finite: bool) -> Leap:
    """From the last record to this one. `others_ms`: what other clocks of a `finite` input say has passed."""
    last = state.last
    if last is None:
        return NO_LEAP
    passed_ms = head.row.timestamp_ms - last.at_ms
    if passed_ms < -SLACK_MS:
        seen_ms = others_ms if finite else _by_the_monitor(state, last, head)
        return Leap(back_ms=passed_ms - max(seen_ms or 0, 0))
    if finite:
        unsure_ms = passed_ms - max(others_ms or 0, SKEW_MS)
    elif state.least_behind_ms is not None and head.ticked:
        unsure_ms = state.least_behind_ms - (head.arrived_ms - head.row.timestamp_ms) - SKEW_MS
    else:
        unsure_ms = 0
    return Leap(unsure_ms=max(unsure_ms, 0))


def rebased(state: GroupState, head: Waiting, others_ms: int | None = None) -> tuple[GroupState, bool]:
    """The state as it is to be looked at by the clock of this record: what waits has waited as long as is sure; and
    whether it may as well have waited as long as the records say. `others_ms`: what other clocks say has passed."""
    last = state.last
    body = body_of(head.row)
    if not body.members:
        return state, False
    if state.emptied is not None:
        return _after_empty(state, state.emptied, head, others_ms)
    if last is None or not last.views:
        return state, False
    passed_ms = head.row.timestamp_ms - last.at_ms
    shown_ms = _by_the_leader(last, body)
    seen_ms = _by_the_monitor(state, last, head)
    if shown_ms is not None and _contradicted(shown_ms, passed_ms, others_ms if seen_ms is None else seen_ms):
        shown_ms = None
    sure_ms = _sure(state, last, passed_ms, shown_ms, others_ms if seen_ms is None else seen_ms)
    apart_ms = passed_ms - sure_ms
    window_ms = passed_ms - shown_ms if shown_ms is not None and abs(passed_ms - shown_ms) > SLACK_MS else 0
    memory: RuleMemory = shifted(state.rule_memory, apart_ms, window_ms=window_ms)
    since = {key: at_ms + apart_ms for key, at_ms in state.unassigned_since_ms.items()} if apart_ms else None
    moved = replace(
        state,
        apart_ms=apart_ms,
        rule_memory=memory,
        unassigned_since_ms=state.unassigned_since_ms if since is None else since,
    )
    return moved, apart_ms > 0 and shown_ms is None and seen_ms is None


def _after_empty(state: GroupState, emptied: Emptied, head: Waiting, others_ms: int | None) -> tuple[GroupState, bool]:
    """The same for a group that had no worker: it may stay so for any time, so only another clock confirms one."""
    passed_ms = head.row.timestamp_ms - emptied.at_ms
    seen_ms = others_ms
    if state.behind_ms is not None and head.ticked:
        seen_ms = head.arrived_ms - (emptied.at_ms + state.behind_ms)
    confirmed = seen_ms is not None and passed_ms <= seen_ms + SLACK_MS
    sure_ms = passed_ms if confirmed else max(min(passed_ms, seen_ms or 0), 0)
    apart_ms = passed_ms - sure_ms
    moved = replace(state, emptied=replace(emptied, at_ms=emptied.at_ms + apart_ms))
    return moved, apart_ms > 0 and seen_ms is None


def _sure(state: GroupState, last: Observed, passed_ms: int, shown_ms: int | None, seen_ms: int | None) -> int:
    bound_ms, least_ms = _bounds(state, last)
    if passed_ms < 0:
        seen_ms = max(seen_ms or 0, 0)
        return min(seen_ms, bound_ms)
    if shown_ms is not None and shown_ms < passed_ms - SLACK_MS:
        return shown_ms
    if passed_ms <= bound_ms or (seen_ms is not None and passed_ms <= seen_ms + SLACK_MS):
        return passed_ms
    return min(passed_ms, max(seen_ms or 0, least_ms))


def _bounds(state: GroupState, last: Observed) -> tuple[int, int]:
    """How long nothing comes of the time between two records, and what is believed of a longer one all the same: until
    then a group that works has its next record, where something asks for one."""
    if last.delay_ms or last.error or state.unassigned_since_ms or last.revoked():
        bound_ms = max(last.delay_ms, 0) + max(state.timeouts_ms - 1, 0)
        return bound_ms, bound_ms
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


def _by_the_monitor(state: GroupState, last: Observed, head: Waiting) -> int | None:
    """The time between the readings of the two records; None where one of them was not read as it came."""
    if state.behind_ms is None or not head.ticked:
        return None
    return head.arrived_ms - (last.at_ms + state.behind_ms)


def read(state: GroupState, head: Waiting, *, live: bool, leapt: bool = False) -> GroupState:
    """After the record: how far its clock is behind the monitor's. `leapt`: it is another clock than before."""
    behind_ms: int | None = None
    if live and head.ticked:
        behind_ms = head.arrived_ms - head.row.timestamp_ms
    elif live and not head.historic:
        behind_ms = state.behind_ms
    if behind_ms is not None and abs(behind_ms) > FARTHEST_MS:
        behind_ms = None
    least_ms = behind_ms
    if least_ms is not None and state.least_behind_ms is not None and not leapt:
        least_ms = min(least_ms, state.least_behind_ms)
    return replace(state, apart_ms=0, behind_ms=behind_ms, least_behind_ms=least_ms)


def groups_time(state: GroupState, tick_ms: int) -> int:
    """The monitor's time on the clock of the group's coordinator."""
    return tick_ms - (state.behind_ms or 0)


def monitors_time(state: GroupState, at_ms: int) -> int:
    """A time of the coordinator's clock on the monitor's."""
    return at_ms + (state.behind_ms or 0)


def read_ms(state: GroupState, at_ms: int, tick: Tick | None) -> int | None:
    """By when a status of this time that has come was written, on the clock of the timeline; None where nobody read it
    as it came, or the tick is no time of day. Records are read some time after they were written, so the least that the
    coordinator's clock was ever behind is the nearest to what it is."""
    if tick is None or tick.historic or at_ms - tick.now_ms > FARTHEST_MS:
        return None
    newest_ms = state.waiting[-1].row.timestamp_ms if state.waiting else state.last.at_ms if state.last else 0
    behind_ms = state.behind_ms if state.least_behind_ms is None else state.least_behind_ms
    return max(tick.now_ms - (behind_ms or 0), newest_ms) + state.timeline.carry_ms


def timed(row: Row) -> Row:
    """A group's record that was read without its time, at the one it states itself (since version 2 of its value)."""
    if isinstance(row.body, GroupGeneration) and row.timestamp_ms <= 0 < row.body.state_ms:
        return replace(row, timestamp_ms=row.body.state_ms)
    return row
