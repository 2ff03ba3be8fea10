"""What only time shows of a group: when a law about time is broken, and partitions that no target holds.

A law about time has a deadline by the view alone (`laws.deadlines`), so nothing of it is stored but up to when
deadlines were told (`fired_ms`). That a target lacks a partition is nobody's concern at first: the coordinator may
learn of a new partition later than a sample shows it. It is remembered since when (`uncovered_ms`), and told after the
time-outs.
"""

from collections.abc import Iterator
from dataclasses import replace

from rebalance_monitor.streaming.core.epochs import laws, tasks, topics
from rebalance_monitor.streaming.core.epochs.group import STREAMS, EpochGroup
from rebalance_monitor.streaming.core.epochs.laws import Breach
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.targets import timing
from rebalance_monitor.streaming.core.targets.group import later
from rebalance_monitor.streaming.core.targets.topics import sampled


def due_ms(view: GroupView, state: EpochsState) -> int | None:
    """When the next deadline passes that was not told yet; None while nothing is sure."""
    if state.begun or not state.trusted:
        return None
    times = [one.due_ms for one in laws.deadlines(state.view, session_ms=timing.session_ms(view))]
    times += _uncovered_due(view, state)
    return min((one for one in times if state.fired_ms is None or one > state.fired_ms), default=None)


def overdue(view: GroupView, state: EpochsState, at_ms: int) -> Iterator[Breach]:
    """The laws about time that are broken at this time."""
    yield from laws.overdue_findings(state.view, at_ms, session_ms=timing.session_ms(view))
    if any(due <= at_ms for due in _uncovered_due(view, state)):
        yield from uncovered(view, state.view, at_ms)


def uncovered(view: GroupView, group: EpochGroup, at_ms: int) -> list[Breach]:
    """Partitions of subscribed topics, or tasks of the topology, that no target holds, by the last sample until
    then."""
    if group.kind == STREAMS:
        return list(laws.tasks_incomplete(group, tasks.shown(group, view.knowledge.topics, at_ms)))
    known = topics.recorded(group)
    if known is None:
        known = next(sampled(view.knowledge.topics, topics.subscribed(group), at_ms), {})
    counts = {name: (one.id, one.partitions) for name, one in known.items()}
    return list(laws.target_incomplete(group, counts))


def noted(view: GroupView, before: EpochsState, state: EpochsState, at_ms: int) -> EpochsState:
    """The state after a closed moment, with what waits to be told."""
    group = state.view
    return timing.noted(before, state, at_ms, behind=group.behind, lacking=lambda: uncovered(view, group, at_ms))


def shifted(state: EpochsState, by_ms: int) -> EpochsState:
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


def _uncovered_due(view: GroupView, state: EpochsState) -> list[int]:
    if state.uncovered_ms is None or state.view.behind:
        return []
    known = (one.metadata for one in state.view.members.values())
    longest_ms = max((one.rebalance_timeout_ms for one in known if one is not None), default=0)
    return [state.uncovered_ms + longest_ms + timing.session_ms(view) + timing.COVERED_MS]
