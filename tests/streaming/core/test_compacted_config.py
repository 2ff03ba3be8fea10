"""A config topic that was compacted before it was read tells less than the leader knew: no alarm comes of it."""

from collections.abc import Callable

import pytest

from rebalance_monitor.schemas.connect_topics import OtherConfig
from rebalance_monitor.streaming.core.connect.topics import ConfigChange
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from tests.streaming.core.rules.builders import Story, generations, incidents
from tests.streaming.core.rules.edits import give


def names(row: Row) -> str | None:
    record = row.body.record if isinstance(row.body, ConfigChange) else None
    return None if record is None or isinstance(record, OtherConfig) else record.name


def changed_later(protocol: str = "sessioned") -> Story:
    story = Story(protocol)
    story.configure("c1", 2)
    story.configure("c2", 1)
    story.join("w1", "w2")
    story.rebalance()
    story.rebalance()
    story.leave("w2")
    story.rebalance()
    return story


def replaced(story: Story) -> None:
    """All of c1 is written again: compaction keeps the newer records only."""
    end = len(story.snapshots) - 1
    story.configure("c1", 2)
    story.rebalance()
    story.rebalance()
    story.rows = [row for row in story.rows if names(row) != "c1" or row.offset >= end]


def deleted(story: Story) -> None:
    """c1 is gone, and in the end its tombstone is too."""
    story.delete("c1")
    story.configure("c3", 1)
    story.rebalance()
    story.rebalance()
    story.rows = [row for row in story.rows if names(row) != "c1"]


def begins_late(story: Story) -> None:
    """Nothing is left of the topic's beginning."""
    story.configure("c3", 1)
    story.rebalance()
    story.rows = [row for row in story.rows if names(row) is None or row.offset >= 5]


@pytest.mark.parametrize("protocol", ["sessioned", "default"])
@pytest.mark.parametrize("what", [replaced, deleted, begins_late])
def test_what_compaction_took_away_is_no_violation(what: Callable[[Story], None], protocol: str) -> None:
    story = changed_later(protocol)
    what(story)
    results = story.fold()
    assert Grade.UNEXPLAINED not in {one.verdict.grade for one in generations(results)}
    assert {one.code for one in incidents(results) if one.severity is not Severity.INFO} == set()
    assert generations(results)[0].verdict.grade is Grade.NOT_JUDGED
    assert "compacted" in generations(results)[0].verdict.why


def test_a_lost_job_whose_records_are_newer_than_the_loss_waits_like_any_other() -> None:
    """c2 was written anew between the worker's death and the round that misses it."""
    story = Story.begun({"c1": 2, "c2": 1}, "w1", "w2", rebalances=2)
    assert "c2" in story.leave("w2").holds()
    end = len(story.snapshots) - 1
    story.configure("c2")
    story.configure("c3", 1)
    story.rebalance()
    story.rebalance()
    story.rows = [row for row in story.rows if names(row) != "c2" or row.offset >= end]
    results = story.fold()
    assert {one.code for one in incidents(results) if one.severity is not Severity.INFO} == set()


def test_a_job_that_waits_already_when_its_records_are_replaced_waits_on() -> None:
    """The round that missed c2 was told, but of c2 only what was written after that round is left."""
    story = Story.begun({"c1": 2, "c2": 1}, "w1", "w2", rebalances=2)
    assert "c2" in story.leave("w2").holds()
    story.rebalance()
    end = len(story.snapshots) - 1
    story.configure("c2")
    story.configure("c3", 1)
    story.rebalance()
    story.rows = [row for row in story.rows if names(row) != "c2" or row.offset >= end]
    results = story.fold()
    assert {one.code for one in incidents(results) if one.severity is not Severity.INFO} == set()


def test_holes_that_hide_nothing_weaken_no_verdict() -> None:
    """A session key was replaced, which is no job; the answer is wrong all the same."""
    story = Story()
    story.config("session-key", {"key": "a"}, {})
    story.configure("c1", 2)
    story.configure("c2", 1)
    story.join("w1", "w2")
    story.rebalance()
    story.delete("c2")
    story.rebalance()
    story.rebalance(give("w1", "c2"))
    del story.rows[0]
    results = story.fold()
    assert generations(results)[0].verdict.grade is Grade.MATCH
    assert generations(results)[2].verdict.grade is Grade.UNEXPLAINED
    assert "CONNECT-I5" in {one.code for one in incidents(results)}


@pytest.mark.parametrize("protocol", ["sessioned", "default"])
def test_a_number_of_tasks_that_was_replaced_twice_is_not_the_one_before(protocol: str) -> None:
    """Compaction took c1's second commit, because a third one follows: what the leader of the time had is not known."""
    story = Story(protocol)
    story.configure("c1", 4)
    story.configure("c2", 2)
    story.join("w1", "w2")
    story.rebalance()
    story.rebalance()
    first = len(story.snapshots) - 1
    story.configure("c1", 1)
    last = len(story.snapshots) - 1
    story.configure("c3", 1)
    story.rebalance()
    story.rebalance()
    story.configure("c1", 3)
    story.rebalance()
    story.rows = [row for row in story.rows if names(row) != "c1" or not first <= row.offset < last]
    results = story.replayed()
    grades = [one.verdict.grade for one in generations(results)]
    assert Grade.UNEXPLAINED not in grades
    assert Grade.NOT_JUDGED in grades
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]
