"""Rounds that Kafka's own leader played (`streams-full` vectors), as records of a group."""

import base64
import gzip
import json
from collections.abc import Iterator
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


def cases() -> Iterator[Case]:
    """All cases."""
    with gzip.open(VECTORS / "streams-full.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            rounds = zip(one["input"]["rounds"], one["expected"].get("rounds", ()), strict=False)
            records = tuple((asked["now"], body_of(asked, told)) for asked, told in rounds if "assignments" in told)
            yield Case(one["id"], tuple(one["tags"]), settings_of(one["release"], one["input"]["config"]), records)


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
