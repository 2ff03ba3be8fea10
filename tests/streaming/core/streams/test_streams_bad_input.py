"""Input that no sound group gives: each is a finding with the record's coordinates, and the stream goes on."""

import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.schemas.streams_tasks import NEWEST_VERSION
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Result, Severity
from tests.streaming.core.rules.builders import OFFSETS, Story, generations
from tests.streaming.core.rules.cases_streams_record import KNOWN
from tests.streaming.core.rules.streams import Thread, group, place, record

HOSTS, NO_COPIES = {"h:1": "0_0", "h:2": "0_1"}, {"h:1": "", "h:2": ""}
SOUND = (
    Thread(id="a1", active="0_0", end_point="h:1", hosts=HOSTS, standby_hosts=NO_COPIES),
    Thread(id="b1", active="0_1", end_point="h:2", hosts=HOSTS, standby_hosts=NO_COPIES),
)
PROCESS = b"b" * 16


def told(threads: Sequence[Thread]) -> tuple[list[Generation], list[Incident]]:
    """A sound generation, these threads, and the sound one again."""
    story = group(SOUND, known=KNOWN)
    record(story, *threads)
    record(story, *(replace(one, owned=one.active) for one in SOUND))
    return of(story.fold())


def of(results: Sequence[Result]) -> tuple[list[Generation], list[Incident]]:
    return generations(results), [one for one in results if isinstance(one, Incident)]


def at_its_record(found: Sequence[Incident], code: str) -> Incident:
    """The incident of the second record, which ended with the third."""
    opened = [one for one in found if one.code == code and one.transition == "opened"]
    assert len(opened) == 1, [(one.code, one.message) for one in found]
    sources = [one.source for one in opened[0].evidence if one.source is not None]
    assert (OFFSETS, 0, 1) in {(source.topic, source.partition, source.offset) for source in sources}
    assert [one.transition for one in found if one.code == code][-1] == "resolved"
    return opened[0]


def test_host_maps_that_differ_from_member_to_member() -> None:
    first, second = SOUND
    judged, found = told((first, replace(second, hosts={"h:1": "0_0 0_1", "h:2": ""})))
    assert "different host maps" in at_its_record(found, "STREAMS-S23").message
    assert judged[-1].verdict.grade is Grade.MATCH


def test_two_processes_with_one_id() -> None:
    first, second = SOUND
    twin = replace(second, process="a")
    judged, found = told((first, twin))
    assert "have the process id" in at_its_record(found, "STREAMS-S24").message
    assert judged[-1].verdict.grade is Grade.MATCH


def raw_member(thread: Thread, said: bytes, given: bytes | None = None) -> GroupMember:
    """The thread with another Streams payload in its subscription, or in its assignment."""
    wanted = ConsumerSubscription(version=3, topics=("t0",), user_data=said)
    sound = thread.member()
    if given is None:
        return replace(sound, subscription=encode_subscription(wanted))
    answer = ConsumerAssignment(version=1, partitions=tuple(map(place, thread.active.split())), user_data=given)
    return replace(sound, assignment=encode_assignment(answer))


def with_raw(story: Story, leader: str, *members: GroupMember) -> None:
    story.now_ms, story.generation = story.now_ms + 5_000, story.generation + 1
    value = GroupMetadata(
        version=3,
        protocol_type="consumer",
        generation=story.generation,
        protocol="stream",
        leader=leader,
        state_ms=story.now_ms - 20,
        members=members,
    )
    story.offsets_row(encode_group_metadata(value))


def unknown(version: int, *, assignment: bool = False) -> tuple[list[Generation], list[Incident]]:
    """b1 speaks this version: in its subscription, or it was given it."""
    first, second = SOUND
    head = struct.pack(">ii", version, version)
    member = raw_member(second, head + PROCESS, head) if assignment else raw_member(second, head + PROCESS)
    story = group(SOUND, known=KNOWN)
    with_raw(story, "a1", first.member(), member)
    record(story, *(replace(one, owned=one.active) for one in SOUND))
    return of(story.fold())


@pytest.mark.parametrize("version", [-1, 0, -(1 << 31)])
def test_a_version_that_never_was(version: int) -> None:
    judged, found = unknown(version)
    incident = at_its_record(found, "STREAMS-S30")
    assert incident.severity is Severity.HIGH
    assert f"version {version}" in incident.message
    assert [one.verdict.grade for one in judged] == [Grade.MATCH, Grade.NOT_JUDGED, Grade.MATCH]


@pytest.mark.parametrize("assignment", [False, True])
@pytest.mark.parametrize("version", [NEWEST_VERSION + 1, 99, (1 << 31) - 1])
def test_a_version_of_a_later_release_harms_nobody(version: int, assignment: bool) -> None:
    """Kafka Streams is newer than the monitor: it says so, and alarms nobody."""
    judged, found = unknown(version, assignment=assignment)
    incident = at_its_record(found, "STREAMS-S30")
    assert incident.severity is Severity.INFO
    assert f"version {version}" in incident.message
    assert (judged[1].verdict.grade is Grade.NOT_JUDGED) or not assignment
    assert judged[-1].verdict.grade is Grade.MATCH
    assert not [one for one in found if one.severity is not Severity.INFO]
