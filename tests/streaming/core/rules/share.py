"""Stories about share groups: every record of the coordinator is written out as bytes, nothing computes a target."""

from collections.abc import Iterable, Mapping
from typing import Any

from rebalance_monitor.schemas.coordinator_records import NEWEST
from rebalance_monitor.schemas.layouts import Release, as_of
from rebalance_monitor.schemas.record_layouts import VALUES
from rebalance_monitor.schemas.struct_writers import writer
from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from tests.streaming.core.rules.builders import Story

TOPIC = "a"
TOPIC_ID = bytes(range(16))
IDS = {TOPIC: TOPIC_ID}
SESSION_MS = 45_000
STABLE, LATER_STATE = 0, 7

Held = Mapping[str, Iterable[int]]
"""Topic names and numbers of partitions."""


def numbers(text: str) -> Held:
    """`"0 1"` -> partitions 0 and 1 of the topic."""
    listed = [int(one) for one in text.split()]
    return {TOPIC: listed} if listed else {}


class Share(Story):
    """A share group told moment by moment, as brokers of a release write it."""

    def __init__(self, *, release: Release = NEWEST, ids: Mapping[str, bytes] = IDS) -> None:
        super().__init__()
        self.release, self.ids = release, ids

    def sampled(self, *counts: int) -> "Share":
        """Samples of the topic, a minute apart, the first at the start."""
        metadata = (
            TopicMetadata(self.now_ms - 1 + 60_000 * at, {TOPIC: (frozenset[str](),) * count}, dict(self.ids))
            for at, count in enumerate(counts)
        )
        self.knowledge = knowledge_of(metadata)
        return self

    def write(self, type_: int, values: Mapping[str, Any] | None, *names: str) -> None:
        """One record at the present moment."""
        value = None
        if values is not None:
            out = bytearray(b"\x00\x00")
            writer(as_of(VALUES[type_], self.release), 0)(out, values)
            value = bytes(out)
        self.offsets_row(value, type_, *names)

    def member(self, name: str, topics: Iterable[str] = (TOPIC,)) -> None:
        """Type 10."""
        values = {"rackId": None, "clientId": "c", "clientHost": "/10.0.0.1", "subscribedTopicNames": list(topics)}
        self.write(10, values, name)

    def epoch(self, number: int, topics_hash: int = 1) -> None:
        """Type 11."""
        self.write(11, {"epoch": number, "metadataHash": topics_hash})

    def counted(self, counts: Mapping[str, int]) -> None:
        """Type 9 of 4.0: how many partitions the coordinator knows."""
        topics = [
            {"topicId": self.ids[name], "topicName": name, "numPartitions": count, "partitionMetadata": []}
            for name, count in counts.items()
        ]
        self.write(9, {"topics": topics})

    def initialized(self, held: Held, coming: Held | None = None) -> None:
        """Type 15: which partitions have share state, and which are to get it."""
        coming = {} if coming is None else coming
        values = {"initializingTopics": self._named(coming), "initializedTopics": self._named(held)}
        self.write(15, {**values, "deletingTopics": []})

    def target(self, number: int, targets: Mapping[str, Held], *, at_ms: int = 0) -> None:
        """Types 13 and 12."""
        for name, held in targets.items():
            self.write(13, {"topicPartitions": self._given(held)}, name)
        self.write(12, {"assignmentEpoch": number, **({"assignmentTimestamp": at_ms} if at_ms else {})})

    def holds(self, name: str, number: int, held: Held, *, state: int = STABLE) -> None:
        """Type 14."""
        before = max(number - 1, 0)
        values = {"memberEpoch": number, "previousMemberEpoch": before, "state": state}
        self.write(14, {**values, "assignedPartitions": self._given(held)}, name)

    def gone(self, *names: str, epoch: int) -> None:
        """A member leaves, or is removed: tombstones, and another group epoch."""
        for name in names:
            for type_ in (14, 13, 10):
                self.write(type_, None, name)
        self.epoch(epoch)

    def after(self, ms: int = 1_000) -> "Share":
        """The next moment comes so much later."""
        self.now_ms += ms
        return self

    def _given(self, held: Held) -> list[dict[str, Any]]:
        return [{"topicId": self.ids[name], "partitions": list(listed)} for name, listed in held.items()]

    def _named(self, held: Held) -> list[dict[str, Any]]:
        return [
            {"topicId": self.ids[name], "topicName": name, "partitions": list(listed)} for name, listed in held.items()
        ]


def first() -> Share:
    """Member a has joined, and nothing has share state yet."""
    story = Share()
    story.member("a")
    story.epoch(1)
    story.target(1, {"a": {}})
    story.holds("a", 1, {})
    story.initialized({}, numbers("0 1 2 3"))
    return story


def pair() -> Share:
    """Members a and b at epoch 3, each with two of four partitions."""
    story = first()
    story.after().initialized(numbers("0 1 2 3"))
    story.after().epoch(2)
    story.target(2, {"a": numbers("0 1 2 3")})
    story.holds("a", 2, numbers("0 1 2 3"))
    story.after().member("b")
    story.epoch(3)
    story.target(3, {"a": numbers("2 3"), "b": numbers("0 1")})
    story.holds("b", 3, numbers("0 1"))
    story.after().holds("a", 3, numbers("2 3"))
    return story
