"""Names of what members share out: partitions as `topic-number`, tasks as Kafka prints them, each in order."""

from collections.abc import Mapping, Sequence

from rebalance_monitor.streaming.core.model.results import ConsumerShare
from rebalance_monitor.streaming.core.targets import tasks_published
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.tasks_published import Reads
from rebalance_monitor.streaming.core.targets.topics import NameOf
from rebalance_monitor.streaming.core.targets.units import Units, partitions_in, tasks_in

MOST_NAMED = 5


def shown(some: Units, name_of: NameOf) -> tuple[str, ...]:
    """Partitions as `topic-number` and tasks as `tasks_published.shown`, in order."""
    partitions = (f"{topic}-{number}" for topic, number in _named(some, name_of))
    return (*partitions, *tasks_published.shown(tasks_in(some)))


def share_of(some: Units, name_of: NameOf, reads: Reads | None = None) -> ConsumerShare:
    """Partitions by name, or those that active tasks read (`reads`), in order."""
    own = _named(some, name_of)
    return ConsumerShare(tuple(own)) if own or not reads else tasks_published.share_of(tasks_in(some), reads)


def targets_by_name(group: TargetGroup, name_of: NameOf) -> dict[str, tuple[str, ...]]:
    """What each member should have, as `shown`, by what the member is called."""
    return {one.named(member_id): shown(one.wanted(), name_of) for member_id, one in group.members.items()}


def listed(names: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _named(some: Units, name_of: NameOf) -> list[tuple[str, int]]:
    partitions = partitions_in(some)
    names: Mapping[bytes, str] = {topic: name_of(topic) for topic, _ in partitions}
    return sorted((names[topic], number) for topic, number in partitions)
