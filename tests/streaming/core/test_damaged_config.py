"""Config records that parse and cannot be as they were written: what they hide is no mistake of the leader's."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rebalance_monitor.schemas.connect_topics import ConnectorConfigured, OtherConfig, TasksCommitted
from rebalance_monitor.streaming.core.connect.topics import ConfigChange
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Grade, Severity
from tests.streaming.core.rules.builders import CONFIGS, Story, generations, incidents
from tests.streaming.core.rules.cases_across import calm, drop_given

Damage = Callable[[Row], Row]


def commit(count: int | None, name: str = "c2") -> Damage:
    return lambda row: replace(row, body=ConfigChange(TasksCommitted(name, count)))


def connector(record: ConnectorConfigured | OtherConfig) -> Damage:
    return lambda row: replace(row, body=ConfigChange(record))


DAMAGES = {
    "more tasks than were staged": ("commit", commit(30)),
    "fewer tasks than were staged": ("commit", commit(1)),
    "a number below zero": ("commit", commit(-1)),
    "no number": ("commit", commit(None)),
    "a commit of another connector": ("commit", commit(3, "cX")),
    "another connector's configuration": ("connector", connector(ConnectorConfigured("cX"))),
    "a value that is no JSON": ("connector", connector(OtherConfig("not_json", advances=False, size_bytes=9))),
    "a value without properties": ("connector", connector(OtherConfig("connector_ignored"))),
}


def damaged(damage: str) -> tuple[Story, int]:
    """c2 is made with three tasks, and one record of it is read otherwise than it was written. And the offset of the
    commit, which then does not fit what stands before it."""
    story = calm()
    story.configure("c2", 3)
    story.rebalance()
    story.rebalance()
    which, change = DAMAGES[damage]
    last = max(index for index, row in enumerate(story.rows) if row.topic == CONFIGS)
    at = last if which == "commit" else last - 4
    story.rows[at] = change(story.rows[at])
    return story, story.rows[last].offset


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_damaged_record_hides_is_not_judged(damage: str) -> None:
    story, commit_offset = damaged(damage)
    results = story.fold()
    verdicts = [one.verdict for one in generations(results) if one.verdict.pending_until_ms is None]
    assert Grade.UNEXPLAINED not in {one.grade for one in verdicts}
    hidden = [one for one in verdicts if one.grade is Grade.NOT_JUDGED]
    assert hidden
    assert all(f"{CONFIGS} offset" in one.why for one in hidden)
    assert str(commit_offset) in hidden[0].why
    assert not [one for one in incidents(results) if one.severity is not Severity.INFO]


def test_a_sound_commit_heals() -> None:
    story, _ = damaged("no number")
    story.commit("c2", 3)
    story.rebalance()
    story.rebalance()
    told = [one.verdict.grade for one in generations(story.fold()) if one.verdict.pending_until_ms is None]
    assert told[-1] is not Grade.UNEXPLAINED
    story.configure("c3", 2)
    story.rebalance(drop_given)
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED


def test_a_wrong_answer_is_unexplained_where_every_record_is_sound() -> None:
    story = calm()
    story.configure("c2", 3)
    story.rebalance(drop_given)
    assert generations(story.fold())[-1].verdict.grade is Grade.UNEXPLAINED
