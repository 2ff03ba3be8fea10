"""What brokers say of all topics and of themselves: three requests, whatever the number of topics; and where the
changelogs of Streams applications end, one request more to each broker.

Two of them tell of all topics and brokers. The third tells topics' ids, by which the records of KIP-848 groups name
them: those of topics that are new or have changed, then those of others in turn, a bounded number each time. A topic
that was made anew has another id; until it is asked for again, targets that name it are not judged.

The end offsets of a changelog are asked for between two questions for its id, and count only if both got the same
answer: then they are those of this topic and of no other one of its name.

    topics            ids as last told      end offsets           ids once more
    app-s-changelog   7f..                  400, 460              7f..: kept
    app-t-changelog   a0..                  900                   b1..: not kept this time
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any

from rebalance_monitor.streaming.core.cluster.changelogs import CHANGELOG_SUFFIX
from rebalance_monitor.streaming.core.cluster.end_offsets import EndOffsets
from rebalance_monitor.streaming.core.cluster.topics import Replicas
from .admin import REQUEST_TIMEOUT_S, admin_of, brokers, next_of

REQUESTS = 3
"""Of one answer without end offsets."""
MOST_DESCRIBED = 500
"""Topics whose ids are asked for at a time."""
MOST_CHANGELOGS = 200
"""Changelogs whose end offsets are asked for at a time."""
MOST_CHANGELOG_PARTITIONS = 10_000
_HALF = (1 << 64) - 1
_NO_SUCH_TOPIC, _NOT_AUTHORIZED = 3, 29


@dataclass(frozen=True, slots=True)
class BrokersAnswer:
    """The replicas of each topic that the monitor may describe, and the racks of brokers that are alive and have one.
    `unclear`: topics of which the broker could not say it now. `ids`: the 16 bytes of ids, as far as they are known.
    `ends`: the end offsets of some changelogs, by partition. `requests`: how many it took at most."""

    topics: Mapping[str, Replicas]
    racks: Mapping[int, str]
    unclear: frozenset[str] = frozenset()
    ids: Mapping[str, bytes] = field(default_factory=dict)
    ends: Mapping[str, EndOffsets] = field(default_factory=dict)
    requests: int = REQUESTS


class KafkaTopics:
    """Asks a real cluster, through librdkafka's admin client."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._client = client
        self._ids: dict[str, tuple[Replicas, bytes]] = {}
        """Of each topic the replicas that it had when its id was told; those that were asked for last come last."""
        self._last_changelog: str | None = None

    @cached_property
    def _admin(self) -> Any:
        return admin_of(self._client, "poller")

    def __call__(self) -> BrokersAnswer:
        """One answer; PartFailed when no broker gives it in time."""

        with brokers("did not say which topics there are"):
            # In this order: the client asks the controller for the brokers, and only a list of topics tells it anew
            # which one that is. Brokers under KRaft name any of them that lives, also the one that dies next.
            listed = self._admin.list_topics(timeout=REQUEST_TIMEOUT_S)
            described = self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S).result(REQUEST_TIMEOUT_S + 1)
        read = {name: _replicas(topic) for name, topic in listed.topics.items()}
        topics = {name: replicas for name, replicas in read.items() if replicas}
        changelogs = self._changelogs(topics)
        known = {name: self._ids[name][1] for name in changelogs if name in self._ids}
        ends = self._ends({name: topics[name] for name in known})
        told = self._learn_ids(topics, changelogs)
        return BrokersAnswer(
            topics=topics,
            racks={int(node.id): str(node.rack) for node in described.nodes if node.rack},
            unclear=frozenset(name for name, replicas in read.items() if replicas == ()),
            ids={name: told for name, (_, told) in self._ids.items()},
            ends={name: each for name, each in ends.items() if told.get(name) == known[name]},
            requests=REQUESTS + (1 + len(described.nodes) if known else 0),
        )

    def _changelogs(self, topics: Mapping[str, Replicas]) -> list[str]:
        """Some changelogs, in turn."""
        found: list[str] = []
        partitions = 0
        names = sorted(name for name in topics if name.endswith(CHANGELOG_SUFFIX))
        for name in next_of(names, self._last_changelog, MOST_CHANGELOGS):
            partitions += len(topics[name])
            if found and partitions > MOST_CHANGELOG_PARTITIONS:
                break
            found.append(name)
        self._last_changelog = found[-1] if found else None
        return found

    def _ends(self, topics: Mapping[str, Replicas]) -> dict[str, EndOffsets]:
        """The high watermark of each partition: that is what a leader asks for. A topic of which not all are told is
        left out."""
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        wanted = [TopicPartition(name, at) for name, held in topics.items() for at in range(len(held))]
        found: dict[str, list[int]] = {name: [] for name in topics}
        if not wanted:
            return {}
        try:
            asked = self._admin.list_offsets(
                dict.fromkeys(wanted, OffsetSpec.latest()),
                isolation_level=IsolationLevel.READ_UNCOMMITTED,
                request_timeout=REQUEST_TIMEOUT_S,
            )
        except KafkaException:
            return {}
        answers = {(place.topic, place.partition): answer for place, answer in asked.items()}
        for place in wanted:
            try:
                found[place.topic].append(answers[place.topic, place.partition].result(REQUEST_TIMEOUT_S + 1).offset)
            except (KafkaException, TimeoutError, KeyError):
                continue
        return {name: tuple(each) for name, each in found.items() if len(each) == len(topics[name])}

    def _learn_ids(self, topics: Mapping[str, Replicas], changelogs: Iterable[str]) -> Mapping[str, bytes]:
        """The ids that were told now. Without an answer the ids stay as they are known."""
        self._ids = {name: known for name, known in self._ids.items() if name in topics}
        changed = [name for name, held in topics.items() if name not in self._ids or self._ids[name][0] != held]
        asked = list(islice(dict.fromkeys(chain(changed, changelogs, self._ids)), MOST_DESCRIBED))
        answered = dict(self._described(asked))
        for name, told in answered.items():
            self._ids.pop(name, None)
            self._ids[name] = topics[name], told
        return answered

    def _described(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Topics with their ids; one of which the brokers do not say it now is left out."""
        from confluent_kafka import KafkaException, TopicCollection

        listed = list(names)
        if not listed:
            return
        try:
            told = self._admin.describe_topics(TopicCollection(listed), request_timeout=REQUEST_TIMEOUT_S)
        except KafkaException:
            return
        for name, answer in told.items():
            try:
                topic_id = answer.result(REQUEST_TIMEOUT_S + 1).topic_id
            except (KafkaException, TimeoutError):
                continue
            halves = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()
            if any(halves):  # brokers before 2.8 have none
                yield name, b"".join((half & _HALF).to_bytes(8, "big") for half in halves)


def _replicas(topic: Any) -> Replicas | None:
    """The replicas of each partition; None if the topic is not there, () if the broker does not know them now."""
    if topic.error is not None and topic.error.code() in (_NO_SUCH_TOPIC, _NOT_AUTHORIZED):
        return None
    numbers = sorted(topic.partitions)
    if numbers != list(range(len(numbers))):
        return ()
    return tuple(tuple(topic.partitions[number].replicas) for number in numbers)
