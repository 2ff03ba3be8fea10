"""Topics that the members of a KIP-848 group subscribe to, and what its targets show of them."""

from rebalance_monitor.assignors.broker.model import BrokerTopic
from rebalance_monitor.streaming.core.epochs.group import EpochGroup
from rebalance_monitor.streaming.core.epochs.units import partitions_in
from rebalance_monitor.streaming.core.targets import topics
from rebalance_monitor.streaming.core.targets.group import TopicPartition
from rebalance_monitor.streaming.core.targets.topics import Topics


def recorded(group: EpochGroup) -> dict[str, BrokerTopic] | None:
    """The topics as the coordinator wrote them down; None from 4.1 on."""
    return topics.recorded(group.topics)


def inferred(group: EpochGroup, names: list[str]) -> dict[str, BrokerTopic] | None:
    """The topics as the targets show them."""
    return topics.inferred(_wanted(group), names)


def subscribed(group: EpochGroup) -> list[str]:
    """All names that members subscribe to."""
    return sorted({name for view in group.members.values() for name in group.names_of(view)})


def fits(group: EpochGroup, known: Topics) -> bool:
    """Whether the targets hold partitions of these topics alone."""
    return topics.fits(_wanted(group), known)


def holed(group: EpochGroup) -> bool:
    """Whether the targets leave out a partition of a topic of which they hold a later one. No assignor of the broker
    does so, however many partitions there are."""
    return topics.holed(_wanted(group))


def _wanted(group: EpochGroup) -> list[TopicPartition]:
    return [one for view in group.members.values() for one in partitions_in(view.wanted())]
