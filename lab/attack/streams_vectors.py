"""Rounds that Kafka's own leader played (`streams-full` vectors), as records of a group, and as captures of one.

A capture has samples of topics, too: 9 s before and after each record, as far as clocks may be apart and more. A sample
shows topics and end offsets of the round that is nearest in time, so end offsets never fall from one to the next.

    python -m lab.attack.streams_vectors [FILE]      what the judge says of every case of FILE
"""

import base64
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import md5
from pathlib import Path
from typing import Any

from lab.paths import ROOT
from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge, knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory, TopicMetadata, TopicSample
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import Generation, Incident, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, StreamsSettings

VECTORS = ROOT / "tests" / "vectors" / "streams"
APART_MS = 9_000
ANSWERED_MS, WRITTEN_MS = -20, 5
"""When the join phase ended and when the record was written, from the leader's time on."""


@dataclass(frozen=True, slots=True)
class Captured:
    """One case. `fails`: its leader cannot always read end offsets."""

    name: str
    group: str
    settings: ClusterSettings
    rows: tuple[Row, ...]
    knowledge: Knowledge
    fails: bool = False

    def judged(self) -> Iterator[tuple[Row, Sequence[Result]]]:
        """Each record with what is said of it."""
        state = None
        for row in self.rows:
            outcome = fold_group(self.settings, self.group, state, [row], None, knowledge=self.knowledge)
            state = outcome.state
            yield row, outcome.results


def captured(path: Path = VECTORS / "streams-full.jsonl.gz") -> Iterator[Captured]:
    """All cases of a file of vectors."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            given, told = case["input"], case["expected"].get("rounds", ())
            group = given["applicationId"]
            config = given["config"]
            settings = replace(
                settings_of(case["release"], config),
                probing_interval_ms=int(config.get("probing.rebalance.interval.ms", 600_000)),
                topology=given["topology"],
            )
            yield Captured(
                name=case["id"],
                group=group,
                settings=ClusterSettings(name="c", streams={group: settings}),
                rows=tuple(_rows(group, given["rounds"], told)),
                knowledge=knowledge_of(_samples(given, told)),
                fails="offsets-fail" in case["tags"],
            )


def _rows(group: str, rounds: Sequence[dict[str, Any]], told: Sequence[dict[str, Any]]) -> Iterator[Row]:
    for offset, (asked, answer) in enumerate(zip(rounds, told, strict=False)):
        if "assignments" in answer:
            body: GroupGeneration = replace(body_of(asked, answer), state_ms=asked["now"] + ANSWERED_MS)
            at_ms = asked["now"] + WRITTEN_MS
            yield Row(
                topic="__consumer_offsets", partition=0, offset=offset, timestamp_ms=at_ms, group=group, body=body
            )


def _samples(given: dict[str, Any], told: Sequence[dict[str, Any]]) -> Iterator[TopicMetadata]:
    rounds = given["rounds"]
    times = sorted(asked["now"] + apart for asked in rounds for apart in (-APART_MS, APART_MS))
    for at_ms in times:
        at = min(range(len(rounds)), key=lambda number: abs(rounds[number]["now"] - at_ms))
        topics = dict(rounds[at]["topics"])
        if at_ms > rounds[at]["now"] and at < len(told):
            racks = [given.get("defaultReplicaRacks") or [None]]
            topics |= {topic: racks * count for topic, count in told[at].get("createdTopics", {}).items()}
        yield _sample(at_ms, topics, rounds[at]["endOffsets"])


def _sample(at_ms: int, topics: Mapping[str, Sequence[Sequence[str | None]]], ends: Mapping[str, int]) -> TopicMetadata:
    return TopicMetadata(
        at_ms=at_ms,
        topics={
            topic: tuple(frozenset(rack for rack in replicas if rack is not None) for replicas in partitions)
            for topic, partitions in topics.items()
        },
        ids={topic: md5(topic.encode(), usedforsecurity=False).digest() for topic in topics},
        ends={
            topic: tuple(ends.get(f"{topic}-{number}", 0) for number in range(len(partitions)))
            for topic, partitions in topics.items()
            if topic.endswith("-changelog")
        },
    )


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


def main(paths: Sequence[str]) -> None:
    """Print the grades of all generations, and every rule that is broken."""
    grades: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    for case in (one for path in paths or (VECTORS / "streams-full.jsonl.gz",) for one in captured(Path(path))):
        for _, results in case.judged():
            for one in results:
                if isinstance(one, Generation):
                    verdict = one.verdict
                    grades[f"{verdict.grade.value}, {verdict.reason.kind.value}" if verdict.reason else "match"] += 1
                elif isinstance(one, Incident) and one.transition == "opened":
                    broken[f"{one.code} {one.severity.value} in {case.name}: {one.message}"] += 1
    for name, count in (*sorted(grades.items()), *sorted(broken.items())):
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
