"""Topics between two samples that differ: a target is explained by what Kafka allows, and by no more."""

import pytest

from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.rules.epochs import Epochs
from tests.streaming.core.rules.streams_groups import StreamsGroupStory

MADE_OR_GREW = [
    ((4, 0), "0 1", Grade.UNEXPLAINED),
    ((4, 0), "0 1 2 3", Grade.MATCH),
    ((4, 0), "", Grade.EXPLAINABLE),
    ((0, 4), "0 1", Grade.EXPLAINABLE),
    ((4, 8), "0 1", Grade.UNEXPLAINED),
    ((4, 8), "0 1 2 3 4 5", Grade.EXPLAINABLE),
    ((4, 4), "0 1", Grade.UNEXPLAINED),
]
"""Partitions in two samples (0: no topic), those that were given between the two, and what is said of that."""


def judged(counts: tuple[int, ...], given: str, after_ms: int) -> Grade:
    """What is said of a target that came so long after the first of these samples."""
    story = Epochs().sampled(*counts).after(after_ms)
    story.member("a")
    story.epoch(1)
    story.target(1, a=given)
    story.holds("a", 1, given)
    (target,) = generations(story.after().until(1_000).fold())
    return target.verdict.grade


@pytest.mark.parametrize(("counts", "given", "grade"), MADE_OR_GREW)
def test_a_topic_has_no_fewer_partitions_than_before(counts: tuple[int, ...], given: str, grade: Grade) -> None:
    """It is made and deleted between two samples, and grows; it never shrinks."""
    assert judged(counts, given, 30_000) is grade


@pytest.mark.parametrize(("counts", "grade"), [((4, 0), Grade.UNEXPLAINED), ((0, 4), Grade.EXPLAINABLE)])
def test_a_subtopology_has_no_fewer_tasks_than_before(counts: tuple[int, ...], grade: Grade) -> None:
    story = StreamsGroupStory().sampled(*counts).after(30_000)
    story.thread("a")
    story.topology()
    story.epoch(1)
    story.target(1, a="0_0 0_1")
    story.holds("a", 1, "0_0 0_1")
    (target,) = generations(story.after().until(1_000).fold())
    assert target.verdict.grade is grade


@pytest.mark.parametrize("after_ms", [58_000, 62_000])
def test_clocks_of_broker_and_monitor_may_differ(after_ms: int) -> None:
    """The topic was deleted after the second of three samples. The broker's clock may be behind, so that a sample at a
    later time came before the record."""
    assert judged((4, 4, 0), "", after_ms) is Grade.EXPLAINABLE
