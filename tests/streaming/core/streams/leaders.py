"""Rounds that Kafka's own leader played (`streams-full` vectors), as records of a group."""

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory, TopicSample
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.streams_settings import StreamsSettings

VECTORS = Path(__file__).parents[3] / "vectors" / "streams"


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what its leader was configured with, and its rounds as records with their times (ms)."""

    name: str
    tags: tuple[str, ...]
    settings: StreamsSettings
    rounds: tuple[tuple[int, GroupGeneration], ...]
    application: str
    topology: str
    topics: TopicHistory

    @property
    def looks_at_racks(self) -> bool:
        """Whether its leader is configured with a rack strategy."""
        return self.settings.rack_strategy != "none"


def cases() -> Iterator[Case]:
    """All cases."""
    with gzip.open(VECTORS / "streams-full.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            rounds = zip(case["input"]["rounds"], case["expected"].get("rounds", ()), strict=False)
            records = tuple((asked["now"], body_of(asked, told)) for asked, told in rounds if "assignments" in told)
            yield Case(
                case["id"],
                tuple(case["tags"]),
                settings_of(case["release"], case["input"]["config"]),
                records,
                case["input"]["applicationId"],
                case["input"]["topology"],
                topics_of(case["input"], case["expected"].get("rounds", ())),
            )


def topics_of(given: dict[str, Any], told: Sequence[dict[str, Any]]) -> TopicHistory:
    """A sample at each round, and one soon after it, which shows what the leader created. Each rack is one broker."""
    history = TopicHistory()
    for asked, answer in zip(given["rounds"], told, strict=False):
        created = {
            topic: [given.get("defaultReplicaRacks") or [None]] * count
            for topic, count in answer.get("createdTopics", {}).items()
        }
        for at_ms, topics in ((asked["now"], asked["topics"]), (asked["now"] + 1_000, {**created, **asked["topics"]})):
            history = history.with_sample(sample_of(at_ms, topics))
    return history


def sample_of(at_ms: int, topics: Mapping[str, Sequence[Sequence[str | None]]]) -> TopicSample:
    """What brokers answer whose replicas are in these racks; broker 0 has none."""
    racks = sorted({rack for partitions in topics.values() for replicas in partitions for rack in replicas if rack})
    brokers: dict[str | None, int] = {None: 0, **{rack: at for at, rack in enumerate(racks, 1)}}
    return TopicSample(
        at_ms,
        at_ms,
        {
            topic: tuple(tuple(brokers[rack] for rack in replicas) for replicas in partitions)
            for topic, partitions in topics.items()
        },
        {at: rack for rack, at in brokers.items() if rack is not None},
    )


def settings_of(release: str, config: dict[str, Any]) -> StreamsSettings:
    """The leader's configuration as the monitor's."""
    internal = str(config.get("internal.task.assignor.class", ""))
    plug_in = config.get("task.assignor.class")
    return StreamsSettings(
        release=release,
        assignor=plug_in or ("high_availability" if "Sticky" not in internal else "legacy_sticky"),
        standbys=int(config.get("num.standby.replicas", 0)),
        warm_ups=int(config.get("max.warmup.replicas", 2)),
        acceptable_lag=int(config.get("acceptable.recovery.lag", 10_000)),
        rack_strategy=config.get("rack.aware.assignment.strategy", "none"),
        rack_traffic_cost=config.get("rack.aware.assignment.traffic_cost", 1 if "Sticky" in internal else 10),
        rack_non_overlap_cost=config.get("rack.aware.assignment.non_overlap_cost", 10 if "Sticky" in internal else 1),
        rack_tags=tuple(config.get("rack.aware.assignment.tags", ())),
    )


def body_of(asked: dict[str, Any], told: dict[str, Any]) -> GroupGeneration:
    """One round as the coordinator records it."""
    return GroupGeneration(
        protocol_type="consumer",
        generation=asked["generation"],
        protocol="stream",
        leader=asked["leader"],
        state_ms=asked["now"],
        members=tuple(member(one, told["assignments"][one["id"]]) for one in asked["members"]),
    )


def member(asked: dict[str, Any], told: dict[str, Any]) -> MemberRow:
    """One thread."""
    wanted = ConsumerSubscription(
        version=3,
        topics=tuple(asked["topics"]),
        user_data=base64.b64decode(asked["userData"]),
        owned=tuple(map(partition, asked["owned"])),
        generation=asked["generation"],
        rack=asked["rack"],
    )
    given = ConsumerAssignment(
        version=3, partitions=tuple(map(partition, told["partitions"])), user_data=base64.b64decode(told["userData"])
    )
    return MemberRow(
        member_id=asked["id"],
        instance_id=asked.get("groupInstanceId"),
        client_id=asked["id"],
        client_host="/10.0.0.1",
        rebalance_timeout_ms=60_000,
        session_timeout_ms=10_000,
        subscription=wanted,
        assignment=given,
        subscription_bytes=encode_subscription(wanted),
        assignment_bytes=encode_assignment(given),
    )


def partition(text: str) -> TopicPartition:
    """`t-0` -> ("t", 0)."""
    topic, _, number = text.rpartition("-")
    return topic, int(number)
