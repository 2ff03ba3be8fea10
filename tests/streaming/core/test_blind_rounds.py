"""A round that could not be run again moved its leader's memory all the same; the next one is judged with that in mind.

Each story is right from end to end, so nothing may be called unexplained, and nothing but the harm itself reported.
"""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.connect.topics import ConfigChange
from rebalance_monitor.streaming.core.model.records import BadBlob, GroupGeneration
from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import Story, generations, incidents

GRADES = {Grade.NOT_JUDGED, Grade.EXPLAINABLE, Grade.MATCH}


def delayed() -> Story:
    """A worker is lost in generation 3; its jobs are handed out in generation 5."""
    story = Story.begun({"c1": 2, "c2": 3}, "w1", "w2", "w3", rebalances=2)
    story.leave("w3")
    for after_ms in (1_000, 60_000, 250_000, 1_000):
        story.rebalance(after_ms=after_ms)
    return story


@pytest.mark.parametrize("blind", [1, 2, 3, 4])
def test_config_records_that_come_after_the_wait(blind: int) -> None:
    story = delayed()
    groups = [row for row in story.rows if isinstance(row.body, GroupGeneration)]
    configs = [row for row in story.rows if isinstance(row.body, ConfigChange)]
    group = story.followed()
    for batch, now_ms in ((groups[:blind], 1_000), ([], 100_000), ([*configs, *groups[blind:]], 100_001)):
        group.fold(batch, now_ms)
    last = {one.generation: one.verdict.grade for one in generations(group.results)}
    assert [last[number] for number in range(1, blind + 1)] == [Grade.NOT_JUDGED] * blind
    assert set(last.values()) <= GRADES
    assert last[6] is Grade.MATCH
    assert not incidents(group.results, "CONNECT-I13")


def test_a_subscription_that_cannot_be_read_once() -> None:
    story = delayed()
    at, row = next(
        (at, row)
        for at, row in enumerate(story.rows)
        if isinstance(row.body, GroupGeneration) and row.body.generation == 3
    )
    assert isinstance(row.body, GroupGeneration)
    first, second = row.body.members
    members = (first, replace(second, subscription=BadBlob("cut short")))
    story.rows[at] = replace(row, body=replace(row.body, members=members))
    results = story.fold()
    assert [one.verdict.grade for one in generations(results)][2:4] == [Grade.NOT_JUDGED, Grade.EXPLAINABLE]
    assert {one.code for one in incidents(results)} == {"CONNECT-I12"}
    kinds = {cause.kind for one in generations(results)[1:] for cause in one.cause}
    assert kinds <= {"worker_left", "worker_gone", "delay_expired", "unknown"}


def test_a_leader_that_starts_far_behind_uses_what_it_reads_meanwhile() -> None:
    """It has read nothing of the config topic when it joins, long after the topic's beginning was folded away."""
    story = delayed()
    story.configure("c3", 1)
    story.rebalance()
    story.rebalance()
    story.join("w4")
    story.workers["w4"].reads_until = 0
    story.rebalance(leader="w4", fresh=False)
    story.rebalance()
    results = story.fold()
    assert [one.verdict.grade for one in generations(results)][-2:] == [Grade.MATCH, Grade.MATCH]
