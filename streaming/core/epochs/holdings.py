"""Which partitions the members of a KIP-848 group may consume, by their names."""

from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.epochs.group import CONSUMER
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.epochs.topics import name_of
from rebalance_monitor.streaming.core.epochs.units import partitions_in
from rebalance_monitor.streaming.core.fold.lifecycle import Holdings


def holdings_of(state: EpochsState, history: TopicHistory) -> Holdings | None:
    """By member id, since the newest target at the earliest; None unless every record was read, and of a Streams group,
    whose records name tasks. A topic of which nobody has told the name goes by its id, and brokers say nothing of it.
    """
    group = state.view
    if not state.trusted or group.kind != CONSUMER:
        return None
    held = {member: sorted(partitions_in(one.assigned())) for member, one in sorted(group.members.items())}
    names = {topic: name_of(topic, group, history) for topic in {topic for all_ in held.values() for topic, _ in all_}}
    members = {member: tuple(f"{names[topic]}-{number}" for topic, number in all_) for member, all_ in held.items()}
    known = [one.metadata for one in group.members.values() if one.metadata is not None]
    return Holdings(members, group.assignment_ms, max((one.rebalance_timeout_ms for one in known), default=None))
