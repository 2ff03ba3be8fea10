"""Whose clock it is: the leader's reckons delays, the coordinator's stamps records, and either may move.

10:00:00  delay 300 s                broker 1 stamps 10:00:00
10:01:00  the rest, 240 s            broker 2 has taken over, and stamps 09:01:00
"""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from tests.streaming.core.rules.builders import Story, generations, incidents
from tests.streaming.core.rules.edits import everyone, give
from tests.streaming.core.rules.processes import Given


def moved(row: Row, ms: int) -> Row:
    if not isinstance(row.body, GroupGeneration):
        return row
    return replace(row, timestamp_ms=row.timestamp_ms + ms, body=replace(row.body, state_ms=row.body.state_ms + ms))


def in_a_window() -> Story:
    story = Story.begun({"c1": 2, "c2": 3}, "w1", "w2", "w3", rebalances=2)
    story.leave("w3")
    story.rebalance()
    return story


@pytest.mark.parametrize("ms", [-3_600_000, -5_000])
@pytest.mark.parametrize("rounds", [1, 0])
def test_a_coordinator_whose_clock_is_behind_takes_over(ms: int, rounds: int) -> None:
    story = in_a_window()
    before = len(story.rows)
    for _ in range(rounds):
        story.rebalance()
    if rounds or ms < -300_000:
        story.rebalance(after_ms=301_000)
    story.rebalance()
    story.rows = [*story.rows[:before], *(moved(row, ms) for row in story.rows[before:])]
    results = story.fold()
    assert Grade.UNEXPLAINED not in {one.verdict.grade for one in generations(results)}
    assert "clock" in generations(results)[3].verdict.why
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


@pytest.mark.parametrize("ms", [5_000, 200_000])
def test_a_coordinator_whose_clock_is_ahead_takes_over(ms: int) -> None:
    story = in_a_window()
    before = len(story.rows)
    story.rebalance()
    story.rebalance(after_ms=301_000)
    story.rows = [*story.rows[:before], *(moved(row, ms) for row in story.rows[before:])]
    results = story.fold()
    assert [one.verdict.grade for one in generations(results)][3:] == [Grade.EXPLAINABLE, Grade.MATCH]


@pytest.mark.parametrize("ms", [-3_600_000, 3_600_000])
def test_a_leader_whose_clock_is_always_wrong_is_judged_as_any(ms: int) -> None:
    story = in_a_window()
    story.rebalance()
    story.rebalance(after_ms=301_000)
    story.rows = [moved(row, ms) for row in story.rows]
    assert {one.verdict.grade for one in generations(story.fold())} == {Grade.MATCH}


def test_a_window_that_ends_earlier_may_be_a_clock_that_was_set_back_meanwhile() -> None:
    story = in_a_window()
    story.rebalance(everyone(delay_ms=100_000))
    verdict = generations(story.fold())[-1].verdict
    assert verdict.grade is Grade.EXPLAINABLE
    assert "clock" in verdict.why


@pytest.mark.parametrize("delay_ms", [300_000, 300_001])
def test_a_delay_that_does_not_shrink_is_no_matter_of_clocks(delay_ms: int) -> None:
    story = in_a_window()
    story.rebalance(everyone(delay_ms=delay_ms), after_ms=20_000)
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED


def test_a_delay_that_is_over_early_when_somebody_joins_is_no_matter_of_clocks() -> None:
    story = in_a_window()
    story.join("w4")

    def early(given: Given) -> None:
        everyone(delay_ms=0)(given)
        give("w4", "c1-1")(given)

    story.rebalance(early, after_ms=20_000)
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED
