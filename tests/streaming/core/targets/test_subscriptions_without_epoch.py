"""Subscriptions that change without another group epoch: the coordinator computes with what it compared before.

Only a member with a regular expression that is not resolved yet joins so. Kafka: `consumerGroupHeartbeat`.
"""

import pytest

from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.rules.epochs import Epochs, alone, pair


def grade_of_last(story: Epochs) -> Grade:
    return generations(story.after().until(1_000).fold())[-1].verdict.grade


@pytest.mark.parametrize("apart_ms", [0, 1_000])
def test_a_pattern_that_is_not_resolved_leaves_subscriptions_equal(apart_ms: int) -> None:
    """Member b leaves, which raises the group epoch, and member c joins with a pattern, perhaps within the same
    millisecond: it is given partitions of the topic of the other."""
    story = pair()
    story.after().gone("b", epoch=3)
    story.after(apart_ms).member("c", pattern="a.*")
    story.target(3, a="0 1", c="2 3")
    story.holds("c", 3, "2 3")
    assert grade_of_last(story) is Grade.MATCH


def test_other_names_raise_the_epoch_so_nobody_is_given_a_topic_of_others() -> None:
    """Member b subscribes to another topic before the target, and is given partitions as if it did not."""
    story = alone()
    story.after().member("b")
    story.epoch(2)
    story.after().member("b", topics=("other",))
    story.target(2, a="0 1", b="2 3")
    assert grade_of_last(story) is Grade.UNEXPLAINED
