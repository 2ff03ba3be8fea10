"""What the coordinator may have known of the topics: names, ids and partition counts.

Records name topics by their ids. Up to 4.0 the coordinator writes what it knows of them (type 4); since 4.1 names and
counts come from samples of the cluster's topics. The coordinator learns of a change some time before or after a sample
shows it, so around a record there are several views.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence

from rebalance_monitor.assignors.broker.model import BrokerTopic
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.epochs.group import EpochGroup, MemberView

Topics = Mapping[str, BrokerTopic]

DELAY_MS = 5_000
"""How much later than a sample, or earlier, the coordinator may have seen what it shows."""
MOST_EARLIER = 3
MOST_LATER = 2


def name_of(topic: bytes, group: EpochGroup, history: TopicHistory) -> str:
    """The topic's name; its id as Kafka prints it where nobody has told the name."""
    for told in () if group.topics is None else group.topics.topics:
        if told.topic == topic:
            return told.name
    return history.name_of(topic) or base64.urlsafe_b64encode(topic).decode().rstrip("=")


def recorded(group: EpochGroup) -> dict[str, BrokerTopic] | None:
    """The topics as the coordinator wrote them down; None from 4.1 on."""
    if group.topics is None:
        return None
    return {
        one.name: BrokerTopic(
            id=one.topic, partitions=one.partitions, racks=tuple(frozenset(racks) for _, racks in sorted(one.racks))
        )
        for one in group.topics.topics
    }


def sampled(history: TopicHistory, names: Sequence[str], at_ms: int) -> Iterator[dict[str, BrokerTopic]]:
    """The views of these topics around a time, the likeliest first, each once. A view in which a topic has no id is of
    no use: targets name topics by their ids."""
    moments = history.moments(names)
    earlier = [one.at_ms for one in moments if one.at_ms <= at_ms]
    later = [one.at_ms for one in moments if one.at_ms > at_ms and min(one.after_ms, one.at_ms - DELAY_MS) <= at_ms]
    found: list[dict[str, BrokerTopic]] = []
    for shown_ms in (*reversed(earlier[-MOST_EARLIER:]), *later[:MOST_LATER]):
        view = {}
        for name, racks in history.shown(names, shown_ms).items():
            topic = history.id_of(name, shown_ms)
            if topic is not None:
                view[name] = BrokerTopic(id=topic, partitions=len(racks), racks=racks)
        if view and view not in found:
            found.append(view)
            yield view


def inferred(group: EpochGroup, names: Sequence[str]) -> dict[str, BrokerTopic] | None:
    """The topics as the targets show them, if these leave no hole: a target holds every partition of a topic.

    Which name belongs to which id is not known, and is of no account where all members subscribe to the same names.
    """
    numbers: dict[bytes, set[int]] = {}
    for topic, number in (one for view in group.members.values() for one in view.wanted()):
        numbers.setdefault(topic, set()).add(number)
    if len(numbers) > len(names) or any(max(of) + 1 != len(of) for of in numbers.values()):
        return None
    return {
        name: BrokerTopic(id=topic, partitions=len(numbers[topic]))
        for name, topic in zip(sorted(names), sorted(numbers), strict=False)
    }


def subscribed(group: EpochGroup) -> list[str]:
    """All names that members subscribe to."""
    views: Iterator[MemberView] = iter(group.members.values())
    return sorted({name for view in views for name in group.names_of(view)})


def fits(group: EpochGroup, topics: Topics) -> bool:
    """Whether the targets hold partitions of these topics alone."""
    counts = {one.id: one.partitions for one in topics.values()}
    wanted = (one for view in group.members.values() for one in view.wanted())
    return all(number < counts.get(topic, 0) for topic, number in wanted)
