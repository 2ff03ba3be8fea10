"""What sarama's own classes `range` and `roundrobin` answered: nobody is accused for it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata, history_of
from rebalance_monitor.streaming.core.consumer.client_library import leaders_library
from rebalance_monitor.streaming.core.consumer.verdict import judge
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.results import Grade, Severity, Verdict
from rebalance_monitor.streaming.core.model.settings import ClientLibrary, ClusterSettings
from tests.streaming.core.rules.builders import incidents
from tests.streaming.core.rules.consumers import Consumer, group
from tests.vector_files import VECTORS, json_lines

RELEASES = ("1.27.0", "1.34.0", "1.34.1", "1.60.0")


def cases(release: str) -> Iterator[dict[str, Any]]:
    return (one for one in json_lines(VECTORS / "consumer" / "sarama-assign.jsonl.gz") if one["release"] == release)


def verdict(case: dict[str, Any], *, version: int = 0, static: bool = False) -> Verdict:
    """On the record of this answer, with assignments in this version. `static`: the part of a member's id in front of
    the last hyphen is its instance id."""
    members = tuple(
        MemberRow(
            member_id=name,
            instance_id=name.rpartition("-")[0] if static else None,
            client_id="billing",
            client_host="/127.0.0.1",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            subscription=ConsumerSubscription(version=1, topics=tuple(topics)),
            assignment=ConsumerAssignment(
                version=version, partitions=tuple((topic, number) for topic, number in case["shares"][name])
            ),
            subscription_bytes=b"",
            assignment_bytes=b"",
        )
        for name, topics in case["members"].items()
    )
    body = GroupGeneration(
        protocol_type="consumer", generation=5, protocol=case["assignor"], leader=members[0].member_id, state_ms=1_000,
        members=members,
    )  # fmt: skip
    topics = {name: (frozenset[str](),) * count for name, count in case["topics"].items()}
    metadata = [TopicMetadata(at_ms=0, topics=topics)]
    return judge(ClusterSettings(name="c"), history_of(metadata), body, 1_000, first=False)


@pytest.mark.parametrize("release", RELEASES)
def test_no_answer_of_sarama_is_unexplained(release: str) -> None:
    """Up to 1.34 members stand in the order of a hash; since 1.28 `roundrobin` deals t-10 before t-2."""
    grades = Counter(verdict(case).grade for case in cases(release))
    assert grades.total() == 80
    assert grades.keys() <= {Grade.MATCH, Grade.EXPLAINABLE}


def test_only_a_leader_that_writes_version_0_may_be_sarama() -> None:
    """Kafka's own client has not written it since 2.4, and does not answer so."""
    told = [(verdict(case), verdict(case, version=3)) for case in cases("1.27.0")]
    foreign = [java.grade for sarama, java in told if sarama.reason and "sarama" in sarama.reason.text]
    assert len(foreign) > 30
    assert set(foreign) == {Grade.UNEXPLAINED}


def test_static_members_stand_by_their_member_ids() -> None:
    """An instance id that begins like another one: Kafka's class puts `app` first, whatever its member id is."""
    case = {
        "assignor": "range",
        "topics": {"a": 3},
        "members": {"app-77": ["a"], "app-1-99": ["a"]},
        "shares": {"app-1-99": [("a", 0), ("a", 1)], "app-77": [("a", 2)]},
    }
    assert verdict(case, static=True).grade is Grade.EXPLAINABLE
    case["shares"] = {"app-1-99": [("a", 0), ("a", 2)], "app-77": [("a", 1)]}
    assert verdict(case, static=True).grade is Grade.UNEXPLAINED


def test_members_of_ruby_kafka_stand_as_the_coordinator_lists_them() -> None:
    case = {
        "assignor": "roundrobin",
        "topics": {"a": 3},
        "members": {"m2": ["a"], "m1": ["a"]},
        "shares": {"m2": [("a", 0), ("a", 2)], "m1": [("a", 1)]},
    }
    assert verdict(case).grade is Grade.EXPLAINABLE
    assert verdict(case, version=1).grade is Grade.UNEXPLAINED


def test_each_topic_begins_anew_before_1_28() -> None:
    """The first member by its hash has partition 0: of three topics that may be the same one, here m2. Many libraries
    write subscriptions in version 0, as sarama did."""
    topics = "a d e"
    uneven = [
        Consumer(id="m1", topics=topics, java=False, version=0),
        Consumer(id="m2", topics=topics, given="a-0 d-0 e-0", java=False, version=0),
    ]
    assert [one.severity for one in incidents(group("roundrobin", uneven).fold(), "CONSUMER-C07")] == []
    others = [replace(one, given=uneven[1 - at].given) for at, one in enumerate(uneven)]
    assert {one.severity for one in incidents(group("roundrobin", others).fold(), "CONSUMER-C07")} == {Severity.HIGH}


@pytest.mark.parametrize(("version", "library"), [(0, ClientLibrary.SARAMA), (1, ClientLibrary.JAVA)])
def test_its_cooperative_sticky_sends_what_kafkas_client_sends(version: int, library: ClientLibrary) -> None:
    """User data that is a generation alone. But Kafka's client has this class since 2.4, and no longer writes
    assignments in version 0."""
    body = group("cooperative-sticky", [Consumer(id="m1", given="a-0", version=2)]).rows[-1].body
    assert isinstance(body, GroupGeneration)
    (member,) = body.members
    assert isinstance(member.assignment, ConsumerAssignment)
    written = replace(member, assignment=replace(member.assignment, version=version))
    assert leaders_library(replace(body, members=(written,)), {}) is library
