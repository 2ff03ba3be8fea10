"""Records after the last sample of a capture: what changed meanwhile is shown by nothing but their own answers."""

import pytest

from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import Story, generations
from tests.streaming.core.rules.consumers import Consumer, record

RACKS = (frozenset("x"), frozenset("y"), frozenset("x"))
GROWN = (Consumer(id="m1", given="a-0 a-1 a-2"), Consumer(id="m2", given="a-3 a-4"))
WRONG = (Consumer(id="m1", given="a-1"), Consumer(id="m2", given="a-0 a-2"))
MADE_ANEW = (Consumer(id="m1", given="a-1", rack="x"), Consumer(id="m2", given="a-0", rack="y"))


def grade(members: tuple[Consumer, ...], *, later: bool) -> Grade:
    """Of the answer of a `range` leader; the sample before it shows three partitions, and so does a `later` one."""
    story = record(Story(), "range", Consumer(id="m1", given="a-0 a-1"), Consumer(id="m2", given="a-2"))
    times_ms = (story.now_ms - 1_000, *((story.now_ms + 600_000,) if later else ()))
    story.knowledge = knowledge_of(TopicMetadata(at_ms, {"a": RACKS}) for at_ms in times_ms)
    return generations(record(story, "range", *members).until(60_000).fold())[-1].verdict.grade


@pytest.mark.parametrize(
    ("members", "unseen"),
    [(GROWN, Grade.EXPLAINABLE), (MADE_ANEW, Grade.NOT_JUDGED), (WRONG, Grade.UNEXPLAINED)],
    ids=["grown", "made anew", "wrong"],
)
def test_a_change_that_no_sample_shows_is_no_fault(members: tuple[Consumer, ...], unseen: Grade) -> None:
    assert grade(members, later=False) is unseen
    assert grade(members, later=True) is Grade.UNEXPLAINED
