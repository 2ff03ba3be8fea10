"""A record of a group with targets costs what it changes: one of its many members, and not all of them."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.results import Aftermath
from tests.streaming.core.rules.builders import GROUP, Story, incidents
from tests.streaming.core.rules.epochs import UNRELEASED, UNREVOKED, Epochs
from tests.streaming.core.rules.share import Share, numbers
from tests.streaming.core.rules.streams_groups import StreamsGroupStory

TASKS = 5
"""Of each member of a Streams group."""


Told = tuple[Story, int]
"""A story, and how many of its records there are up to its last target."""


def consumers(size: int) -> Told:
    """Each member has had two partitions and gives one of them up, one member after the other."""
    names, story = [f"m{at}" for at in range(size)], Epochs(2 * size)
    for name in names:
        story.member(name)
    story.epoch(1)
    story.target(1, **{name: f"{2 * at} {2 * at + 1}" for at, name in enumerate(names)})
    for at, name in enumerate(names):
        story.holds(name, 1, f"{2 * at} {2 * at + 1}")
    story.after().epoch(2)
    story.target(2, **{name: f"{2 * at} {2 * at - 1 if at else 2 * size - 1}" for at, name in enumerate(names)})
    targeted = len(story.rows)
    for at, name in enumerate(names):
        story.after(10).holds(name, 1, f"{2 * at}", state=UNREVOKED, pending=f"{2 * at + 1}")
    for at, name in enumerate(names):
        story.after(10).holds(name, 2, f"{2 * at}", state=UNRELEASED)
    for at, name in enumerate(names):
        story.after(10).holds(name, 2, f"{2 * at} {2 * at - 1 if at else 2 * size - 1}")
    return story, targeted


def threads(size: int) -> Told:
    """Each member of a Streams group takes its tasks, one member after the other."""
    names, story = [f"m{at}" for at in range(size)], StreamsGroupStory().sampled(TASKS * size)
    given = {name: " ".join(f"0_{TASKS * at + each}" for each in range(TASKS)) for at, name in enumerate(names)}
    for name in names:
        story.thread(name)
    story.topology()
    story.epoch(1)
    story.target(1, **given)
    targeted = len(story.rows)
    for name in names:
        story.after(10).holds(name, 1, given[name])
    return story, targeted


def sharers(size: int) -> Told:
    """Each member of a share group takes its partition, one member after the other."""
    names, story = [f"m{at}" for at in range(size)], Share().sampled(size)
    for name in names:
        story.member(name)
    story.epoch(1)
    story.initialized({"a": range(size)})
    story.target(1, {name: numbers(str(at)) for at, name in enumerate(names)})
    targeted = len(story.rows)
    for at, name in enumerate(names):
        story.after(10).holds(name, 1, numbers(str(at)))
    return story, targeted


def calls(told: Told) -> int:
    """Python functions that the fold calls for the records behind the last target."""
    (story, targeted), counted = told, 0
    known = story.knowledge
    before = fold_group(
        story.settings, GROUP, None, story.rows[:targeted], None, knowledge=known, end_of_input=True
    ).state

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        outcome = fold_group(
            story.settings, GROUP, before, story.rows[targeted:], None, knowledge=known, end_of_input=True
        )
    finally:
        sys.setprofile(None)
    assert incidents(outcome.results) == []
    last_words = [one.epoch for one in outcome.results if isinstance(one, Aftermath)]
    assert [None if one is None else one.reached_ms for one in last_words] == [story.now_ms]
    return counted


@pytest.mark.parametrize("story_of", [consumers, threads, sharers])
def test_the_work_grows_with_the_records_and_not_with_records_times_members(story_of: Callable[[int], Told]) -> None:
    few, many = calls(story_of(50)), calls(story_of(200))
    assert many < 5 * few
