"""What only time shows of a share group: when a law about time is broken, and partitions that no target holds.

A law about time has a deadline by the view alone, so nothing of it is stored but up to when deadlines were told
(`fired_ms`). That a target lacks a partition is no finding at first: the coordinator assigns a partition with the
heartbeat after its share state was initialized. It is remembered since when (`uncovered_ms`), and told after the
time-out.
"""

from collections.abc import Iterator
from functools import partial

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.share import laws
from rebalance_monitor.streaming.core.share.breaches import ShareBreach
from rebalance_monitor.streaming.core.share.state import ShareState
from rebalance_monitor.streaming.core.share.tally import ShareTally
from rebalance_monitor.streaming.core.targets import timing
from rebalance_monitor.streaming.core.targets.topics import sampled, turns_ms


def due_ms(view: GroupView, state: ShareState, tally: ShareTally) -> int | None:
    """When the next deadline passes that was not told yet; None while nothing is sure."""
    return timing.due_ms(state, partial(laws.next_due_ms, tally), timing.uncovered_due_ms(view, state))


def overdue(view: GroupView, state: ShareState, tally: ShareTally, at_ms: int) -> Iterator[ShareBreach]:
    """The laws about time that are broken at this time."""
    yield from laws.overdue(tally, at_ms)
    uncovered_ms = timing.uncovered_due_ms(view, state)
    if uncovered_ms is not None and uncovered_ms <= at_ms:
        yield from uncovered(view, tally, at_ms)


def uncovered(view: GroupView, tally: ShareTally, at_ms: int) -> list[ShareBreach]:
    """Partitions of subscribed topics that no target holds, by the last sample until then; without one, those that
    have share state."""
    group, history, names = tally.group, view.knowledge.topics, sorted(tally.names)

    def without_member() -> list[ShareBreach]:
        counts: dict[str, tuple[bytes, int]] = {}
        if group.metadata_hash is not None and group.states is not None:
            counts = {one.name: (one.topic, len(one.numbers)) for one in group.states.initialized}
        known = next(sampled(history, names, at_ms), {})
        counts |= {name: (one.id, one.partitions) for name, one in known.items()}
        return list(laws.without_member(tally, counts))

    return tally.coverage.lacking(at_ms, lambda: turns_ms(history, names), without_member)
