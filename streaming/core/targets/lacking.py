"""What no target of a group holds, by what is known of the topics: partitions of subscribed topics, or tasks of the
topology."""

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.targets import laws, tasks
from rebalance_monitor.streaming.core.targets.breaches import Breach
from rebalance_monitor.streaming.core.targets.tally import Tally
from rebalance_monitor.streaming.core.targets.topics import recorded, sampled, turns_ms


def lacking_partitions(view: GroupView, tally: Tally, at_ms: int) -> list[Breach]:
    """By what the coordinator wrote down of the topics (4.0), or the last sample until then."""
    group, history, names = tally.group, view.knowledge.topics, sorted(tally.names)
    told = recorded(group)

    def incomplete() -> list[Breach]:
        known = next(sampled(history, names, at_ms), {}) if told is None else told
        return list(laws.target_incomplete(tally, {name: (one.id, one.partitions) for name, one in known.items()}))

    return tally.coverage.lacking(at_ms, lambda: turns_ms(history, names) if told is None else (), incomplete)


def lacking_shared(view: GroupView, tally: Tally, at_ms: int) -> list[Breach]:
    """By the last sample until then; where none shows a topic, by its partitions that have share state (4.1)."""
    group, history, names = tally.group, view.knowledge.topics, sorted(tally.names)

    def incomplete() -> list[Breach]:
        counts: dict[str, tuple[bytes, int]] = {}
        if group.metadata_hash is not None and group.states is not None:
            counts = {one.name: (one.topic, len(one.numbers)) for one in group.states.initialized}
        counts |= {name: (one.id, one.partitions) for name, one in next(sampled(history, names, at_ms), {}).items()}
        return list(laws.target_incomplete(tally, counts))

    return tally.coverage.lacking(at_ms, lambda: turns_ms(history, names), incomplete)


def lacking_tasks(view: GroupView, tally: Tally, at_ms: int) -> list[Breach]:
    """By the last sample of the topology's topics until then."""
    group, history = tally.group, view.knowledge.topics
    return tally.coverage.lacking(
        at_ms,
        lambda: tasks.turns_ms(group, history),
        lambda: list(laws.tasks_incomplete(tally, tasks.shown(group, history, at_ms))),
    )
