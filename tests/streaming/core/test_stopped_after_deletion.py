"""A worker may say that a task has stopped after everything about it was deleted: nobody waits for such a task."""

from rebalance_monitor.streaming.core.model.results import Aftermath, JobState
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases_status import JOB, all_running, owner_of


def last(story: Story, name: str) -> str:
    """What the last row of the connector or task says."""
    return [one for one in story.until(60_000).fold() if isinstance(one, JobState) and one.job.id == name][-1].agreement


def deleted(story: Story) -> str:
    """The connector is deleted, and a round was made without it; the worker that had the task."""
    worker = owner_of(story, JOB)
    story.delete("c1")
    story.status("c1", None, worker)
    story.status(JOB, None, worker)
    story.rebalance()
    story.wait(200)
    return worker


def test_a_task_that_stops_after_its_deletion_waits_for_nobody() -> None:
    story = all_running()
    worker = deleted(story)
    story.status(JOB, "UNASSIGNED", worker, generation=1)
    assert last(story, JOB) == "gone"


def test_a_task_that_stops_between_its_deletion_and_the_round_waits_for_nobody() -> None:
    story = all_running()
    worker = owner_of(story, JOB)
    story.delete("c1")
    story.status(JOB, None, worker)
    story.status(JOB, "UNASSIGNED", worker, generation=1)
    story.wait(200)
    story.rebalance()
    assert last(story, JOB) == "gone"


def test_a_connector_of_this_name_that_comes_later_is_another_one() -> None:
    story = all_running()
    story.status(JOB, "UNASSIGNED", deleted(story), generation=1)
    story.configure("c1", 2)
    story.rebalance()
    story.wait(200)
    story.status(JOB, "RUNNING", owner_of(story, JOB))
    assert last(story, JOB) == "ok"
    words = [one for one in story.until(120_000).fold() if isinstance(one, Aftermath)]
    assert words
    assert not [one for one in words if one.interrupted], "it did not stand still: it was not there"


def test_a_task_that_stopped_with_its_worker_waits_for_the_end_of_the_delay() -> None:
    story = Story(max_delay_ms=300_000)
    story.configure("c1", 4)
    story.join("w1", "w2")
    story.rebalance()
    task = next(name for name in sorted(story.workers["w2"].holds()) if name != "c1")
    story.status(task, "RUNNING", "w2")
    story.wait(1_000)
    story.status(task, "UNASSIGNED", "w2")
    story.leave("w2")
    story.rebalance()
    assert last(story, task) == "unassigned"


def test_a_task_that_stopped_with_its_group_waits() -> None:
    story = all_running()
    story.status(JOB, "UNASSIGNED", owner_of(story, JOB))
    story.wait(1_000)
    story.empty()
    assert last(story, JOB) == "unassigned"
