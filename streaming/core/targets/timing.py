"""What only time shows of a group that has targets: when a law about time is broken, and what no target holds.

A law about time has a deadline by the view alone (`laws.next_due_ms`), so nothing of it is stored but up to when
deadlines were told (`fired_ms`). That a target lacks a partition is no finding at first: the coordinator may learn of
it later than a sample shows it, or assigns it with the heartbeat after its share state was initialized. It is
remembered since when (`uncovered_ms`), and told after the time-outs.
"""

from collections.abc import Callable, Collection, Iterator

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from . import laws
from .breaches import Breach
from .kind import Kind
from .member_laws import SESSION_MS
from .state import TargetsState
from .tally import Tally

COVERED_MS = 300_000
"""So long after the time-outs a partition that a sample shows may still be in no target."""


def silent_member_ms(view: GroupView) -> int:
    """How long a silent member counts as there: the session time-out, unless the group's owner says otherwise."""
    stated = view.settings.silent_member_ms_of(view.group)
    return shortest_session_ms(view.settings, view.group) if stated is None else stated


def shortest_session_ms(settings: ClusterSettings, group: str) -> int:
    """The shortest time after which the broker may have removed a silent member: its default session time-out, unless
    the group's owner states another one."""
    owner = settings.owner_of(group)
    return SESSION_MS if owner is None or owner.session_timeout_ms is None else owner.session_timeout_ms


def due_ms(view: GroupView, state: TargetsState, tally: Tally) -> int | None:
    """When the next deadline passes that was not told yet; None while nothing is sure."""
    if not state.sure:
        return None
    uncovered_ms, fired_ms = _uncovered_due_ms(view, state, tally), state.fired_ms
    if uncovered_ms is not None and fired_ms is not None and uncovered_ms <= fired_ms:
        uncovered_ms = None
    times = (laws.next_due_ms(tally, fired_ms), uncovered_ms, state.missed.due_ms(view))
    return min((one for one in times if one is not None), default=None)


def overdue(kind: Kind, view: GroupView, state: TargetsState, tally: Tally, at_ms: int) -> Iterator[Breach]:
    yield from laws.overdue_findings(tally, at_ms)
    uncovered_ms = _uncovered_due_ms(view, state, tally)
    if uncovered_ms is not None and uncovered_ms <= at_ms:
        yield from kind.lacking(view, tally, at_ms)


def noted(
    before: TargetsState, state: TargetsState, at_ms: int, lacking: Callable[[], Collection[object]]
) -> TargetsState:
    """The state after a closed moment, with what waits to be told: since when the newest target lacks what `lacking`
    gives. While a target is due nothing is known anew."""
    fired_ms = None if before.fired_ms is not None and at_ms < before.fired_ms else before.fired_ms
    if state.view.behind or not state.trusted:
        return replace(state, fired_ms=fired_ms)
    since_ms = at_ms if before.uncovered_ms is None else before.uncovered_ms
    return replace(state, fired_ms=fired_ms, uncovered_ms=since_ms if lacking() else None)


def _uncovered_due_ms(view: GroupView, state: TargetsState, tally: Tally) -> int | None:
    """When it is told that a target lacks a partition: the longest rebalance time-out, the session time-out and
    `COVERED_MS` after it was seen."""
    if state.uncovered_ms is None or state.view.behind:
        return None
    return state.uncovered_ms + max(tally.timeouts, default=0) + silent_member_ms(view) + COVERED_MS
