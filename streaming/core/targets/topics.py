"""What the coordinator may have known of the topics: names, ids and partition counts.

Records name topics by their ids. Up to 4.0 the coordinator writes what it knows of them (types 4 and 9); since 4.1
names and counts come from samples of the cluster's topics. The coordinator learns of a change some time before or after
a sample shows it, so around a record there are several views.
"""

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rebalance_monitor.assignors.broker.model import BrokerTopic
from rebalance_monitor.schemas.group_values import PartitionMetadata
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.targets.group import TargetGroup, TopicPartition
from rebalance_monitor.streaming.core.targets.published import NameOf

Topics = Mapping[str, BrokerTopic]

DELAY_MS = 5_000
"""How much later than a sample, or earlier, the coordinator may have seen what it shows."""
MOST_EARLIER = 3
MOST_LATER = 2


@dataclass(frozen=True, slots=True)
class KnownTopics:
    """Topics as the coordinator may have known them. `why`: what is assumed; None where nothing is."""

    topics: Topics
    why: Reason | None = None


def naming(history: TopicHistory, *groups: TargetGroup) -> NameOf:
    """Names of topics, by the last of these groups that tells one; where nobody tells it, a topic's id as Kafka prints
    it."""

    @cache
    def told() -> Mapping[bytes, str]:
        return {topic: name for group in groups for topic, name in group.names().items()}

    def name_of(topic: bytes) -> str:
        return told().get(topic) or history.name_of(topic) or base64.urlsafe_b64encode(topic).decode().rstrip("=")

    return name_of


def recorded(told: PartitionMetadata | None) -> dict[str, BrokerTopic] | None:
    """The topics as the coordinator wrote them down; None from 4.1 on."""
    if told is None:
        return None
    return {
        one.name: BrokerTopic(
            id=one.topic, partitions=one.partitions, racks=tuple(frozenset(racks) for _, racks in sorted(one.racks))
        )
        for one in told.topics
    }


def moments_around(history: TopicHistory, names: Sequence[str], at_ms: int) -> tuple[int, ...]:
    """The times of samples that may show what the coordinator knew of these topics, the likeliest first."""
    moments = history.moments(names)
    earlier = [one.at_ms for one in moments if one.at_ms <= at_ms]
    later = [one.at_ms for one in moments if one.at_ms > at_ms and min(one.after_ms, one.at_ms - DELAY_MS) <= at_ms]
    return (*reversed(earlier[-MOST_EARLIER:]), *later[:MOST_LATER])


def turns_ms(history: TopicHistory, names: Sequence[str]) -> list[int]:
    """The times in order from which on `moments_around` gives other samples than before."""
    times = {each for one in history.moments(names) for each in (one.at_ms, min(one.after_ms, one.at_ms - DELAY_MS))}
    return sorted(times)


def sampled(history: TopicHistory, names: Sequence[str], at_ms: int) -> Iterator[dict[str, BrokerTopic]]:
    """The views of these topics around a time, the likeliest first, each once. A view in which a topic has no id is of
    no use: targets name topics by their ids."""
    found: list[dict[str, BrokerTopic]] = []
    for shown_ms in moments_around(history, names, at_ms):
        view = {}
        for name, racks in history.shown(names, shown_ms).items():
            topic = history.id_of(name, shown_ms)
            if topic is not None:
                view[name] = BrokerTopic(id=topic, partitions=len(racks), racks=racks)
        if view and view not in found:
            found.append(view)
            yield view


def inferred(wanted: Collection[TopicPartition], names: Sequence[str]) -> dict[str, BrokerTopic] | None:
    """The topics as the targets show them, if these leave no hole: a target holds every partition of a topic.

    Which name belongs to which id is not known, and is of no account where all members subscribe to the same names.
    """
    numbers = _numbers(wanted)
    if len(numbers) > len(names) or holed(wanted):
        return None
    return {
        name: BrokerTopic(id=topic, partitions=len(numbers[topic]))
        for name, topic in zip(sorted(names), sorted(numbers), strict=False)
    }


def holed(wanted: Collection[TopicPartition]) -> bool:
    """Whether the targets leave out a partition of a topic of which they hold a later one."""
    return any(max(of) + 1 != len(of) for of in _numbers(wanted).values())


def _numbers(wanted: Collection[TopicPartition]) -> dict[bytes, set[int]]:
    """The partitions of each topic that somebody is to have."""
    numbers: dict[bytes, set[int]] = {}
    for topic, number in wanted:
        numbers.setdefault(topic, set()).add(number)
    return numbers


def fits(wanted: Collection[TopicPartition], topics: Topics) -> bool:
    """Whether the targets hold partitions of these topics alone."""
    counts = {one.id: one.partitions for one in topics.values()}
    return all(number < counts.get(topic, 0) for topic, number in wanted)
