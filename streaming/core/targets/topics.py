"""What the coordinator may have known of the topics: names, ids and partition counts.

Records name topics by their ids. Up to 4.0 the coordinator writes what it knows of them (types 4 and 9); since 4.1
names and counts come from samples of the cluster's topics, or of a share group from the partitions that have share
state. The coordinator learns of a change some time before or after a sample shows it, so around a record there are
several views.
"""

import base64
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from rebalance_monitor.assignors.broker.model import BrokerTopic
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.reasons import Reason
from .group import TargetGroup
from .reasons import INFERRED, OTHER_TOPICS
from .units import TopicPartition

Topics = Mapping[str, BrokerTopic]
NameOf = Callable[[bytes], str]
"""The name of a topic by its id."""

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
    def names() -> Mapping[bytes, str]:
        return {topic: name for group in groups for topic, name in group.names().items()}

    def name_of(topic: bytes) -> str:
        return names().get(topic) or history.name_of(topic) or base64.urlsafe_b64encode(topic).decode().rstrip("=")

    return name_of


def known_topics(
    group: TargetGroup, history: TopicHistory, at_ms: int, *, shared: bool = False
) -> Iterator[KnownTopics]:
    """What the coordinator may have known, the likeliest first. That of a share group (`shared`) knows that a topic was
    deleted sooner than its records and samples show it."""
    names, told = group.subscribed, recorded(group)
    if told is None and shared and group.metadata_hash is not None:
        told = dict(_with_state(group))
    if told is not None or not names:
        yield KnownTopics(told or {})
        if not shared:
            return
    views = list(sampled(history, names, at_ms))
    for number, view in enumerate(views):
        yield KnownTopics(view, None if told is None and number == 0 else OTHER_TOPICS)
    # A topic that was deleted may still be in the last sample, or have share state, and one that was just made not yet
    # be known to the broker. One that samples before and after show was known.
    given = {topic for topic, _ in group.wanted}
    stayed = {name for name in names if history.stayed(name, at_ms - DELAY_MS, at_ms + DELAY_MS)}
    for full in (*([] if told is None else [told]), *views):
        left = {name: one for name, one in full.items() if one.id in given or name in stayed}
        if left != full:
            yield KnownTopics(left, OTHER_TOPICS)
    mixed = _mixed(group.wanted, list(_views_of(history, names, bounds_ms(history, names, at_ms))))
    if told is None and mixed is not None:
        yield KnownTopics(mixed, OTHER_TOPICS)
    # Where samples show all that was given, a partition that nobody was given is none that does not exist.
    before = not shared and any(one.at_ms <= at_ms for one in history.moments(names))
    if before and any(fits(group.wanted, one) for one in views):
        return
    alike = len({frozenset(group.names_of(one)) for one in group.members.values()}) <= 1
    guessed = inferred(group.wanted, names) if told is None and alike else None
    if guessed is not None:
        yield KnownTopics(guessed, INFERRED)


def recorded(group: TargetGroup) -> dict[str, BrokerTopic] | None:
    """The topics as the coordinator wrote them down; None from 4.1 on."""
    if group.topics is None:
        return None
    return {
        one.name: BrokerTopic(
            id=one.topic, partitions=one.partitions, racks=tuple(frozenset(racks) for _, racks in sorted(one.racks))
        )
        for one in group.topics.topics
    }


def _with_state(group: TargetGroup) -> Iterator[tuple[str, BrokerTopic]]:
    """Topics with share state. Of several with one name, all but one were deleted: targets hold the one that is left,
    or none of them yet."""
    given = {topic for topic, _ in group.wanted}
    listed = () if group.states is None else group.states.initialized
    for initialized in sorted(listed, key=lambda each: each.topic in given):
        if initialized.numbers:
            yield initialized.name, BrokerTopic(id=initialized.topic, partitions=max(initialized.numbers) + 1)


def _mixed(wanted: Collection[TopicPartition], views: Sequence[Topics]) -> dict[str, BrokerTopic] | None:
    """The topics between two samples among which several changed, one after the other: each as the targets show it, as
    far as samples allow. None where no mixture of the views gives that, or where they are alike."""
    given, mixed = _numbers(wanted), dict[str, BrokerTopic]()
    for name in sorted({name for view in views for name in view}):
        known = [view.get(name) for view in views]
        shown = [one for one in known if one is not None and one.id in given]
        if not shown:
            there = known[0] if None not in known and len({one.id for one in known if one}) == 1 else None
            if there is not None:
                mixed[name] = there
            continue
        count = max(given[shown[0].id]) + 1
        # A topic never has fewer partitions than before; one that was made meanwhile may have had any number.
        least = shown[0].partitions if shown[0] is known[0] else 1
        if len({one.id for one in shown}) > 1 or not least <= count <= max(one.partitions for one in shown):
            return None
        mixed[name] = replace(shown[0], partitions=count, racks=shown[0].racks[:count])
    return mixed if mixed and mixed not in views else None


def bounds_ms(history: TopicHistory, names: Sequence[str], at_ms: int) -> list[int]:
    """The times of the last sample that the coordinator surely knew of, and of those around this time."""
    times = sorted(moments_around(history, names, at_ms))
    known = [one for one in times if one <= at_ms - DELAY_MS]
    return [*known[-1:], *(one for one in times if one > at_ms - DELAY_MS)]


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
    """The views of these topics around a time, the likeliest first, each once: an empty one where none of them was
    there. Topics without an id are of no use, as targets name topics by their ids."""
    return _views_of(history, names, moments_around(history, names, at_ms))


def _views_of(history: TopicHistory, names: Sequence[str], times_ms: Iterable[int]) -> Iterator[dict[str, BrokerTopic]]:
    """What samples show of these topics at these times, each view once."""
    found: list[dict[str, BrokerTopic]] = []
    for shown_ms in times_ms:
        there, view = history.shown(names, shown_ms), {}
        for name, racks in there.items():
            topic = history.id_of(name, shown_ms)
            if topic is not None:
                view[name] = BrokerTopic(id=topic, partitions=len(racks), racks=racks)
        if (view or not there) and view not in found:
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
