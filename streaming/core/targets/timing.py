"""What only time shows of a group that has targets: how long a broker waits, and since when a target lacks something.

That a target lacks a partition is no finding at first: the coordinator may learn of it later than a sample shows
it. It is remembered since when (`uncovered_ms`), and told after the time-outs.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TypeVar

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.targets.group import later
from rebalance_monitor.streaming.core.targets.state import TargetsState

S = TypeVar("S", bound=TargetsState)

SESSION_MS, SLACK_MS = 45_000, 5_000
"""A broker's default for the session time-out, and what a busy machine adds."""
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


def due_ms(state: TargetsState, next_due: Callable[[int | None], int | None], uncovered_ms: int | None) -> int | None:
    """When the next deadline passes that was not told yet; None while nothing is sure. `next_due`: the first time after
    another, of all times if it is None, at which a law about time is broken; `uncovered_ms`: when a partition that no
    target holds is told."""
    if not state.sure:
        return None
    fired_ms = state.fired_ms
    if uncovered_ms is not None and fired_ms is not None and uncovered_ms <= fired_ms:
        uncovered_ms = None
    return min((one for one in (next_due(fired_ms), uncovered_ms) if one is not None), default=None)


def uncovered_due_ms(view: GroupView, state: TargetsState, longest_ms: int = 0) -> int | None:
    """When it is told that a target lacks a partition: the first time that is `longest_ms`, the session time-out and
    `COVERED_MS` after it was seen."""
    if state.uncovered_ms is None or state.view.behind:
        return None
    return state.uncovered_ms + longest_ms + silent_member_ms(view) + COVERED_MS


def noted(before: TargetsState, state: S, at_ms: int, lacking: Callable[[], Collection[object]]) -> S:
    """The state after a closed moment, with what waits to be told: since when the newest target lacks what `lacking`
    gives. While a target is due nothing is known anew."""
    fired_ms = None if before.fired_ms is not None and at_ms < before.fired_ms else before.fired_ms
    if state.view.behind or not state.trusted:
        return replace(state, fired_ms=fired_ms)
    since_ms = at_ms if before.uncovered_ms is None else before.uncovered_ms
    return replace(state, fired_ms=fired_ms, uncovered_ms=since_ms if lacking() else None)


def shifted(state: S, by_ms: int) -> S:
    """The same by a clock that is so far ahead."""
    if not by_ms:
        return state
    fired_ms, uncovered_ms = later(state.fired_ms, by_ms), later(state.uncovered_ms, by_ms)
    return replace(state, fired_ms=fired_ms, uncovered_ms=uncovered_ms, view=state.view.shifted(by_ms))


def settled(state: S) -> S:
    """The same with the members' times moved on, as it is stored."""
    return replace(state, view=state.view.settled())
