"""A worker whose clock is minutes ahead: its statuses are dated after the monitor's now, and are written anyway."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.model.results import Result
from tests.streaming.core.rules.builders import STATUSES, Story, incidents
from tests.streaming.core.rules.cases_status import owners

CODE = "CONNECT-K4"
AHEAD_MS = 300_000


def taken_up(story: Story, silent: str = "") -> None:
    """Every worker says of what it holds that it runs it, but for the silent job."""
    for name, worker in story.workers.items():
        for held in sorted(worker.holds() - {silent}):
            story.status(held, "RUNNING", name)


def watched(story: Story, ahead: str) -> list[Result]:
    """What a monitor that reads along says within the next minutes; the clock of one worker is ahead."""
    group = story.followed()
    for row in story.rows:
        now_ms = row.timestamp_ms + 500
        if row.topic == STATUSES and f"{ahead}:8083" in repr(row.body):
            row = replace(row, timestamp_ms=row.timestamp_ms + AHEAD_MS)
        group.fold([row], now_ms)
    for later_ms in range(10_000, 150_000, 10_000):
        group.fold(now_ms=story.now_ms + later_ms)
    return group.results


@pytest.mark.parametrize("ahead", ["w1", "w2"])
def test_what_came_has_been_written(ahead: str) -> None:
    story = owners()
    taken_up(story)
    assert incidents(watched(story, ahead), CODE) == []


@pytest.mark.parametrize("ahead", ["w1", "w2"])
def test_a_job_that_is_not_taken_up_is_told_of_all_the_same(ahead: str) -> None:
    story = owners()
    taken_up(story, silent="c1-0")
    found = incidents(watched(story, ahead), CODE)
    assert {subject.id for one in found for subject in one.subjects if subject.type == "task"} == {"c1-0"}
