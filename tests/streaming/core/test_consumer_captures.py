"""Real consumer groups through `replay`: what is recomputed is right, the rest says why, nothing is an alarm."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory
from rebalance_monitor.streaming.core.consumer.verdict import judge
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import Replayed, decode, replay
from tests.vector_files import GROUP_CAPTURES

SETTINGS = ClusterSettings(name="c")


@cache
def replayed(name: str) -> Replayed:
    """What `replay` says of a capture; replayed once for all tests, which change nothing of it."""
    path = GROUP_CAPTURES / name
    return replay(records_of(path), settings_of(path), knowledge=knowledge_of(path))


@pytest.mark.parametrize("name", ["java-classic", "kip848-a", "python-clients", "foreign-clients"])
def test_no_false_alarm(name: str) -> None:
    told = replayed(name)
    assert not told.found
    assert told.objects[-1]["grades"]["unexplained"] == 0
    alarms = {(one["code"], one["group"]) for one in told.objects if one["kind"] == "violation"}
    assert not alarms, f"nothing is wrong in the capture {name}: a law that finds something there needs an exception"


def test_range_and_roundrobin_are_recomputed_with_the_topics_as_they_were() -> None:
    grades = Counter(
        (one["protocol"], one["verdict"]["grade"])
        for one in replayed("java-classic").objects
        if one["kind"] == "generation"
    )
    assert grades["range", "match"] > 45
    assert grades["roundrobin", "match"] > 45


def test_a_replaced_static_member_is_no_assignment() -> None:
    reasons = [
        one["verdict"]["reason"] or ""
        for one in replayed("java-classic").objects
        if one["kind"] == "generation" and one["protocol"] in ("range", "roundrobin")
    ]
    assert any(reason.startswith("the same generation was written again") for reason in reasons)


def test_the_generations_of_java_leaders_are_judged_and_match() -> None:
    """Those included that were written again: the verdict on their first record stands."""
    grades = Counter(one["verdict"]["grade"] for one in replayed("java-classic").objects if one["kind"] == "generation")
    assert set(grades) <= {Grade.MATCH, Grade.EXPLAINABLE, Grade.NOT_JUDGED}
    judged = grades[Grade.MATCH] + grades[Grade.EXPLAINABLE]
    assert judged / grades.total() >= 0.95
    assert grades[Grade.MATCH] / judged >= 0.98


def test_leaders_of_other_clients_are_explained_where_they_sort_static_members_their_own_way() -> None:
    reasons = Counter(
        (one["group"], one["verdict"]["reason"])
        for one in replayed("python-clients").objects
        if one["kind"] == "generation" and (one["verdict"]["reason"] or "").startswith("a foreign client's order")
    )
    assert {group: reason.rsplit(": ")[1] for group, reason in reasons} == {
        "c-static": "librdkafka",
        "c-rrstatic": "librdkafka",
        "k-static": "kafka-python",
    }


def test_a_foreign_order_excuses_no_other_share() -> None:
    """Each partition of a group of static and other members given to the wrong one is still seen."""
    path = GROUP_CAPTURES / "python-clients"
    settings, history = settings_of(path), knowledge_of(path).topics
    mutants = []
    for record in records_of(path):
        row = decode(record, settings)
        if row is None or row.group not in ("c-static", "c-rrstatic", "k-static"):
            continue
        body = row.body
        if not isinstance(body, GroupGeneration) or len({one.instance_id is None for one in body.members}) < 2:
            continue
        mutants += [
            consumer_verdict(history, replace(body, members=members), row.timestamp_ms)
            for members in swapped(body.members)
        ]
    assert len(mutants) > 50
    assert Counter(mutants)[Grade.UNEXPLAINED] / len(mutants) >= 0.99


def consumer_verdict(history: TopicHistory, body: GroupGeneration, at_ms: int) -> Grade:
    return judge(SETTINGS, history, body, at_ms, first=False).grade


def swapped(members: tuple[MemberRow, ...]) -> Iterator[tuple[MemberRow, ...]]:
    """One partition of one member moved to another."""
    for giver, taker in permutations(range(len(members)), 2):
        given, taken = members[giver].assignment, members[taker].assignment
        if isinstance(given, ConsumerAssignment) and isinstance(taken, ConsumerAssignment):
            for moved in given.partitions:
                if moved[0] not in getattr(members[taker].subscription, "topics", ()):
                    continue
                left = tuple(one for one in given.partitions if one != moved)
                changed = list(members)
                changed[giver] = replace(members[giver], assignment=replace(given, partitions=left))
                changed[taker] = replace(
                    members[taker], assignment=replace(taken, partitions=(*taken.partitions, moved))
                )
                yield tuple(changed)


def test_kip_848_groups_are_judged_and_no_longer_counted() -> None:
    assert replayed("kip848-a").objects[-1]["other_groups"] == {}
