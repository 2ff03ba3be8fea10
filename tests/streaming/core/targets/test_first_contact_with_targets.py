"""A group that is first seen when one of its members joins: nothing tells that the others are there.

A member that is given what nobody had, or nothing, changes no other's target, so the coordinator writes of it alone.
"""

from collections.abc import Callable, Sequence

import pytest

from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Standing
from tests.streaming.core.rules.builders import GROUP
from tests.streaming.core.rules.epochs import Epochs
from tests.streaming.core.rules.share import Share, numbers
from tests.streaming.core.rules.streams_groups import StreamsGroupStory
from tests.streaming.folded_group import FoldedGroup

Told = Epochs | Share
HOUR_MS = 3_600_000


def published(story: Told) -> Sequence[object]:
    """Everything of the story, and of the hour after it."""
    group = FoldedGroup(story.settings, GROUP, story.knowledge)
    group.fold(story.rows, story.now_ms)
    group.fold(now_ms=story.now_ms + HOUR_MS)
    return group.results


def grades(story: Told) -> list[Grade]:
    return [one.verdict.grade for one in published(story) if isinstance(one, Generation)]


def consumers(epoch: int, listed: str, *, partitions: int = 4, dated: bool = False) -> Epochs:
    """Member b joins, and has this."""
    story = Epochs(partitions)
    story.member("b")
    story.epoch(epoch)
    if dated:
        story.target_of("b", listed)
        story.write(6, {"assignmentEpoch": epoch, "assignmentTimestamp": story.now_ms})
    else:
        story.target(epoch, b=listed)
    story.holds("b", epoch, listed)
    return story


def with_pattern() -> Epochs:
    """Member b joins with a pattern; which topics fit it is written down later, or was before."""
    story = Epochs(4)
    story.member("b", pattern="[ab]")
    story.epoch(20)
    story.target(20, b="")
    story.holds("b", 20, "")
    return story


def with_the_other(story: Epochs) -> Epochs:
    """Member a, which had the other partitions, joins again in the classic protocol; c joins."""
    story.after().member("a", classic=True)
    story.after().member("c")
    story.epoch(21)
    story.target(21, a="0", c="1")
    story.holds("c", 21, "")
    return story


def threads(epoch: int, listed: str, *, dated: bool = False) -> StreamsGroupStory:
    """The same of a Streams group; the topology was written again."""
    story = StreamsGroupStory(4)
    story.thread("b")
    story.topology()
    story.epoch(epoch)
    if dated:
        story.given("b", listed)
        story.write(20, {"assignmentEpoch": epoch, "assignmentTimestamp": story.now_ms})
    else:
        story.target(epoch, b=listed)
    story.holds("b", epoch, listed)
    return story


def shares(epoch: int, listed: str, *, dated: bool = False) -> Share:
    """The same of a share group, with its share state."""
    story = Share().sampled(4)
    story.initialized(numbers("0 1 2 3"))
    story.member("b")
    story.epoch(epoch)
    story.target(epoch, {"b": numbers(listed)}, at_ms=story.now_ms if dated else 0)
    story.holds("b", epoch, numbers(listed))
    return story


@pytest.mark.parametrize(
    "story",
    [
        lambda: consumers(20, "2 3"),
        lambda: consumers(20, ""),
        with_pattern,
        lambda: consumers(2, "", partitions=1),
        lambda: consumers(2, "2 3"),
        lambda: threads(20, "0_2 0_3"),
        lambda: threads(20, ""),
        lambda: shares(20, "2 3"),
        lambda: shares(20, ""),
        lambda: shares(2, ""),
    ],
)
def test_a_member_that_joined_others_accuses_nobody(story: Callable[[], Told]) -> None:
    told = story()
    results = published(told)
    assert {one.verdict.grade for one in results if isinstance(one, Generation)} == {Grade.NOT_JUDGED}
    assert not [one for one in results if isinstance(one, Incident)]
    assert [one.state for one in results if isinstance(one, Standing)][-1] == "Unknown"


def test_what_the_assignor_gives_from_what_was_read_is_explained() -> None:
    """Nobody knows what a had before; with nothing, the assignor gives this target. So it does if a had 0 and 1."""
    story = with_the_other(consumers(20, "2 3"))
    assert grades(story) == [Grade.NOT_JUDGED, Grade.EXPLAINABLE]
    assert not [one for one in published(story) if isinstance(one, Incident)]


def test_who_reads_other_topics_accuses_nobody_either() -> None:
    """b has all of the topic that it reads, so nothing is left out; c had others before, and subscribes anew."""
    story = consumers(20, "0 1 2 3")
    story.after().holds("c", 20, "4 5")
    story.after().member("c")
    story.epoch(21)
    story.target(21, b="0 1", c="2 3")
    story.holds("b", 21, "0 1")
    story.holds("c", 21, "2 3")
    results = published(story)
    assert grades(story) == [Grade.EXPLAINABLE, Grade.NOT_JUDGED]
    assert not [one for one in results if isinstance(one, Incident)]


def test_a_thread_of_which_no_target_is_known_accuses_nobody() -> None:
    story = threads(20, "0_0 0_1 0_2 0_3")
    story.after().holds("c", 20, "1_0")
    assert not [one for one in published(story) if isinstance(one, Incident)]


def test_a_share_member_of_which_no_target_is_known_accuses_nobody() -> None:
    story = shares(20, "0 1 2 3")
    story.after().holds("c", 20, numbers("0 1"))
    assert not [one for one in published(story) if isinstance(one, Incident)]


def test_who_has_all_partitions_has_no_others_beside_it_that_matter() -> None:
    story = consumers(20, "0 1 2 3")
    story.after().member("c")
    story.epoch(21)
    story.target(21, b="0 1 2", c="3")
    assert grades(story) == [Grade.EXPLAINABLE, Grade.UNEXPLAINED]


@pytest.mark.parametrize("dated", [True, False])
@pytest.mark.parametrize(("wrong", "grade"), [(False, Grade.MATCH), (True, Grade.UNEXPLAINED)])
def test_the_first_epoch_of_a_new_group_tells_by_itself(*, dated: bool, wrong: bool, grade: Grade) -> None:
    """Epoch 2 where targets are dated (4.3), else epoch 1."""
    first, listed = (2 if dated else 1), "0 1 2" if wrong else "0 1 2 3"
    assert grades(consumers(first, listed, dated=dated)) == [grade]
    assert grades(shares(first, listed, dated=dated)) == [grade]
    tasks = "0_0 0_1 0_2" if wrong else "0_0 0_1 0_2 0_3"
    assert grades(threads(first, tasks, dated=dated)) == [grade]
