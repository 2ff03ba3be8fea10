"""Groups that kafka-go, @platformatic/kafka and kafkajs lead: as recorded, cut, with holes, and with wrong answers."""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartition,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.schemas.group_metadata import GroupMetadata
from rebalance_monitor.schemas.offsets_topic import decode_group_metadata, encode_group_metadata
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.consumer.client_library import leaders_library
from rebalance_monitor.streaming.core.consumer.subscriptions import CONSUMER_MEMBERS, ShortSubscription
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from rebalance_monitor.streaming.core.model.settings import ClientLibrary, ClusterSettings
from rebalance_monitor.streaming.core.reading.blobs import MemberBlobs
from rebalance_monitor.streaming.core.replay import RawRecord, replay
from tests.profile import size
from tests.streaming.core.rules.builders import Story, generations, incidents
from tests.streaming.core.rules.consumers import Consumer, group, shares
from tests.vector_files import GROUP_CAPTURES

NAMES = ("kafka-go", "platformatic", "kafkajs")
BLOBS = MemberBlobs([CONSUMER_MEMBERS])
Given = dict[str, tuple[TopicPartition, ...]]


@cache
def records(name: str) -> tuple[RawRecord, ...]:
    return tuple(one for one in records_of(GROUP_CAPTURES / name) if (one.key or b"")[:2] == b"\x00\x02")


@cache
def known(name: str) -> tuple[ClusterSettings, Knowledge]:
    return settings_of(GROUP_CAPTURES / name), knowledge_of(GROUP_CAPTURES / name)


def told(name: str, made: Sequence[RawRecord]) -> Sequence[Any]:
    settings, knowledge = known(name)
    return replay(made, settings, knowledge=knowledge).objects


def accused(objects: Sequence[Any]) -> list[tuple[str, str]]:
    """What is said above information, and each generation that nobody could have answered so."""
    violations = [one for one in objects if one["kind"] == "violation" and one["severity"] != Severity.INFO.value]
    unexplained = [
        one for one in objects if one["kind"] == "generation" and one["verdict"]["grade"] == Grade.UNEXPLAINED.value
    ]
    return [(one["code"], one["message"]) for one in violations] + [
        ("unexplained", one["group"]) for one in unexplained
    ]


@pytest.mark.parametrize(
    ("name", "grades"),
    [
        ("kafka-go", {"explainable": 15}),
        ("platformatic", {"explainable": 38}),
        ("kafkajs", {"match": 18}),
    ],
)
def test_each_generation_is_judged_and_nobody_accused(name: str, grades: dict[str, int]) -> None:
    objects = told(name, records(name))
    assert Counter(one["verdict"]["grade"] for one in objects if one["kind"] == "generation") == grades
    assert accused(objects) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_history_that_begins_or_ends_anywhere_accuses_nobody(name: str) -> None:
    whole = records(name)
    for at in range(1, len(whole), size(9, 1)):
        assert accused(told(name, whole[at:])) == []
        assert accused(told(name, whole[:at])) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_history_with_holes_accuses_nobody(name: str) -> None:
    whole = records(name)
    for step in (2, 3, 5):
        assert accused(told(name, [one for number, one in enumerate(whole) if number % step])) == []


# -- wrong answers -----------------------------------------------------------------------------------------------------


def twice(given: Given) -> Given | None:
    giver, taker = _two(given)
    return None if giver is None else {**given, taker: (*given[taker], given[giver][0])}


def dropped(given: Given) -> Given | None:
    giver, _ = _two(given)
    return None if giver is None else {**given, giver: given[giver][1:]}


def swapped(given: Given) -> Given | None:
    giver, taker = _two(given)
    if giver is None or not given[taker]:
        return None
    return {
        **given,
        giver: (given[taker][0], *given[giver][1:]),
        taker: (given[giver][0], *given[taker][1:]),
    }


def foreign(given: Given) -> Given | None:
    giver, _ = _two(given)
    return None if giver is None else {**given, giver: (*given[giver], ("nobody-reads-this", 0))}


def beyond(given: Given) -> Given | None:
    giver, _ = _two(given)
    return None if giver is None else {**given, giver: (*given[giver], (given[giver][0][0], 99))}


def _two(given: Given) -> tuple[str | None, str]:
    """A member that has something, and another one."""
    giver = next((name for name, share in sorted(given.items()) if share), None)
    taker = next((name for name in sorted(given, reverse=True) if name != giver), None)
    return (None, "") if taker is None else (giver, taker)


def changed(raw: RawRecord, change: Callable[[Given], Given | None]) -> RawRecord | None:
    """The record with another answer; None where it cannot be changed so."""
    read = decode_group_metadata(raw.value)
    if not isinstance(read, Decoded) or len(read.value.members) < 2:
        return None
    given: Given = {}
    for member in read.value.members:
        share = decode_assignment(member.assignment)
        given[member.member_id] = share.value.partitions if isinstance(share, Decoded) else ()
    wrong = change(given)
    if wrong is None or {name: set(share) for name, share in wrong.items()} == {
        name: set(share) for name, share in given.items()
    }:
        return None
    members = tuple(
        replace(one, assignment=encode_assignment(ConsumerAssignment(version=0, partitions=wrong[one.member_id])))
        for one in read.value.members
    )
    value: GroupMetadata = replace(read.value, members=members)
    return replace(raw, value=encode_group_metadata(value))


def mutants(name: str, change: Callable[[Given], Given | None]) -> Iterator[Sequence[RawRecord]]:
    """Histories that end with one wrong answer."""
    whole = records(name)
    for at, raw in enumerate(whole):
        wrong = changed(raw, change)
        if wrong is not None:
            yield (*whole[:at], wrong)


@pytest.mark.parametrize("change", [twice, dropped, swapped, foreign, beyond])
@pytest.mark.parametrize("name", NAMES)
def test_answers_that_the_library_could_not_have_given_are_caught(
    name: str, change: Callable[[Given], Given | None]
) -> None:
    found = [{code for code, _ in accused(told(name, one))} for one in mutants(name, change)]
    assert len(found) > 5
    assert all(found)
    assert change is not twice or all("CONSUMER-C13" in codes for codes in found), "a partition with two owners"


# -- subscriptions that end behind their user data ---------------------------------------------------------------------

WHOLE = ConsumerSubscription(version=3, topics=("a", "b"), user_data=b"xyz", owned=(("a", 0),), generation=4, rack="r")


@pytest.mark.parametrize("version", [1, 2, 3, 7])
@pytest.mark.parametrize("user_data", [None, b"", b"rack-1"])
def test_only_a_cut_right_behind_the_user_data_is_read(version: int, user_data: bytes | None) -> None:
    read_subscription, _ = BLOBS.readers("consumer", "range")
    whole = encode_subscription(replace(WHOLE, user_data=user_data, version=3))
    short = encode_subscription(replace(WHOLE, user_data=user_data, version=0, owned=(), generation=-1, rack=None))
    for end in range(len(whole)):
        read = read_subscription(version.to_bytes(2, "big") + whole[2:end] if end > 2 else whole[:end])
        if end == len(short):
            assert isinstance(read, ShortSubscription)
            assert (read.read.version, read.read.topics, read.read.user_data) == (version, ("a", "b"), user_data)
        elif isinstance(read, BadBlob):
            assert not isinstance(read, ShortSubscription)
        else:  # an earlier version is whole before the end of version 3
            assert version < 3
            assert isinstance(read, ConsumerSubscription)


def leader_of(*members: Consumer) -> ClientLibrary | None:
    body = group("range", members).rows[-1].body
    assert isinstance(body, GroupGeneration)
    return leaders_library(body, {})


def test_who_read_such_a_subscription_is_not_kafkas_own_client() -> None:
    short = Consumer(id="m2", version=1, short=True)
    java = Consumer(id="m1")
    assert leader_of(java) is ClientLibrary.JAVA
    assert leader_of(java, short) is ClientLibrary.OTHER
    assert leader_of(replace(short, id="m1"), java) is ClientLibrary.OTHER


def test_a_static_member_may_have_sent_it_after_the_answer() -> None:
    assert leader_of(Consumer(id="m1"), Consumer(id="m2", version=1, short=True, instance="i")) is ClientLibrary.JAVA


# -- assignors that nobody knows ---------------------------------------------------------------------------------------


def test_an_assignor_of_ones_own_is_held_to_what_it_kept() -> None:
    even, wrong = shares(m1="a-0", m2="a-1"), shares(m1="a-0 a-1", m2="a-1")
    for story, severities in (
        (group("pinned", wrong, wrong), {Severity.INFO}),
        (group("pinned", even, wrong), {Severity.CRITICAL}),
        (group("pinned", shares(m1="a-0 a-1"), wrong), {Severity.INFO}),
        (group("pinned", even, shares(m1="a-0")), set()),
    ):
        found = incidents(story.fold(), "CONSUMER-C13")
        assert {one.severity for one in found if one.transition == "opened"} == severities
        assert {one.certainty.value for one in found} <= {"likely", "possible"}


def test_habits_are_those_of_one_assignor() -> None:
    even, wrong = shares(m1="a-0", m2="a-1"), shares(m1="a-0 a-1", m2="a-1")
    story = group("pinned", even)
    later = group("shared", wrong)
    later.rows = [*story.rows, *(replace(one, offset=len(story.rows) + at) for at, one in enumerate(later.rows))]
    assert {one.severity for one in incidents(later.fold(), "CONSUMER-C13")} <= {Severity.INFO}


def test_a_member_that_kafkajs_leaves_out_has_nothing() -> None:
    """More members than partitions: kafkajs does not name the others in its answer."""
    story = group("RoundRobinAssigner", shares(m1="a-0", m2=""))
    body = story.rows[-1].body
    assert isinstance(body, GroupGeneration)
    members = tuple(
        replace(one, assignment=BadBlob("empty"), assignment_bytes=b"") if one.member_id == "m2" else one
        for one in body.members
    )
    story.rows[-1] = replace(story.rows[-1], body=replace(body, members=members))
    results = story.fold()
    assert [one for one in incidents(results) if one.severity is not Severity.INFO] == []
    assert [one.verdict.grade for one in generations(results)] == [Grade.EXPLAINABLE]


# -- faust -------------------------------------------------------------------------------------------------------------


def of_faust(*given: Mapping[str, str], user_data: bytes | None = b"") -> Story:
    """Generations of two workers that read `a`, whose table has the changelog `t-changelog`. `user_data`: of the
    assignments; b"": what faust writes."""
    written = zlib.compress(json.dumps({"changelog_distribution": {"http://a:6066": {"t-changelog": [0]}}}).encode())
    members = ((Consumer(id=name, topics="a t-changelog", given=share) for name, share in one.items()) for one in given)
    story = group("faust", *map(tuple, members))
    for at, row in enumerate(story.rows):
        assert isinstance(row.body, GroupGeneration)
        rows = []
        for one in row.body.members:
            assert isinstance(one.assignment, ConsumerAssignment)
            said = replace(one.assignment, user_data=written if user_data == b"" else user_data)
            rows.append(replace(one, assignment=said, assignment_bytes=encode_assignment(said)))
        story.rows[at] = replace(row, body=replace(row.body, members=tuple(rows)))
    return story


HEALTHY = {"m1": "a-0 t-changelog-0 t-changelog-1", "m2": "a-1 t-changelog-1 t-changelog-0"}


def test_copies_of_changelogs_are_no_second_owners_in_faust() -> None:
    assert incidents(of_faust(HEALTHY, HEALTHY).fold()) == []


def test_two_owners_of_another_topic_are_seen_in_faust() -> None:
    wrong = {**HEALTHY, "m2": "a-0 a-1 t-changelog-1"}
    (found,) = incidents(of_faust(HEALTHY, wrong).fold(), "CONSUMER-C13")
    assert (found.severity, found.certainty.value, found.subjects[0].id) == (Severity.CRITICAL, "likely", "a")


@pytest.mark.parametrize("user_data", [None, b"\x00", zlib.compress(b"{}")])
def test_nothing_is_said_of_faust_where_its_user_data_cannot_be_read(user_data: bytes | None) -> None:
    wrong = {**HEALTHY, "m2": "a-0 a-1 t-changelog-1"}
    assert incidents(of_faust(HEALTHY, wrong, user_data=user_data).fold()) == []
