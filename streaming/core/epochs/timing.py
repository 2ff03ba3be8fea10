"""What only time shows of a group: when a law about time is broken, and partitions that no target holds.

A law about time has a deadline by the view alone (`laws.next_due_ms`), so nothing of it is stored but up to when
deadlines were told (`fired_ms`). That a target lacks a partition is no finding at first: the coordinator may
learn of a new partition later than a sample shows it. It is remembered since when (`uncovered_ms`), and told after the
time-outs.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from rebalance_monitor.streaming.core.epochs import laws, tasks, topics
from rebalance_monitor.streaming.core.epochs.breaches import Breach
from rebalance_monitor.streaming.core.epochs.group import STREAMS
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.epochs.tally import EpochTally
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.targets import timing
from rebalance_monitor.streaming.core.targets.topics import sampled, turns_ms


def due_ms(view: GroupView, state: EpochsState, tally: EpochTally) -> int | None:
    """When the next deadline passes that was not told yet; None while nothing is sure."""
    uncovered_ms = _uncovered_due_ms(view, state, tally)
    times = (timing.due_ms(state, partial(laws.next_due_ms, tally), uncovered_ms), state.missed.due_ms(view))
    return min((one for one in times if one is not None), default=None) if state.sure else None


def overdue(view: GroupView, state: EpochsState, tally: EpochTally, at_ms: int) -> Iterator[Breach]:
    """The laws about time that are broken at this time."""
    yield from laws.overdue_findings(tally, at_ms)
    uncovered_ms = _uncovered_due_ms(view, state, tally)
    if uncovered_ms is not None and uncovered_ms <= at_ms:
        yield from uncovered(view, tally, at_ms)


def uncovered(view: GroupView, tally: EpochTally, at_ms: int) -> list[Breach]:
    """Partitions of subscribed topics, or tasks of the topology, that no target holds, by the last sample until
    then."""
    group, history = tally.group, view.knowledge.topics
    if group.kind == STREAMS:
        return tally.coverage.lacking(
            at_ms,
            lambda: tasks.turns_ms(group, history),
            lambda: list(laws.tasks_incomplete(tally, tasks.shown(group, history, at_ms))),
        )
    told = topics.recorded(group)
    names = sorted(tally.names)

    def incomplete() -> list[Breach]:
        known = next(sampled(history, names, at_ms), {}) if told is None else told
        return list(laws.target_incomplete(tally, {name: (one.id, one.partitions) for name, one in known.items()}))

    return tally.coverage.lacking(at_ms, lambda: turns_ms(history, names) if told is None else (), incomplete)


def shifted(state: EpochsState, by_ms: int) -> EpochsState:
    """The same by a clock that is so far ahead."""
    return replace(timing.shifted(state, by_ms), missed=state.missed.moved(by_ms)) if by_ms else state


def _uncovered_due_ms(view: GroupView, state: EpochsState, tally: EpochTally) -> int | None:
    return timing.uncovered_due_ms(view, state, max(tally.timeouts, default=0))
