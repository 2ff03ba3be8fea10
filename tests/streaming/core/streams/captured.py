"""Rounds of Kafka's own leaders (`streams-full` vectors) as captures: records, settings, and samples of topics.

A sample is taken 9 s before and after each record, as far as clocks may be apart and more. It shows topics and end
offsets of the round that is nearest in time, so end offsets never fall from one sample to the next.

    python -m tests.streaming.core.streams.captured [FILE]      what the judge says of every case of FILE
"""

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import md5
from pathlib import Path
from typing import Any

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge, knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Generation, Incident, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.streaming.core.streams.leaders import VECTORS, body_of, settings_of

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
