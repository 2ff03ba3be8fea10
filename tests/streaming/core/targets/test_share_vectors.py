"""Targets that Kafka's own `simple` assignor computed, as the coordinator would have written them: all are right."""

from typing import Any

import pytest

from rebalance_monitor.assignors.broker import simple
from rebalance_monitor.assignors.broker.model import BrokerResult, BrokerTopic, Release, release_of
from rebalance_monitor.schemas.group_values import (
    NamedPartitions,
    PartitionMetadata,
    ShareMember,
    ShareStates,
    Target,
    TopicMetadata,
    TopicPartitions,
)
from rebalance_monitor.streaming.calculator.broker import topic_id
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.targets.assigning import BALANCED, EVERYTHING, SHARES, SPARING
from rebalance_monitor.streaming.core.targets.expected import assignor_input, flat_target
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.member import TargetMember
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.verdict import judge
from tests.streaming.core.targets.judged import target_incomplete
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "consumer" / "broker-assign.jsonl.gz"


def cases() -> list[dict[str, Any]]:
    return [case for case in json_lines(VECTORS) if case["kind"] == "simple" and "error" not in case["expected"]]


def era_of(release: Release) -> str:
    return (EVERYTHING if release < (4, 1) else SPARING if release < (4, 2) else BALANCED)[0]


def partitions(listed: list[Any]) -> tuple[TopicPartitions, ...]:
    return tuple(TopicPartitions(topic_id(topic), tuple(numbers)) for topic, numbers in listed)


def computed(case: dict[str, Any], release: Release) -> Computed:
    """The group before and after a target that brokers of this release computed; every partition has share state."""
    given, answer = case["input"], case["expected"]["assignment"]
    told = [(topic_id(text), topic["name"], topic["partitions"]) for text, topic in given["topics"].items()]
    states = ShareStates(
        initializing=(), deleting=(), initialized=tuple(NamedPartitions(*one[:2], tuple(range(one[2]))) for one in told)
    )
    metadata = PartitionMetadata(tuple(TopicMetadata(*one) for one in told))
    members = {
        one["id"]: TargetMember(
            metadata=ShareMember(rack=one.get("rack"), client_id="c", client_host="/h", names=tuple(one["subscribed"])),
            target=Target(partitions(one["previous"])),
        )
        for one in given["members"]
    }
    newer = release >= (4, 1)
    before = TargetGroup(
        epoch=2, assignment_epoch=1, metadata_hash=1 if newer else None, members=members,
        states=states if newer else None, topics=None if newer else metadata,
    )  # fmt: skip
    wanted = {name: partitions(share["target"]) if share else () for name, share in answer.items()}
    after = {
        name: TargetMember(metadata=one.metadata, target=Target(wanted.get(name, ()))) for name, one in members.items()
    }
    return Computed(before, TargetGroup(
        epoch=2, assignment_epoch=2, metadata_hash=before.metadata_hash, members=after,
        states=before.states, topics=before.topics,
    ))  # fmt: skip


def verdict_of(target: Computed) -> Verdict:
    return judge(SHARES, target, TopicHistory(), 0, lambda topic: topic.hex())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_what_kafka_computed_is_judged_right(case: dict[str, Any]) -> None:
    for release in map(release_of, case["eras"]):
        verdict = verdict_of(computed(case, release))
        if "tree-bins" in case["tags"] and verdict.grade is Grade.NOT_JUDGED:
            continue
        assert verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE), release
        assert era_of(release) in verdict.eras
        assert (verdict.grade is Grade.MATCH) == (era_of(release) != SPARING[0] or BALANCED[0] in verdict.eras)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_every_partition_that_may_be_assigned_has_a_member(case: dict[str, Any]) -> None:
    """What law 5 rests on. 4.1 leaves a partition out whose earlier members do not subscribe any more, once: with the
    next heartbeat the coordinator computes another target, which has it."""
    release = release_of(case["release"])
    told = case["input"]["topics"].items()
    counts = {one["name"]: (topic_id(text), one["partitions"]) for text, one in told}
    target = computed(case, release)
    left_out = [one for breach in target_incomplete(target.after, counts) for one in breach.units]
    if left_out:
        assert era_of(release) == SPARING[0]
        topics = {name: BrokerTopic(id=topic, partitions=count) for name, (topic, count) in counts.items()}
        group = assignor_input(Computed(target.after, target.after), topics)
        assert group is not None
        outcome = simple.assign(group, release=release, assignable=target.after.initialized())
        assert isinstance(outcome, BrokerResult)
        assert set(left_out) <= frozenset().union(*(flat_target(outcome, name) for name in target.after.members))
