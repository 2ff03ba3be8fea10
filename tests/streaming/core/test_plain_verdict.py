"""Answers of Kafka's own `range` and `roundrobin` in each release's bytes: graded as that leader's answer."""

from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, decode_subscription
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.calculator.consumer import blob_version, wire_order
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata, history_of
from rebalance_monitor.streaming.core.consumer.verdict import judge
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from tests.vector_files import VECTORS, json_lines

VECTORS = VECTORS / "consumer" / "consumer-assign.jsonl.gz"
PLAIN = ("range", "roundrobin")


def cases(kind: str) -> Iterator[dict[str, Any]]:
    yield from (case for case in json_lines(VECTORS) if case["kind"] == kind)


def answered(case: dict[str, Any], release: str) -> tuple[TopicMetadata, GroupGeneration]:
    """The record of a leader of this release, and the topics as it knows them."""
    members = []
    for one in case["input"]["members"]:
        subscription = decode_subscription(b64decode(one["subscription"]))
        assert isinstance(subscription, Decoded)
        share = [(topic, number) for topic, number in case["expected"]["assignment"][one["id"]]["partitions"]]
        members.append(
            MemberRow(
                member_id=one["id"],
                instance_id=one.get("instance"),
                client_id="billing",
                client_host="/127.0.0.1",
                rebalance_timeout_ms=60_000,
                session_timeout_ms=45_000,
                subscription=subscription.value,
                assignment=ConsumerAssignment(version=blob_version(release), partitions=wire_order(share, release)[0]),
                subscription_bytes=b"",
                assignment_bytes=b"",
            )
        )
    body = GroupGeneration(
        protocol_type="consumer", generation=5, protocol=case["kind"], leader=members[0].member_id, state_ms=1_000,
        members=tuple(members),
    )  # fmt: skip
    racks = case["input"].get("brokers") or {}
    topics = {
        name: tuple(frozenset(rack for one in held if (rack := racks.get(str(one)))) for held in partitions)
        for name, partitions in case["input"]["topics"].items()
    }
    return TopicMetadata(at_ms=0, topics=topics), body


def verdict(case: dict[str, Any], release: str) -> Verdict:
    metadata, body = answered(case, release)
    return judge(ClusterSettings(name="c"), history_of([metadata]), body, 1_000, first=False)


@pytest.mark.parametrize("kind", PLAIN)
def test_the_answer_of_every_release_since_2_4_is_a_match(kind: str) -> None:
    """Up to 3.4 a leader looks at no racks and walks topics in another hash order, up to 2.8 it writes them so."""
    other = Counter(
        (release, told.grade, told.why)
        for case in cases(kind)
        for release in case["eras"]
        if release >= "2.4" and (told := verdict(case, release)).grade is not Grade.MATCH
    )
    assert other == {}


@pytest.mark.parametrize("kind", PLAIN)
def test_the_answer_of_a_release_that_knows_no_static_members_is_explainable_at_least(kind: str) -> None:
    grades = Counter(verdict(case, "2.3.1").grade for case in cases(kind) if "2.3.1" in case["eras"])
    assert grades.total() > 10
    assert grades.keys() <= {Grade.MATCH, Grade.EXPLAINABLE}
