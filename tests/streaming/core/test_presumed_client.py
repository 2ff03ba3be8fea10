"""Sticky leaders that no trait tells: which are held to Kafka's own class, and which are not."""

from collections import Counter
from dataclasses import replace

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of as known_by
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.consumer.client_library import leaders_library
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import Grade, Severity, Verdict
from rebalance_monitor.streaming.core.model.settings import ClientLibrary, ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, decode, replay
from tests.streaming.core.rules.builders import Story, generations
from tests.streaming.core.rules.consumers import Consumer, record
from tests.vector_files import GROUP_CAPTURES

FIRST = {"m1": "a-0 a-2", "m2": "a-1 a-3"}
"""What Kafka's class gives to two members that hold nothing; holding this, both keep it."""
SWAPPED = {"m1": "a-0 a-1", "m2": "a-2 a-3"}


def told(*answers: dict[str, str], version: int = 3, other: Consumer | None = None) -> Story:
    """One generation for each answer, every member reporting what the one before gave it, as Java clients do."""
    story, held = Story(), dict.fromkeys(FIRST, "")
    story.knowledge = known_by(
        [TopicMetadata(story.now_ms + at_ms, {"a": (frozenset[str](),) * 4}) for at_ms in (-60_000, 3_600_000)]
    )
    for given in answers:
        members = [Consumer(id=name, given=given[name], held=held[name], generation=story.generation) for name in given]
        if other is not None:
            members[-1] = replace(other, id="m2", given=given["m2"], held=held["m2"], generation=story.generation)
        record(story, "sticky", *members)
        story.rows[-1] = written_in(story.rows[-1], version)
        held = given
    return story


def written_in(row: Row, version: int) -> Row:
    """The record with assignments in this version."""
    assert isinstance(row.body, GroupGeneration)
    members = tuple(
        replace(one, assignment=replace(one.assignment, version=version))
        for one in row.body.members
        if isinstance(one.assignment, ConsumerAssignment)
    )
    return replace(row, body=replace(row.body, members=members))


def last(story: Story) -> Verdict:
    return generations(story.replayed())[-1].verdict


def test_the_record_alone_does_not_tell_this_leader() -> None:
    (row,) = told(FIRST).rows
    assert isinstance(row.body, GroupGeneration)
    assert leaders_library(row.body, {}) is None


@pytest.mark.parametrize("version", [1, 3])
def test_a_leader_that_answered_as_kafkas_class_does_is_held_to_it(version: int) -> None:
    story = told(FIRST, FIRST, SWAPPED, version=version)
    *right, wrong = [one.verdict for one in generations(story.replayed())]
    assert {one.grade for one in right} == {Grade.MATCH}
    assert wrong.grade is Grade.UNEXPLAINED
    assert wrong.reason is not None
    assert wrong.reason.kind is ReasonKind.CLIENT_PRESUMED
    assert "likely, not certain" in wrong.why


@pytest.mark.parametrize(
    "story",
    [
        told(FIRST, SWAPPED),
        told(FIRST, FIRST, SWAPPED, version=0),
        told(FIRST, FIRST, SWAPPED, other=Consumer(id="m2", rack="")),
        told(FIRST, FIRST, SWAPPED, other=Consumer(id="m2", client_id="sarama")),
        told(FIRST, SWAPPED, SWAPPED, SWAPPED, FIRST),
    ],
    ids=["one answer is not enough", "another library's version", "librdkafka's rack", "sarama's name", "a stranger"],
)
def test_a_leader_that_may_be_another_librarys_is_not_accused(story: Story) -> None:
    verdict = last(story)
    assert verdict.grade is Grade.NOT_JUDGED
    assert verdict.reason is not None
    assert verdict.reason.kind is ReasonKind.CLIENT_UNKNOWN


def test_a_member_that_is_configured_as_another_library_speaks_against_it() -> None:
    story = told(FIRST, FIRST, SWAPPED, other=Consumer(id="m2", client_id="billing-go"))
    story.settings = replace(story.settings, client_libraries={"billing-*": ClientLibrary.FRANZ_GO})
    assert last(story).grade is Grade.NOT_JUDGED


def test_a_leader_is_accused_once() -> None:
    """It may be of a library that nobody knows."""
    verdicts = [one.verdict for one in generations(told(FIRST, FIRST, SWAPPED, FIRST).replayed())]
    assert [one.grade for one in verdicts[2:]] == [Grade.UNEXPLAINED, Grade.NOT_JUDGED]


def nameless(record: RawRecord, settings: ClusterSettings) -> Row | None:
    """The record with clients that their application named."""
    row = decode(record, settings)
    if row is None or not isinstance(row.body, GroupGeneration):
        return row
    return replace(row, body=replace(row.body, members=tuple(map(_nameless, row.body.members))))


def _nameless(member: MemberRow) -> MemberRow:
    """Neither its client id nor an empty rack gives its library away."""
    subscription = member.subscription
    if isinstance(subscription, ConsumerSubscription):
        subscription = replace(subscription, rack=None, version=max(subscription.version, 1))
    return replace(member, client_id="billing", subscription=subscription)


@pytest.mark.parametrize("name", ["foreign-clients", "python-clients"])
def test_other_libraries_are_not_accused_where_all_their_traits_are_taken_away(name: str) -> None:
    path = GROUP_CAPTURES / name
    found = replay(records_of(path), settings_of(path), knowledge=knowledge_of(path), read=nameless)
    grades = Counter(one["verdict"]["grade"] for one in found.objects if one["kind"] == "generation")
    assert grades["not_judged"] >= 3
    assert grades["unexplained"] == 0
    assert not [one for one in found.objects if one["kind"] == "violation" and one["severity"] != Severity.INFO.value]
