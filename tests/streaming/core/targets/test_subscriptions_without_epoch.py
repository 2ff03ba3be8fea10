"""Subscriptions that the coordinator does not compare anew: it computes with what it compared before.

A member with a regular expression that is not resolved yet raises no group epoch, and the tombstone of a regular
expression is no record of a member. Kafka: `consumerGroupHeartbeat`, `ConsumerGroup.updateResolvedRegularExpression`.
"""

import pytest

from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.rules.epochs import TOPIC, Epochs, alone, pair


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


@pytest.mark.parametrize(("compares_again", "grade"), [(False, Grade.MATCH), (True, Grade.UNEXPLAINED)])
def test_a_pattern_that_goes_with_its_last_member_counts_until_a_member_is_heard(
    compares_again: bool, grade: Grade
) -> None:
    """The pattern stands for a topic that nobody names, so `uniform` takes equal subscriptions for different ones."""
    story = Epochs(4)
    for name in ("a", "b"):
        story.member(name)
    story.member("p", pattern="a.*")
    story.resolved("a.*", TOPIC, "another")
    story.epoch(1)
    story.after().target(1, a="3", b="", p="0 1 2")
    for name, numbers in (("a", "3"), ("b", ""), ("p", "0 1 2")):
        story.holds(name, 1, numbers)
    story.after().gone("p", epoch=2)
    story.write(16, None, "a.*")
    if compares_again:
        story.holds("a", 1, "3")
    story.after().target(2, a="2 3", b="0 1")
    assert grade_of_last(story) is grade
