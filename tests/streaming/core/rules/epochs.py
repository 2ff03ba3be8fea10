"""Stories about KIP-848 groups: every record of the coordinator is written out as bytes, nothing computes a target."""

from collections.abc import Iterable, Mapping
from typing import Any

from rebalance_monitor.schemas.coordinator_records import NEWEST
from rebalance_monitor.schemas.layouts import as_of
from rebalance_monitor.schemas.record_layouts import VALUES
from rebalance_monitor.schemas.struct_writers import writer
from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from tests.streaming.core.rules.builders import Story

TOPIC = "a"
TOPIC_ID = bytes(range(16))
REBALANCE_MS, SESSION_MS = 60_000, 45_000
STABLE, UNREVOKED, UNRELEASED, LATER_STATE = 0, 1, 2, 7


def given(numbers: str) -> list[dict[str, Any]]:
    """`"0 1"` -> partitions 0 and 1 of the topic."""
    listed = [int(one) for one in numbers.split()]
    return [{"topicId": TOPIC_ID, "partitions": listed}] if listed else []


class Epochs(Story):
    """A KIP-848 group told operation by operation; `topics`: how many partitions the one topic has, from the start."""

    def __init__(self, partitions: int = 0) -> None:
        super().__init__()
        if partitions:
            self.sampled(partitions)

    def sampled(self, *counts: int) -> "Epochs":
        """Samples of the topic, a minute apart, the first at the start; 0: there is none."""
        metadata = (
            TopicMetadata(
                self.now_ms - 1 + 60_000 * at,
                {TOPIC: (frozenset[str](),) * count} if count else {},
                {TOPIC: TOPIC_ID} if count else {},
            )
            for at, count in enumerate(counts)
        )
        self.knowledge = knowledge_of(metadata)
        return self

    def write(self, type_: int, values: Mapping[str, Any] | None, *names: str) -> None:
        """One record at the present moment."""
        value = None
        if values is not None:
            out = bytearray(b"\x00\x00")
            writer(as_of(VALUES[type_], NEWEST), 0)(out, values)
            value = bytes(out)
        self.offsets_row(value, type_, *names)

    def member(
        self,
        name: str,
        *,
        instance: str | None = None,
        topics: Iterable[str] = (TOPIC,),
        classic: bool = False,
        pattern: str | None = None,
    ) -> None:
        """Type 5; `classic`: it joins and syncs; `pattern`: what it subscribes to instead of topics."""
        joins = {"sessionTimeoutMs": SESSION_MS, "supportedProtocols": []} if classic else None
        self.write(
            5,
            {
                "instanceId": instance, "rackId": None, "clientId": "consumer", "clientHost": "/10.0.0.1",
                "subscribedTopicNames": [] if pattern else list(topics), "subscribedTopicRegex": pattern,
                "rebalanceTimeoutMs": REBALANCE_MS, "serverAssignor": "uniform",
                **({"classicMemberMetadata": joins} if joins else {}),
            },
            name,
        )  # fmt: skip

    def resolved(self, pattern: str, *topics: str) -> None:
        """Type 16: the topics that fit a pattern."""
        self.write(16, {"topics": list(topics), "version": 1, "timestamp": self.now_ms}, pattern)

    def epoch(self, number: int) -> None:
        """Type 3."""
        self.write(3, {"epoch": number, "metadataHash": 1})

    def target(self, number: int, **targets: str) -> None:
        """Types 7 and 6."""
        for name, numbers in targets.items():
            self.target_of(name, numbers)
        self.write(6, {"assignmentEpoch": number})

    def target_of(self, name: str, numbers: str) -> None:
        """Type 7."""
        self.write(7, {"topicPartitions": given(numbers)}, name)

    def holds(self, name: str, number: int, numbers: str, *, state: int = STABLE, pending: str = "") -> None:
        """Type 8."""
        values = {
            "memberEpoch": number, "previousMemberEpoch": max(number - 1, 0), "state": state,
            "assignedPartitions": given(numbers), "partitionsPendingRevocation": given(pending),
        }  # fmt: skip
        self.write(8, values, name)

    def gone(self, *names: str, epoch: int) -> None:
        """A member leaves, or is removed: tombstones, and another group epoch."""
        for name in names:
            for type_ in (8, 7, 5):
                self.write(type_, None, name)
        self.epoch(epoch)

    def after(self, ms: int = 1_000) -> "Epochs":
        """The next operation comes so much later."""
        self.now_ms += ms
        return self


def alone(partitions: int = 4) -> Epochs:
    """Member a at epoch 1, with four partitions."""
    story = Epochs(partitions)
    story.member("a")
    story.epoch(1)
    story.target(1, a="0 1 2 3")
    story.holds("a", 1, "0 1 2 3")
    return story


def pair(partitions: int = 4) -> Epochs:
    """Members a and b at epoch 3, each with two of four partitions."""
    story = alone(partitions)
    story.after().member("b")
    story.epoch(2)
    story.target(2, a="0 1", b="2 3")
    story.holds("b", 2, "", state=UNRELEASED)
    story.after().holds("a", 1, "0 1", state=UNREVOKED, pending="2 3")
    story.after().holds("a", 2, "0 1")
    story.after().holds("b", 2, "2 3")
    return story
