"""Topics of a share group as the coordinator may have known them."""

from collections.abc import Iterator

from rebalance_monitor.assignors.broker.model import BrokerTopic
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.share.group import ShareGroup
from rebalance_monitor.streaming.core.targets import topics
from rebalance_monitor.streaming.core.targets.reasons import INFERRED, OTHER_TOPICS
from rebalance_monitor.streaming.core.targets.topics import KnownTopics


def known_topics(group: ShareGroup, history: TopicHistory, at_ms: int) -> Iterator[KnownTopics]:
    """What the coordinator may have known, the likeliest first.

    Since 4.1 it assigns partitions that have share state, and its records tell all of these. A topic may be deleted,
    though, which it knows sooner than its records and samples show it.
    """
    names = group.subscribed
    told = topics.recorded(group.topics)
    if told is None and group.metadata_hash is not None:
        told = dict(_initialized(group))
    if told is not None or not names:
        yield KnownTopics(told or {})
    sampled = list(topics.sampled(history, names, at_ms))
    for number, view in enumerate(sampled):
        yield KnownTopics(view, None if told is None and number == 0 else OTHER_TOPICS)
    given = {topic for topic, _ in group.wanted}
    for full in (*([] if told is None else [told]), *sampled):
        left = {name: one for name, one in full.items() if one.id in given}
        if left != full:
            yield KnownTopics(left, OTHER_TOPICS)
    if told is None and len({frozenset(one.names) for one in group.members.values()}) <= 1:
        guessed = topics.inferred(group.wanted, names)
        if guessed is not None:
            yield KnownTopics(guessed, INFERRED)


def _initialized(group: ShareGroup) -> Iterator[tuple[str, BrokerTopic]]:
    """Topics with share state. Of several with one name, all but one were deleted: targets hold the one that is left,
    or none of them yet."""
    given = {topic for topic, _ in group.wanted}
    listed = () if group.states is None else group.states.initialized
    for initialized in sorted(listed, key=lambda each: each.topic in given):
        if initialized.numbers:
            yield initialized.name, BrokerTopic(id=initialized.topic, partitions=max(initialized.numbers) + 1)
