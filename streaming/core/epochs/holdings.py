"""Which partitions the members of a KIP-848 group may consume, by their names."""

from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.epochs.topics import name_of
from rebalance_monitor.streaming.core.fold.lifecycle import Holdings


def holdings_of(state: EpochsState, history: TopicHistory) -> Holdings:
    """By member id, since the newest target at the earliest. A topic of which nobody has told the name goes by its id,
    and brokers say nothing of a topic of that name."""
    group = state.view
    ids = {topic for member in group.members.values() for topic, _ in member.assigned()}
    names = {topic: name_of(topic, group, history) for topic in ids}
    members = {
        member: tuple(f"{names[topic]}-{number}" for topic, number in sorted(one.assigned()))
        for member, one in sorted(group.members.items())
    }
    known = [one.metadata for one in group.members.values() if one.metadata is not None]
    return Holdings(members, group.assignment_ms, max((one.rebalance_timeout_ms for one in known), default=None))
