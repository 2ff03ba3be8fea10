"""The config topic was deleted and made anew within the hour, and both of its lives were read."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Grade, Result, Severity
from tests.streaming.core.rules.builders import CONFIGS, GROUP, Story, generations, incidents

MINUTE_MS = 60_000


def two_lives() -> Story:
    """Connectors with many tasks first; then the topic begins anew, and its workers with it, with more records soon."""
    story = Story.begun({"old1": 2, "old2": 1}, "w1", "w2", rebalances=2)
    for name in ("w1", "w2"):
        story.leave(name)
    story.wait(10 * MINUTE_MS)
    story.snapshots = [{}]
    for number in range(4):
        story.wait(100)
        story.configure(f"new{number}", 2)
    story.join("w1", "w2")
    story.rebalance(leader="w1")
    story.rebalance()
    return story


def clean(results: list[Result]) -> bool:
    harmful = [one for one in incidents(results) if one.severity is not Severity.INFO]
    verdicts = [one.verdict.grade for one in generations(results) if one.verdict.pending_until_ms is None]
    return not harmful and len(verdicts) == 4 and set(verdicts) == {Grade.MATCH}


def by_place(row: Row) -> tuple[str, int, int]:
    return (row.topic, row.partition, row.offset)


@pytest.mark.parametrize("order", ["as read", "by offset"])
def test_a_replay_judges_each_life_by_its_own_configuration(order: str) -> None:
    story = two_lives()
    if order == "by offset":
        story.rows.sort(key=by_place)
    assert clean(story.replayed())


def test_offsets_below_what_was_read_with_later_times_are_a_new_topic() -> None:
    """Row by row, as they come, from brokers that give their topics no ids."""
    assert clean(two_lives().fold())


def test_records_that_are_read_twice_are_no_new_topic() -> None:
    story = two_lives()
    story.rows = [row for row in story.rows if row.topic != CONFIGS or row.timestamp_ms < story.now_ms - 5 * MINUTE_MS]
    again = [row for row in story.rows if row.topic == CONFIGS]
    first = [one for one in generations(story.fold()) if one.verdict.pending_until_ms is None][:2]
    for rows in ([*story.rows, *again], [*again, *again, *story.rows]):
        story.rows = rows
        told = [one for one in generations(story.replayed()) if one.verdict.pending_until_ms is None]
        assert [one.verdict for one in told[:2]] == [one.verdict for one in first]


def test_a_writer_whose_clock_is_ahead_makes_no_new_topic() -> None:
    story = Story.begun({"c1": 2}, "w1", "w2")
    ahead = [replace(row, timestamp_ms=row.timestamp_ms + 60 * MINUTE_MS) for row in story.rows if row.topic == CONFIGS]
    rest = [row for row in story.rows if row.topic != CONFIGS]
    story.rows = [*ahead, *rest]
    story.configure("c2", 2)
    story.rebalance()
    story.rebalance()
    outcome = fold_group(story.settings, GROUP, None, story.rows, None, end_of_input=True)
    for results in (list(outcome.results), story.replayed()):
        assert {one.verdict.grade for one in generations(results)} == {Grade.MATCH}
