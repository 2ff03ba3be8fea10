"""What only time shows of a group: when a law about time is broken, and partitions that no target holds.

A law about time has a deadline by the view alone (`laws.deadlines`), so nothing of it is stored but up to when
deadlines were told (`fired_ms`). That a target lacks a partition is nobody's concern at first: the coordinator may
learn of a new partition later than a sample shows it. It is remembered since when (`uncovered_ms`), and told after the
time-outs.
"""

from collections.abc import Iterator
from dataclasses import replace

from rebalance_monitor.streaming.core.epochs import laws, tasks, topics
from rebalance_monitor.streaming.core.epochs.group import STREAMS, EpochGroup, MemberView
from rebalance_monitor.streaming.core.epochs.laws import Finding
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.targets.topics import sampled

COVERED_MS = 300_000
"""So long after the time-outs a partition that a sample shows may still be in no target."""


def session_ms(view: GroupView) -> int:
    """The broker's session time-out: its default, unless the group's owner says otherwise."""
    owner = view.settings.owner_of(view.group)
    configured = None if owner is None else owner.session_timeout_ms
    return laws.SESSION_MS if configured is None else configured


def due_ms(view: GroupView, state: EpochsState) -> int | None:
    """When the next deadline passes that was not told yet; None while nothing is sure."""
    if state.begun or not state.trusted:
        return None
    times = [one.due_ms for one in laws.deadlines(state.view, session_ms=session_ms(view))]
    times += _uncovered_due(view, state)
    return min((one for one in times if state.fired_ms is None or one > state.fired_ms), default=None)


def overdue(view: GroupView, state: EpochsState, at_ms: int) -> Iterator[Finding]:
    """The laws about time that are broken at this time."""
    yield from laws.overdue_findings(state.view, at_ms, session_ms=session_ms(view))
    if any(due <= at_ms for due in _uncovered_due(view, state)):
        yield from uncovered(view, state.view, at_ms)


def uncovered(view: GroupView, group: EpochGroup, at_ms: int) -> list[Finding]:
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
    """The state after a closed moment, with what waits to be told. While a target is due nothing is known anew."""
    fired_ms = None if before.fired_ms is not None and at_ms < before.fired_ms else before.fired_ms
    if state.view.behind or not state.trusted:
        return replace(state, fired_ms=fired_ms)
    since_ms = at_ms if before.uncovered_ms is None else before.uncovered_ms
    return replace(state, fired_ms=fired_ms, uncovered_ms=since_ms if uncovered(view, state.view, at_ms) else None)


def shifted(state: EpochsState, by_ms: int) -> EpochsState:
    """The same by a clock that is so far ahead."""
    if not by_ms:
        return state

    def moved(at_ms: int | None) -> int | None:
        return None if at_ms is None else at_ms + by_ms

    def member(one: MemberView) -> MemberView:
        return replace(one, epoch_since_ms=moved(one.epoch_since_ms), heard_ms=moved(one.heard_ms))

    group = state.view
    members = {name: member(one) for name, one in group.members.items()}
    view = replace(group, epoch_ms=moved(group.epoch_ms), assignment_ms=moved(group.assignment_ms), members=members)
    return replace(state, view=view, fired_ms=moved(state.fired_ms), uncovered_ms=moved(state.uncovered_ms))


def _uncovered_due(view: GroupView, state: EpochsState) -> list[int]:
    if state.uncovered_ms is None or state.view.behind:
        return []
    known = (one.metadata for one in state.view.members.values())
    longest_ms = max((one.rebalance_timeout_ms for one in known if one is not None), default=0)
    return [state.uncovered_ms + longest_ms + session_ms(view) + COVERED_MS]
