"""What only time shows of a share group: when a law about time is broken, and partitions that no target holds.

A law about time has a deadline by the view alone, so nothing of it is stored but up to when deadlines were told
(`fired_ms`). That a target lacks a partition is nobody's concern at first: the coordinator assigns a partition with the
heartbeat after its share state was initialized. It is remembered since when (`uncovered_ms`), and told after the
time-out.
"""

from collections.abc import Iterator
from dataclasses import replace

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.share import laws
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.share.laws import ShareBreach
from rebalance_monitor.streaming.core.share.state import ShareState
from rebalance_monitor.streaming.core.targets import timing
from rebalance_monitor.streaming.core.targets.group import later
from rebalance_monitor.streaming.core.targets.topics import sampled


def due_ms(view: GroupView, state: ShareState) -> int | None:
    """When the next deadline passes that was not told yet; None while nothing is sure."""
    if state.begun or not state.trusted:
        return None
    times = [one.due_ms for one in laws.deadlines(state.view, timing.session_ms(view))]
    times += _uncovered_due(view, state)
    return min((one for one in times if state.fired_ms is None or one > state.fired_ms), default=None)


def overdue(view: GroupView, state: ShareState, at_ms: int) -> Iterator[ShareBreach]:
    """The laws about time that are broken at this time."""
    yield from laws.overdue(state.view, at_ms, timing.session_ms(view))
    if any(due <= at_ms for due in _uncovered_due(view, state)):
        yield from uncovered(view, state.view, at_ms)


def uncovered(view: GroupView, group: ShareGroup, at_ms: int) -> list[ShareBreach]:
    """Partitions of subscribed topics that no target holds, by the last sample until then; without one, those that
    have share state."""
    counts: dict[str, tuple[bytes, int]] = {}
    if group.metadata_hash is not None and group.states is not None:
        counts = {one.name: (one.topic, len(one.numbers)) for one in group.states.initialized}
    known = next(sampled(view.knowledge.topics, group.subscribed, at_ms), {})
    counts |= {name: (one.id, one.partitions) for name, one in known.items()}
    return list(laws.without_member(group, counts))


def noted(view: GroupView, before: ShareState, state: ShareState, at_ms: int) -> ShareState:
    """The state after a closed moment, with what waits to be told."""
    group = state.view
    return timing.noted(before, state, at_ms, behind=group.behind, lacking=lambda: uncovered(view, group, at_ms))


def shifted(state: ShareState, by_ms: int) -> ShareState:
    """The same by a clock that is so far ahead."""
    if not by_ms:
        return state
    members = {name: one.shifted(by_ms) for name, one in state.view.members.items()}
    return replace(
        state,
        view=replace(state.view.shifted(by_ms), members=members),
        fired_ms=later(state.fired_ms, by_ms),
        uncovered_ms=later(state.uncovered_ms, by_ms),
    )


def _uncovered_due(view: GroupView, state: ShareState) -> list[int]:
    if state.uncovered_ms is None or state.view.behind:
        return []
    return [state.uncovered_ms + timing.session_ms(view) + timing.COVERED_MS]
