"""Targets of a broker whose Java is not known: sets of 12, 24, 48, … names are walked as that Java walks them."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_monitor.assignors.broker import uniform
from rebalance_monitor.assignors.broker.model import JAVAS, BrokerGroup, BrokerMember, BrokerResult, BrokerTopic
from rebalance_monitor.schemas.group_values import ConsumerMember, PartitionMetadata, Target, TopicMetadata
from rebalance_monitor.streaming.calculator.broker import topic_id
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.targets.assigning import CONSUMERS
from rebalance_monitor.streaming.core.targets.expected import flat_target
from rebalance_monitor.streaming.core.targets.group import TargetGroup
from rebalance_monitor.streaming.core.targets.member import TargetMember
from rebalance_monitor.streaming.core.targets.operation import Computed
from rebalance_monitor.streaming.core.targets.units import Units
from rebalance_monitor.streaming.core.targets.verdict import judge
from tests.streaming.core.target_mutants import partitions_of
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "consumer" / "broker-assign.jsonl.gz"


def twelve_names() -> dict[str, Any]:
    """Kafka's answer for 13 members with 12 names, one of them without a topic."""
    (found,) = (case for case in json_lines(VECTORS) if case["id"] == "bh-01463-0")
    return dict(found)


def group_of(case: dict[str, Any]) -> BrokerGroup:
    members = tuple(BrokerMember(id=one["id"], names=tuple(one["subscribed"])) for one in case["input"]["members"])
    topics = {
        one["name"]: BrokerTopic(id=topic_id(text), partitions=one["partitions"])
        for text, one in case["input"]["topics"].items()
    }
    return BrokerGroup(members=members, topics=topics)


def verdict_of(group: BrokerGroup, given: dict[str, Units]) -> Verdict:
    """On these targets as the first ones of the group."""
    views = {
        one.id: TargetMember(
            metadata=ConsumerMember(
                instance_id=None, rack=None, client_id="c", client_host="/h", names=one.names, regex=None,
                rebalance_timeout_ms=1, server_assignor="uniform", classic=None,
            )
        )
        for one in group.members
    }  # fmt: skip
    told = PartitionMetadata(tuple(TopicMetadata(one.id, name, one.partitions) for name, one in group.topics.items()))
    before = TargetGroup(epoch=2, assignment_epoch=1, members=views, topics=told)
    members = {name: replace(view, target=Target(partitions_of(given[name]))) for name, view in views.items()}
    after = replace(before, assignment_epoch=2, members=members)
    return judge(CONSUMERS, Computed(before, after), TopicHistory(), 0, lambda topic: topic.hex())


@pytest.mark.parametrize("java_version", JAVAS)
def test_the_target_of_a_broker_on_either_java_is_a_match(java_version: int) -> None:
    group = group_of(twelve_names())
    answer = uniform.assign(group, java_version=java_version)
    assert isinstance(answer, BrokerResult)
    given: dict[str, Units] = {one.id: frozenset(flat_target(answer, one.id)) for one in group.members}
    assert verdict_of(group, given).grade is Grade.MATCH


def test_a_target_that_no_java_gives_stays_unexplained() -> None:
    group = group_of(twelve_names())
    answer = uniform.assign(group)
    assert isinstance(answer, BrokerResult)
    given: dict[str, Units] = {one.id: frozenset(flat_target(answer, one.id)) for one in group.members}
    first, second, *_ = given
    given[first], given[second] = given[second], given[first]
    assert verdict_of(group, given).grade is Grade.UNEXPLAINED
