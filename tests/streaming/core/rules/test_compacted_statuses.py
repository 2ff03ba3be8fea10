"""The status topic was compacted before it was read: what was replaced cannot be missed."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.connect.topics import StatusChange
from tests.streaming.core.rules.builders import STATUSES, Story, incidents
from tests.streaming.core.rules.cases_status import owner_of, owners
from tests.streaming.core.rules.test_clock_ahead import taken_up

CODE, JOB = "CONNECT-K4", "c1-0"


def without_first_word(story: Story, *, hole: bool) -> None:
    """The job's oldest status is gone; without a hole it was never there."""
    first = next(row for row in story.rows if isinstance(row.body, StatusChange) and (row.body.record.task == 0))
    story.rows = [
        row if hole or row.topic != STATUSES or row.offset < first.offset else replace(row, offset=row.offset - 1)
        for row in story.rows
        if row is not first
    ]


def replaced_later(name: str) -> Story:
    story = owners()
    taken_up(story)
    story.wait(100_000)
    story.status("c1-1", "RUNNING", owner_of(story, "c1-1"))
    story.status(JOB, name, owner_of(story, JOB))
    return story.until(100_000)


@pytest.mark.parametrize("state", ["RUNNING", "FAILED", "UNASSIGNED"])
def test_a_status_that_was_replaced_may_have_said_that_the_job_runs(state: str) -> None:
    story = replaced_later(state)
    without_first_word(story, hole=True)
    assert [one for one in incidents(story.fold(), CODE) if one.opened_at_ms < story.now_ms] == []


@pytest.mark.parametrize("state", ["RUNNING", "FAILED", "UNASSIGNED"])
def test_a_status_that_never_was_is_missed(state: str) -> None:
    story = replaced_later(state)
    without_first_word(story, hole=False)
    assert [one for one in incidents(story.fold(), CODE) if one.opened_at_ms < story.now_ms]


def test_a_job_that_never_starts_is_told_of_behind_a_hole_too() -> None:
    story = owners()
    taken_up(story)
    story.until(100_000)
    without_first_word(story, hole=True)
    assert incidents(story.fold(), CODE)
