"""Records of the coordinator's log that were gone before they were read: whom they may concern is told, and how."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from rebalance_monitor.streaming.core.lifecycles import fold_group, groups_concerned, route
from rebalance_monitor.streaming.core.model.records import Gap, GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import GapRecord, Generation, Grade, Result, Severity
from tests.streaming.core.rules.builders import GROUP, OFFSETS, Story, generations, incidents
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS, calm, departure
from tests.streaming.core.rules.cases_status import owners
from tests.streaming.core.rules.edits import everyone
from tests.streaming.core.rules.processes import Given


def gap(partition: int, start: int, end: int) -> Row:
    """As the reader hands it over: without a group and without a time."""
    body = Gap(end, "deleted_before_read")
    return Row(topic=OFFSETS, partition=partition, offset=start, timestamp_ms=-1, group=None, body=body)


def lose(story: Story, records: int = 1) -> None:
    """The next records of the partition are gone."""
    start = story.offsets[OFFSETS]
    story.offsets[OFFSETS] += records
    story.rows.append(gap(0, start, start + records))


def test_a_gap_reaches_the_connect_groups_of_its_partition_and_is_published_once() -> None:
    story = calm()
    lose(story)
    here, elsewhere = story.rows[-1], gap(1, 5, 9)
    routed = route([*story.rows, elsewhere], story.settings)
    assert routed[""] == [here, elsewhere]
    assert here in routed[GROUP]
    assert elsewhere not in routed[GROUP]
    published = [
        one for group, own in routed.items() for one in fold_group(story.settings, group, None, own, None).results
    ]
    assert sum(isinstance(one, GapRecord) for one in published) == 2
    assert groups_concerned(story.settings, OFFSETS, "Gap", ("a", "b")) == ["", "a", "b"]


def test_a_gap_elsewhere_changes_nothing() -> None:
    story = calm()
    state = fold_group(story.settings, GROUP, None, story.rows, Tick(story.now_ms)).state
    outcome = fold_group(story.settings, GROUP, state, [gap(1, 0, 99)], Tick(story.now_ms))
    assert (outcome.state, outcome.results) == (state, ())


def verdict_after_gap(story: Story) -> Generation:
    return [one for one in generations(story.fold()) if one.verdict.pending_until_ms is None][-1]


def test_an_answer_that_only_lost_rounds_explain_says_so() -> None:
    story = departure()
    story.rebalance(recorded=False, after_ms=20_000)
    story.configure("c2", 3)
    story.rebalance(recorded=False, after_ms=DELAY_MS)
    story.leave("w1")
    story.rebalance(recorded=False)
    story.join("w1")
    story.rebalance(recorded=False, leader="w1")
    story.rebalance(recorded=False)
    lose(story, 5)
    story.configure("c3", 4)
    story.join("w4")
    story.rebalance(after_ms=3_000)
    verdict = verdict_after_gap(story).verdict
    assert verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE)
    if verdict.grade is Grade.EXPLAINABLE:
        assert "__consumer_offsets-0 offsets 3 to 7 were gone before they were read" in verdict.why


def wrong(given: Given) -> None:
    """An answer that no leader gives, whatever it remembers: nothing of what is new, and nobody waits for it."""
    everyone(connectors=(), tasks=())(given)


def exchanged(given: Given) -> None:
    """The two new tasks the other way round: as if the first of them had been lost, and not the second."""
    first, two = given["w1"], given["w2"]
    assert isinstance(first, ConnectAssignment)
    assert isinstance(two, ConnectAssignment)
    assert len(first.tasks) == len(two.tasks) == 1
    given["w1"], given["w2"] = replace(first, tasks=two.tasks), replace(two, tasks=first.tasks)


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize(("change", "some_memory"), [(exchanged, True), (wrong, False)])
def test_after_lost_records_only_an_answer_that_no_memory_gives_is_unexplained(
    change: Callable[[Given], None], some_memory: bool, lost: bool
) -> None:
    story = calm()
    story.rebalance(recorded=False)
    if lost:
        lose(story)
    story.configure("c2", 2)
    story.rebalance(change)
    verdict = verdict_after_gap(story).verdict
    assert verdict.grade is (Grade.EXPLAINABLE if lost and some_memory else Grade.UNEXPLAINED)
    assert (lost and some_memory) == ("were gone before they were read" in verdict.why)


def test_a_gap_between_two_generations_in_a_row_has_taken_none() -> None:
    story = calm()
    lose(story)
    story.configure("c2", 2)
    story.rebalance(wrong)
    assert verdict_after_gap(story).verdict.grade is Grade.UNEXPLAINED


@pytest.mark.parametrize("live", [True, False])
def test_nothing_is_overdue_when_what_was_waited_for_may_have_been_lost(live: bool) -> None:
    story = departure()
    lose(story)
    if live:
        assert not incidents(_until(story, 20 * MINUTE_MS))
    story.rebalance(recorded=False, after_ms=DELAY_MS)
    story.rebalance(after_ms=20 * MINUTE_MS)
    assert not [one for one in incidents(story.fold()) if one.code in ("CONNECT-K5", "CONNECT-K6", "CONNECT-K14")]


def test_a_job_that_may_have_been_taken_away_meanwhile_is_not_missed() -> None:
    story = owners()
    for name in sorted(story.workers["w2"].holds()):
        story.status(name, "RUNNING", "w2")
    told = incidents(_until(story, 2 * MINUTE_MS), "CONNECT-K4")
    assert {one.severity for one in told} == {Severity.MEDIUM}
    lose(story)
    assert not incidents(_until(story, 2 * MINUTE_MS), "CONNECT-K4")


def _until(story: Story, ms: int) -> list[Result]:
    """As a monitor tells it that reads along and looks at its clock once more."""
    group = story.followed()
    for row in story.rows:
        group.fold([row], max(row.timestamp_ms, story.rows[0].timestamp_ms))
    assert any(isinstance(row.body, GroupGeneration) for row in story.rows)
    group.fold(now_ms=story.now_ms + ms)
    return group.results
