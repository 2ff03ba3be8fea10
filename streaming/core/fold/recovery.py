"""`monitor_error` from the failed fold to its end: ten generations folded without an error, or a day without one.

Ten: what a state must know to fail in the same way (members, leader's memory, config) has been built again by then. A
day: a group that does not rebalance shows nothing more, and the error has been in the log and the database since.
"""

from dataclasses import replace

from streaming.core.fold.state import GroupState
from streaming.core.incidents import damping
from streaming.core.incidents.monitor_error import MONITOR_ERROR
from streaming.core.incidents.transitions import Moment, resolved
from streaming.core.model.records import Tick
from streaming.core.model.results import Result
from streaming.core.model.settings import ClusterSettings

FOLDED_AGAIN = 10
"""Generations."""
OPEN_MS = 24 * 3_600_000


def counted(state: GroupState) -> GroupState:
    """One generation more was folded."""
    if state.failing is None:
        return state
    return replace(state, failing=replace(state.failing, folded=state.failing.folded + 1))


def due_ms(state: GroupState) -> int | None:
    """When the incident ends without another generation, by the clock that the monitor ticks by."""
    return None if state.failing is None else state.failing.at_ms + OPEN_MS


def recovered(
    settings: ClusterSettings, group: str, state: GroupState, tick: Tick | None
) -> tuple[GroupState, list[Result]]:
    """Ends `monitor_error` once its time has come."""
    failing, open_now = state.failing, [key for key, one in state.incidents.items() if one.code == MONITOR_ERROR.code]
    if failing is None:
        return state, []
    now_ms = max(tick.now_ms, failing.at_ms) if tick is not None else failing.at_ms
    if open_now and failing.folded < FOLDED_AGAIN and now_ms < failing.at_ms + OPEN_MS:
        return state, []
    moment = Moment(
        cluster=settings.name,
        group=group,
        incarnation=state.incarnation,
        generation=state.generation or 0,
        at_ms=now_ms,
    )
    ended = [resolved(state.incidents[key], moment) for key in open_now]
    left = {key: one for key, one in state.incidents.items() if key not in open_now}
    return damping.follow(settings, replace(state, incidents=left, failing=None), ended, now_ms)
