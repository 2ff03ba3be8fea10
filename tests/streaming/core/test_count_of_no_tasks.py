"""A commit that names a number of tasks nobody ever configured: Kafka's workers pass over it, and so does the fold,
without counting to that number."""

import tracemalloc

import pytest

from rebalance_monitor.streaming.core.model.results import Grade
from tests.streaming.core.rules.builders import Story, generations, incidents

CLAIMED = 1_000_000
ALLOWED_BYTES = 16 << 20


def claimed_for_a_connector() -> Story:
    story = begun()
    story.config("commit-c1", {"tasks": CLAIMED}, {"c1": 0, "c2": 1})
    story.rebalance()
    story.rebalance()
    return story


def claimed_for_one_that_is_made_anew() -> Story:
    story = begun()
    story.delete("c1")
    story.rebalance()
    story.rebalance()
    story.config("commit-c1", {"tasks": CLAIMED}, {"c2": 1})
    story.config("connector-c1", {"properties": {"name": "c1"}}, {"c1": 0, "c2": 1})
    story.rebalance()
    story.rebalance()
    return story


def begun() -> Story:
    story = Story.begun({"c1": 2, "c2": 1}, "w1", "w2")
    return story


@pytest.mark.parametrize("story", [claimed_for_a_connector(), claimed_for_one_that_is_made_anew()])
def test_a_count_without_tasks_costs_nothing(story: Story) -> None:
    tracemalloc.start()
    try:
        results = story.fold()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {one.verdict.grade for one in generations(results)} == {Grade.MATCH}
    assert not [one for one in incidents(results) if one.code == "CONNECT-I4"]
    assert peak < ALLOWED_BYTES
