"""Records that were gone before they were read, or could not be read: whom it concerns knows less, and says so."""

from dataclasses import replace

from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import Gap, Row, Tick, Undecodable
from rebalance_monitor.streaming.core.model.results import (
    GapRecord,
    Generation,
    Grade,
    JobState,
    Severity,
    UndecodableRecord,
)
from tests.streaming.core.rules.builders import CONFIGS, GROUP, STATUSES, generations, incidents
from tests.streaming.core.rules.cases_across import calm
from tests.streaming.core.rules.cases_status import JOB, owner_of, owners


def gap(topic: str, start: int, end: int) -> Row:
    """As the reader hands it over: without a group and without a time."""
    body = Gap(end, "deleted_before_read")
    return Row(topic=topic, partition=0, offset=start, timestamp_ms=-1, group=None, body=body)


def unread(row: Row) -> Row:
    return replace(row, body=Undecodable("config", 40))


def test_rows_of_a_connect_topic_reach_its_group_and_are_published_once() -> None:
    story = calm()
    rows = [gap(STATUSES, 0, 3), unread(story.rows[0])]
    routed = route(rows, story.settings)
    assert routed == {"": rows, GROUP: rows}
    results = [
        one for group, own in routed.items() for one in fold_group(story.settings, group, None, own, None).results
    ]
    assert sum(isinstance(one, GapRecord) for one in results) == 1
    assert sum(isinstance(one, UndecodableRecord) for one in results) == 1


def test_nobody_waits_for_config_records_that_are_gone_or_cannot_be_read() -> None:
    for lost in (unread, lambda row: gap(CONFIGS, row.offset, row.offset + 1)):
        story = calm()
        story.config("session-key", {"key": "a"}, story.snapshots[-1])
        story.rows[-1] = lost(story.rows[-1])
        story.rebalance()
        outcome = fold_group(story.settings, GROUP, None, story.rows, Tick(story.now_ms))
        told = [one for one in outcome.results if isinstance(one, Generation)]
        assert [one.verdict.grade for one in told] == [Grade.MATCH] * 3
        assert not [one for one in told if one.verdict.pending_until_ms]


def test_what_may_have_been_configured_by_a_record_that_cannot_be_read_is_no_violation() -> None:
    story = calm()
    story.configure("c2")
    story.rows[-1] = unread(story.rows[-1])
    offset = story.rows[-1].offset
    story.rebalance()
    story.rebalance()
    results = story.fold()
    told = generations(results)
    assert told[2].verdict.grade is Grade.NOT_JUDGED
    assert f"{CONFIGS} offset {offset}" in told[2].verdict.why
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_a_gap_in_the_statuses_leaves_nobody_accused() -> None:
    """The owner's RUNNING, and what the former owner said, may have been among what is gone."""
    story = owners()
    story.status(JOB, "RUNNING", owner_of(story, JOB))
    for name in sorted(story.workers["w2"].holds()):
        story.status(name, "RUNNING", "w2")
    lost = next(row.offset for row in story.rows if row.topic == STATUSES)
    seen = [row for row in story.rows if row.topic != STATUSES]
    late = Row(topic=STATUSES, partition=0, offset=9, timestamp_ms=story.now_ms, group=None, body=story.rows[-1].body)
    story.rows = [*seen, gap(STATUSES, lost, 9), late]
    assert "CONNECT-K4" not in {one.code for one in incidents(story.until(120_000).fold())}


def test_jobs_are_unknown_after_a_gap_until_somebody_tells_of_them_again() -> None:
    story = owners()
    owner = owner_of(story, JOB)
    story.status(JOB, "RUNNING", owner)
    first = fold_group(story.settings, GROUP, None, story.rows, Tick(story.now_ms + 10_000))
    assert _agreement(first.results) == "ok"
    second = fold_group(story.settings, GROUP, first.state, [gap(STATUSES, 1, 5)], Tick(story.now_ms + 20_000))
    assert _agreement(second.results) == "unknown"
    story.offsets[STATUSES] = 5
    story.status(JOB, "RUNNING", owner)
    third = fold_group(story.settings, GROUP, second.state, story.rows[-1:], Tick(story.now_ms + 30_000))
    assert _agreement(third.results) == "ok"


def _agreement(results: tuple[object, ...]) -> str:
    return [one.agreement for one in results if isinstance(one, JobState) and one.job.id == JOB][-1]
