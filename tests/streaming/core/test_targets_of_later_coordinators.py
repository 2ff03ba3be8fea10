"""Targets as coordinators after 4.3.1 write them: computed beside the heartbeats, and one when nobody is left."""

from collections.abc import Callable, Sequence

import pytest

from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Standing
from tests.streaming.core.rules.builders import GROUP
from tests.streaming.core.rules.epochs import UNREVOKED, Epochs, alone
from tests.streaming.core.rules.share import Share, numbers
from tests.streaming.core.rules.streams_groups import UNREVOKED as STREAMS_UNREVOKED
from tests.streaming.core.rules.streams_groups import StreamsGroupStory
from tests.streaming.folded_group import FoldedGroup

Told = Epochs | Share


def consumers_overtaken() -> Epochs:
    """b joins, and c while the target for a and b is computed: that target names c nowhere."""
    story = alone()
    story.after().member("b")
    story.epoch(2)
    story.after(200).member("c")
    story.epoch(3)
    story.after(200).target(2, a="0 1", b="2 3")
    story.holds("a", 1, "0 1", state=UNREVOKED, pending="2 3")
    return story


def tasks() -> StreamsGroupStory:
    """Member a at epoch 1 with all four tasks."""
    story = StreamsGroupStory(4)
    story.thread("a")
    story.topology()
    story.epoch(1)
    story.target(1, a="0_0 0_1 0_2 0_3")
    story.holds("a", 1, "0_0 0_1 0_2 0_3")
    return story


def tasks_overtaken() -> StreamsGroupStory:
    """The same of a Streams group."""
    story = tasks()
    story.after().thread("b")
    story.epoch(2)
    story.after(200).thread("c")
    story.epoch(3)
    story.after(200).target(2, a="0_0 0_1", b="0_2 0_3")
    story.holds("a", 1, "0_0 0_1", state=STREAMS_UNREVOKED, pending="0_2 0_3")
    return story


def shares() -> Share:
    """Member a at epoch 1 with all four partitions."""
    story = Share().sampled(4)
    story.initialized(numbers("0 1 2 3"))
    story.member("a")
    story.epoch(1)
    story.target(1, {"a": numbers("0 1 2 3")})
    story.holds("a", 1, numbers("0 1 2 3"))
    return story


def shares_overtaken() -> Share:
    """The same of a share group."""
    story = shares()
    story.after().member("b")
    story.epoch(2)
    story.after(200).member("c")
    story.epoch(3)
    story.after(200).target(2, {"a": numbers("0 1"), "b": numbers("2 3")})
    return story


def published(story: Told) -> Sequence[object]:
    """Everything of the story, and of the ten seconds after it."""
    group = FoldedGroup(story.settings, GROUP, story.knowledge)
    group.fold(story.rows, story.now_ms)
    group.fold(now_ms=story.now_ms + 10_000)
    return group.results


@pytest.mark.parametrize("told", [consumers_overtaken, tasks_overtaken, shares_overtaken])
def test_a_target_of_an_epoch_that_has_passed_is_not_judged(told: Callable[[], Told]) -> None:
    """Who joined or left while it was computed is in the records before it, and was not in the assignor's input."""
    results = published(told())
    *_, verdict = [one.verdict for one in results if isinstance(one, Generation)]
    assert (verdict.grade, verdict.reason and verdict.reason.kind) == (Grade.NOT_JUDGED, "evidence_missing")
    assert not [one for one in results if isinstance(one, Incident)]


def consumers_left() -> Epochs:
    """The last member leaves, and the coordinator writes the epoch of a target that holds nothing."""
    story = alone()
    story.after().gone("a", epoch=2)
    story.target(2)
    return story


def tasks_left() -> StreamsGroupStory:
    """The same of a Streams group."""
    story = tasks()
    story.after().gone("a", epoch=2)
    story.target(2)
    return story


def shares_left() -> Share:
    """The same of a share group."""
    story = shares()
    story.after().gone("a", epoch=2)
    story.target(2, {})
    return story


@pytest.mark.parametrize("told", [consumers_left, tasks_left, shares_left])
def test_a_target_for_nobody_is_no_alarm(told: Callable[[], Told]) -> None:
    """Since 4.3 the epoch of the target follows that of the group when the last member leaves."""
    results = published(told())
    *_, last = [one for one in results if isinstance(one, Generation)]
    assert (last.generation, last.members) == (2, ())
    assert last.verdict.grade in (Grade.MATCH, Grade.NOT_JUDGED)
    assert not [one for one in results if isinstance(one, Incident)]
    assert [one.state for one in results if isinstance(one, Standing)][-1] == "Empty"
