"""Real groups as nobody should write them: copied records, mixed groups, odd group ids. Nobody is accused for it."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import encode_group_metadata
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of as known_by
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from rebalance_monitor.streaming.core.replay import RawRecord, replay
from tests.profile import size
from tests.streaming.core.rules.builders import OFFSETS, Story, generations, incidents
from tests.streaming.core.rules.consumers import Consumer, record
from tests.vector_files import GROUP_CAPTURES

NAMES = ("java-classic", "python-clients", "foreign-clients", "kip848-a")
LONGEST_TEXT = 30_000
"""No text about a group is longer, whatever its id: an id of 10 kB may stand in it and in what names it."""
ODD = (b"", b"a/b", b"\0", b"x" * 10_000, b"\xff\xfe", "ü\n|".encode())


@cache
def records(name: str) -> tuple[RawRecord, ...]:
    return tuple(records_of(GROUP_CAPTURES / name))


def accusations(name: str, made: Sequence[RawRecord], knowledge: Knowledge | None = None) -> list[Any]:
    """What is said above information; texts that are too long."""
    path = GROUP_CAPTURES / name
    told = replay(made, settings_of(path), knowledge=knowledge or knowledge_of(path))
    violations = [one for one in told.objects if one["kind"] == "violation"]
    assert all(len(one["message"]) < LONGEST_TEXT for one in violations)
    return [(one["code"], one["message"][:200]) for one in violations if one["severity"] != Severity.INFO.value]


def numbered(made: Sequence[RawRecord]) -> list[RawRecord]:
    """The records in this order, each at the next offset of its partition."""
    ends: dict[tuple[str, int], int] = {}
    found = []
    for raw in made:
        place = (raw.topic, raw.partition)
        found.append(replace(raw, offset=ends.get(place, 0)))
        ends[place] = ends.get(place, 0) + 1
    return found


def group_of(raw: RawRecord) -> bytes:
    """The group id in a key."""
    key = raw.key or b""
    return key[4 : 4 + int.from_bytes(key[2:4], "big")]


def called(raw: RawRecord, name: bytes) -> RawRecord:
    """The record of a group with another id."""
    key = raw.key or b""
    rest = key[4 + int.from_bytes(key[2:4], "big") :]
    return replace(raw, key=key[:2] + len(name).to_bytes(2, "big") + name + rest)


@pytest.mark.parametrize("name", NAMES)
def test_records_that_were_copied_twice_accuse_nobody(name: str) -> None:
    """As by a copy of the topic that delivers at least once."""
    twice = numbered([one for one in records(name) for _ in range(2)])
    assert accusations(name, twice) == []


@pytest.mark.parametrize("seed", range(size(1, 10)))
@pytest.mark.parametrize("name", NAMES)
def test_groups_may_come_in_any_order_among_each_other(name: str, seed: int) -> None:
    """Each group's own order is kept."""
    queues: dict[bytes, list[RawRecord]] = {}
    for raw in records(name):
        queues.setdefault(group_of(raw), []).append(raw)
    dice = random.Random(seed)
    turns = [group for group, own in queues.items() for _ in own]
    dice.shuffle(turns)
    waiting: dict[bytes, Iterator[RawRecord]] = {group: iter(own) for group, own in queues.items()}
    assert accusations(name, numbered([next(waiting[group]) for group in turns])) == []


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd[:8]))
@pytest.mark.parametrize("name", ["java-classic", "kip848-a"])
def test_a_group_may_be_called_anything(name: str, odd: bytes) -> None:
    first = group_of(next(one for one in records(name) if one.value is not None))
    own = [called(one, odd) for one in records(name) if group_of(one) == first]
    assert own
    assert accusations(name, numbered(own)) == []


def simple(story: Story) -> Story:
    """A group without protocol type: nobody joins it, its offsets are committed by hand."""
    story.now_ms += 5_000
    story.generation += 1
    story.group_record((), protocol_type="")
    return story


def test_a_group_that_only_commits_is_no_finding() -> None:
    story = Story()
    for _ in range(3):
        story.commit_offsets()
        simple(story)
    results = story.until(3_600_000).fold()
    assert incidents(results) == []
    assert {one.verdict.grade for one in generations(results)} <= {Grade.NOT_JUDGED}


def test_a_member_that_cannot_be_read_is_named_and_the_others_are_not_accused() -> None:
    story = Story()
    good = (Consumer(id="m1", given="a-0"), Consumer(id="m2", given="a-1"))
    record(story, "range", *good)
    row = story.rows[-1]
    story.generation += 1
    story.now_ms += 5_000
    members = tuple(
        GroupMember(
            member_id=one.member_id,
            instance_id=None,
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            subscription=one.subscription_bytes if one.member_id == "m1" else b"\x00\x01\xff",
            assignment=one.assignment_bytes,
        )
        for one in getattr(row.body, "members", ())
    )
    assert len(members) == len(good)
    value = GroupMetadata(
        version=3,
        protocol_type="consumer",
        generation=story.generation,
        protocol="range",
        leader="m1",
        state_ms=story.now_ms - 20,
        members=members,
    )
    story.offsets_row(encode_group_metadata(value))
    results = story.until(3_600_000).fold()
    assert {(one.code, one.subjects[0].id) for one in incidents(results)} == {("CONSUMER-C12", "m2")}
    assert generations(results)[-1].verdict.grade is Grade.NOT_JUDGED


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_topics_that_shrink_accuse_nobody(assignor: str) -> None:
    """The topic is made anew with two of its four partitions; the group goes on with the two."""
    story = Story()
    at_ms = story.now_ms
    counts = ((at_ms, 4), (at_ms + 30_000, 2))
    story.knowledge = known_by([TopicMetadata(at, {"a": (frozenset[str](),) * count}) for at, count in counts])
    record(story, assignor, Consumer(id="m1", given="a-0 a-1"), Consumer(id="m2", given="a-2 a-3"))
    held, shares = {"m1": "a-0 a-1", "m2": "a-2 a-3"}, [{"m1": "a-0", "m2": "a-1"}] * 2
    if assignor == "cooperative-sticky":
        shares = [{"m1": "a-0", "m2": ""}, *shares]  # m1 has to give a-1 up first
    for given in shares:
        generation = story.generation
        members = (Consumer(id=name, given=given[name], held=held[name], generation=generation) for name in given)
        record(story, assignor, *members, after_ms=60_000)
        held = given
    found = incidents(story.until(3_600_000).fold())
    assert [one.code for one in found if one.severity is not Severity.INFO] == []


def test_every_record_of_the_sweep_is_of_the_log() -> None:
    assert {one.topic for name in NAMES for one in records(name)} == {OFFSETS}
