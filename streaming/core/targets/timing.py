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


def session_ms(view: GroupView) -> int:
    """The broker's session time-out: its default, unless the group's owner says otherwise."""
    owner = view.settings.owner_of(view.group)
    configured = None if owner is None else owner.session_timeout_ms
    return SESSION_MS if configured is None else configured


def shortest_session_ms(settings: ClusterSettings, group: str) -> int:
    """The shortest time after which the broker may have removed a silent member. A longer one that the group's owner
    states may say when the owner wants to be notified, and not what the broker does."""
    owner = settings.owner_of(group)
    stated = None if owner is None else owner.session_timeout_ms
    return SESSION_MS if stated is None else min(stated, SESSION_MS)


def noted(before: TargetsState, state: S, at_ms: int, *, behind: bool, lacking: Callable[[], Collection[object]]) -> S:
    """The state after a closed moment, with what waits to be told: since when the newest target lacks what `lacking`
    gives. While a target is due (`behind`) nothing is known anew."""
    fired_ms = None if before.fired_ms is not None and at_ms < before.fired_ms else before.fired_ms
    if behind or not state.trusted:
        return replace(state, fired_ms=fired_ms)
    since_ms = at_ms if before.uncovered_ms is None else before.uncovered_ms
    return replace(state, fired_ms=fired_ms, uncovered_ms=since_ms if lacking() else None)


def shifted(state: S, by_ms: int) -> S:
    """The same by a clock that is so far ahead, but for the group."""
    return replace(state, fired_ms=later(state.fired_ms, by_ms), uncovered_ms=later(state.uncovered_ms, by_ms))
