"""`range` of franz-go with racks: it goes by the racks of partitions' leaders, which no sample shows."""

from collections import Counter
from typing import Any

from rebalance_monitor.assignors.consumer.model import ConsumerMember
from rebalance_monitor.assignors.consumer.other_deals import may_be_franz_gos
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata, history_of
from rebalance_monitor.streaming.core.consumer.verdict import judge
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.vector_files import VECTORS, json_lines

CASES = list(json_lines(VECTORS / "consumer" / "franz-go-racks.jsonl.gz"))
Shares = dict[str, list[tuple[str, int]]]


def graded(case: dict[str, Any], shares: Shares, client_id: str = "kgo") -> Grade:
    members = tuple(
        MemberRow(
            member_id=one["id"],
            instance_id=one["instance"],
            client_id=client_id,
            client_host="/127.0.0.1",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            subscription=ConsumerSubscription(version=3, topics=tuple(one["topics"]), rack=one["rack"]),
            assignment=ConsumerAssignment(version=0, partitions=tuple(shares[one["id"]])),
            subscription_bytes=b"",
            assignment_bytes=b"",
        )
        for one in case["members"]
    )
    body = GroupGeneration(
        protocol_type="consumer", generation=5, protocol="range", leader=members[0].member_id, state_ms=1_000,
        members=members,
    )  # fmt: skip
    topics = {name: tuple(map(frozenset, partitions)) for name, partitions in case["topics"].items()}
    history = history_of([TopicMetadata(at_ms=0, topics=topics)])
    return judge(ClusterSettings(name="c"), history, body, 1_000, first=False).grade


def shares_of(case: dict[str, Any]) -> Shares:
    return {name: [(topic, number) for topic, number in share] for name, share in case["shares"].items()}


def test_no_answer_of_franz_go_is_unexplained() -> None:
    grades = Counter(graded(case, shares_of(case)) for case in CASES)
    assert grades.total() == len(CASES) == 40
    assert grades.keys() <= {Grade.MATCH, Grade.EXPLAINABLE}


def test_the_client_has_to_be_known() -> None:
    """Kafka's class answers otherwise."""
    assert Grade.UNEXPLAINED in {graded(case, shares_of(case), client_id="rdkafka") for case in CASES}


def test_each_partition_is_given_once_and_each_member_has_its_quota() -> None:
    for case in CASES:
        topics = {name: tuple(map(frozenset, partitions)) for name, partitions in case["topics"].items()}
        members = [
            ConsumerMember(id=one["id"], instance_id=one["instance"], topics=tuple(one["topics"]), rack=one["rack"])
            for one in case["members"]
        ]
        shares = shares_of(case)
        assert may_be_franz_gos(members, topics, shares)
        giver = next(name for name, share in shares.items() if share)
        assert not may_be_franz_gos(members, topics, {**shares, giver: [*shares[giver], ("other", 0)]})
        fewer = {**shares, giver: shares[giver][1:]}
        assert not may_be_franz_gos(members, topics, fewer)
        for taker in shares.keys() - {giver}:
            moved = {**fewer, taker: [*shares[taker], shares[giver][0]]}
            assert not may_be_franz_gos(members, topics, moved)


def test_partitions_that_are_led_in_no_members_rack_follow_in_order() -> None:
    members = [ConsumerMember(id="m1", topics=("a",), rack="x"), ConsumerMember(id="m2", topics=("a",))]
    topics = {"a": (frozenset("y"), frozenset("z"))}
    assert may_be_franz_gos(members, topics, {"m1": [("a", 0)], "m2": [("a", 1)]})
    assert not may_be_franz_gos(members, topics, {"m1": [("a", 1)], "m2": [("a", 0)]})
    topics = {"a": (frozenset("y"), frozenset("zx"))}
    assert may_be_franz_gos(members, topics, {"m1": [("a", 1)], "m2": [("a", 0)]})
