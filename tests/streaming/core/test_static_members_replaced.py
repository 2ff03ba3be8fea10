"""A generation that is written again as a static member comes back: the verdict on its first record stands."""

from dataclasses import replace
from itertools import pairwise

import pytest

from rebalance_monitor.streaming.cli.captures import knowledge_of as knowledge_in
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.fold.published import body_of
from rebalance_monitor.streaming.core.fold.state import read, stored
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Severity
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from rebalance_monitor.streaming.core.replay import decode, replay
from tests.streaming.core.rules import streams
from tests.streaming.core.rules.builders import GROUP, Story, generations, incidents
from tests.streaming.core.rules.consumers import Consumer, record
from tests.vector_files import GROUP_CAPTURES

NO_RACKS = (frozenset[str](),)
STAYS = Consumer(id="m2", given="a-1")
GOES = Consumer(id="m1", given="a-0", instance="i")
BACK = Consumer(id="m1-2", given="a-0", instance="i", topics="b")
"""The new process subscribes to another topic, so the record is no input of the assignor."""


def consumers(*records: tuple[Consumer, ...], partitions: int = 2, protocol: str = "roundrobin") -> Story:
    story = Story()
    story.knowledge = knowledge_of([TopicMetadata(at_ms=0, topics={"a": NO_RACKS * partitions, "b": NO_RACKS})])
    for number, members in enumerate(records):
        record(story, protocol, *members, again=number > 0)
    return story


def told(story: Story) -> list[Generation]:
    return generations(story.fold())


def test_the_first_verdict_stands_for_every_record_that_repeats_the_assignments() -> None:
    first, *copies = told(consumers((GOES, STAYS), (BACK, STAYS), (replace(BACK, id="m1-3"), STAYS)))
    assert first.verdict.grade is Grade.MATCH
    assert first.verdict.reason is None
    assert not first.repeats
    for copy in copies:
        assert copy.repeats
        assert copy.verdict.grade is Grade.MATCH
        assert copy.verdict.assignor == "roundrobin"
        assert copy.verdict.reason is not None
        assert copy.verdict.reason.kind is ReasonKind.WRITTEN_AGAIN
        assert "the assignment at offset 0 stands" in copy.verdict.why
        assert not copy.diff


def test_a_wrong_assignment_is_not_right_because_it_was_written_again() -> None:
    swapped = (replace(GOES, given="a-0 a-1"), replace(STAYS, given=""))
    story = consumers(swapped, (replace(BACK, given="a-0 a-1"), replace(STAYS, given="")))
    first, copy = told(story)
    assert first.verdict.grade is copy.verdict.grade is Grade.UNEXPLAINED
    assert first.verdict.why in copy.verdict.why
    assert len([one for one in incidents(story.fold(), "CONSUMER-C07") if one.transition == "opened"]) == 1


def test_what_was_not_judged_is_not_judged_by_its_copy() -> None:
    first, copy = told(consumers((GOES, STAYS), (BACK, STAYS), protocol="somebodys-own"))
    assert first.verdict.grade is copy.verdict.grade is Grade.NOT_JUDGED
    assert copy.verdict.reason is not None
    assert copy.verdict.reason.kind is ReasonKind.ASSIGNOR_UNKNOWN


def test_other_assignments_in_the_same_generation_are_unexplained() -> None:
    """No coordinator writes this: partitions change hands without a rebalance."""
    first, copy = told(consumers((GOES, STAYS), (replace(BACK, given="a-1"), replace(STAYS, given="a-0"))))
    assert first.verdict.grade is Grade.MATCH
    assert copy.verdict.grade is Grade.UNEXPLAINED
    assert "written again with other assignments than at offset 0" in copy.verdict.why


def test_other_assignments_that_an_assignor_gives_are_a_round_of_their_own() -> None:
    """A coordinator that lost the record hands the number out once more."""
    again = (GOES, STAYS, Consumer(id="m3"))
    first, second = told(consumers((GOES, replace(STAYS, given="a-1")), again))
    assert first.verdict.grade is second.verdict.grade is Grade.MATCH
    assert second.verdict.reason is None
    assert not second.repeats


def test_a_copy_whose_first_record_nobody_saw_is_not_judged() -> None:
    """The stored state holds no verdict."""
    story = consumers((GOES, STAYS), (BACK, STAYS))
    state = fold_group(story.settings, GROUP, None, story.rows[:1], None, knowledge=story.knowledge).state
    assert state is not None
    envelope, bodies = read(state)
    without = {name: text.replace('"first":', '"unknown":') for name, text in bodies.items()}
    before = stored(envelope, without)
    results = fold_group(story.settings, GROUP, before, story.rows[1:], None, knowledge=story.knowledge).results
    (copy,) = generations(results)
    assert copy.verdict.grade is Grade.NOT_JUDGED
    assert copy.verdict.reason is not None
    assert copy.verdict.reason.kind is ReasonKind.WRITTEN_AGAIN


def without_first(join_ended_ms_ago: int = 20) -> Story:
    """Generation 2 of a group whose static member is in it by another process than in generation 1."""
    story = consumers((GOES, STAYS))
    return record(story, "roundrobin", BACK, STAYS, join_ended_ms_ago=join_ended_ms_ago)


def test_a_copy_whose_first_record_was_compacted_accuses_nobody() -> None:
    """Written seconds after the join phase, with a process that the record before does not have."""
    story = without_first(join_ended_ms_ago=3_000)
    _, copy = told(story)
    assert copy.verdict.grade is Grade.NOT_JUDGED
    assert copy.verdict.reason is not None
    assert copy.verdict.reason.kind is ReasonKind.WRITTEN_AGAIN
    assert not incidents(story.fold())


def test_a_record_written_at_once_is_no_copy() -> None:
    story = without_first()
    _, second = told(story)
    assert second.verdict.grade is Grade.UNEXPLAINED
    assert {one.code for one in incidents(story.fold())} >= {"CONSUMER-C02"}


def test_two_owners_are_seen_in_a_copy_too() -> None:
    story = consumers((GOES, STAYS))
    record(story, "roundrobin", replace(BACK, given="a-0 a-1"), STAYS, join_ended_ms_ago=3_000)
    assert {one.code for one in incidents(story.fold())} == {"CONSUMER-C13"}


def test_of_real_groups_no_copy_without_its_first_record_accuses_anybody() -> None:
    """As if compaction had taken it, with what brokers said of the topics and without."""
    path = GROUP_CAPTURES / "java-classic"
    settings, records = settings_of(path), list(records_of(path))
    rows = [row for one in records if (row := decode(one, settings)) is not None]
    lost = set()
    for group in {row.group for row in rows}:
        own = [row for row in rows if row.group == group and isinstance(row.body, GroupGeneration)]
        lost |= {
            (first.partition, first.offset)
            for first, second in pairwise(own)
            if body_of(first).generation == body_of(second).generation and body_of(second).members
        }
    assert len(lost) > 20
    kept = [one for one in records if (one.partition, one.offset) not in lost]
    for knowledge in (knowledge_in(path), NOTHING_KNOWN):
        shown = replay(kept, settings, knowledge=knowledge)
        assert not shown.found
        assert shown.objects[-1]["violations"] == {}


RUNS = (
    streams.Thread(id="a1", active="0_0", sums="0_0:-2", instance="i"),
    streams.Thread(id="b1", active="0_1", sums="0_1:-2"),
)


@pytest.mark.parametrize("moved", [False, True])
def test_a_streams_thread_that_comes_back_keeps_the_verdict(moved: bool) -> None:
    story = streams.group(RUNS, known=StreamsSettings(standbys=0, warm_ups=2, acceptable_lag=10_000))
    back = replace(RUNS[0], id="a2", sums="", process="c", active="0_0 0_1" if moved else "0_0")
    streams.record(story, back, replace(RUNS[1], active="" if moved else "0_1"), again=True)
    results = story.fold()
    first, copy = generations(results)
    assert first.verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE)
    if moved:
        assert copy.verdict.grade is Grade.UNEXPLAINED
        return
    assert copy.verdict.grade is first.verdict.grade
    assert "the assignment at offset 0 stands" in copy.verdict.why
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def streams_without_first(join_ended_ms_ago: int) -> Story:
    """Generation 2 of an application whose static thread is in it by another process than in generation 1. Its former
    process had the state of both tasks, which won it both."""
    story = streams.group(RUNS, known=StreamsSettings(standbys=0, warm_ups=2, acceptable_lag=10_000))
    back = replace(RUNS[0], id="a2", sums="", process="c", active="0_0 0_1")
    return streams.record(story, back, replace(RUNS[1], active=""), join_ended_ms_ago=join_ended_ms_ago)


def test_a_streams_copy_whose_first_record_was_compacted_accuses_nobody() -> None:
    results = streams_without_first(join_ended_ms_ago=3_000).fold()
    _, copy = generations(results)
    assert copy.verdict.grade is Grade.NOT_JUDGED
    assert copy.verdict.reason is not None
    assert copy.verdict.reason.kind is ReasonKind.WRITTEN_AGAIN
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_a_streams_record_written_at_once_is_no_copy() -> None:
    _, second = generations(streams_without_first(join_ended_ms_ago=20).fold())
    assert second.verdict.grade is Grade.UNEXPLAINED
