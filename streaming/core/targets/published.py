"""What a target is published with: partitions by name, and members' states in Kafka's words."""

from collections.abc import Callable, Mapping

from rebalance_monitor.schemas.group_values import MemberState
from rebalance_monitor.streaming.core.model.results import ConsumerShare
from rebalance_monitor.streaming.core.targets.group import TopicPartition

NameOf = Callable[[bytes], str]
"""The name of a topic by its id."""

STATE_WORDS: Mapping[MemberState, str] = {
    MemberState.STABLE: "STABLE",
    MemberState.UNREVOKED: "UNREVOKED_PARTITIONS",
    MemberState.UNRELEASED: "UNRELEASED_PARTITIONS",
}
UNKNOWN = "UNKNOWN"


def state_word(state: MemberState | None) -> str:
    """The state of a member in Kafka's words."""
    return UNKNOWN if state is None else STATE_WORDS[state]


def shown(partitions: frozenset[TopicPartition], name_of: NameOf) -> tuple[str, ...]:
    """Partitions as `topic-number`, in order."""
    return tuple(f"{topic}-{number}" for topic, number in share_of(partitions, name_of).partitions)


def share_of(partitions: frozenset[TopicPartition], name_of: NameOf) -> ConsumerShare:
    """Partitions by name, in order."""
    names = {topic: name_of(topic) for topic, _ in partitions}
    return ConsumerShare(tuple(sorted((names[topic], number) for topic, number in partitions)))
