"""What a generation cost each connector: all of it together is what it cost, and names do not mislead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.costs import CostQuestion, answer_of_objects, entry_of
from rebalance_monitor.streaming.core.fold.published import diff_of
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Change
from rebalance_monitor.streaming.core.replay import replay
from tests.streaming.core.rules.builders import Story, generations
from tests.vector_files import CAPTURES

NAMES = st.lists(st.sampled_from(["a", "a-0", "b"]), max_size=4).map(tuple)


@pytest.mark.parametrize("name", ["compatible-2.8.2", "eager-2.8.2", "sessioned-4.3.1", "steady", "zombie"])
def test_connectors_cost_together_what_each_generation_did(name: str) -> None:
    path = CAPTURES / name
    found = [one for one in replay(records_of(path), settings_of(path)).objects if one["kind"] == "generation"]
    for one in found:
        split, sums = one.get("by_connector", {}), one["downtime"]
        gained = sum(len(change["gained"]) for change in one["diff"].values())
        assert sum(each.get("moved", 0) for each in split.values()) == gained
        assert sum(each.get("idle_ms", 0) for each in split.values()) == sum(one["idle_ms"].values())
        assert [sum(each.get("by_connector", {}).values()) for each in sums] == [each["total_ms"] for each in sums]
        assert all(each.values() for each in split.values()), "of those alone that gained or waited"
    assert sum("by_connector" in one for one in found) >= 3
    interrupted = [each for one in found for each in one["downtime"] if each["total_ms"]]
    assert bool(interrupted) == (name != "steady")


def costs_by_connector(story: Story) -> dict[str, tuple[int, int]]:
    told = [(entry_of(as_object(one), "c", "g"), as_object(one)) for one in generations(story.fold())]
    lines = answer_of_objects(told, (), CostQuestion(by=("connector",)), lambda *_: "")["lines"]
    return {line["connector"]: (line["moved"], line["unassigned_ms"]) for line in lines}


def test_a_connector_that_is_called_like_a_task_of_another_one_has_its_own_costs() -> None:
    story = Story.begun({"a": 2, "a-0": 1}, "w1")
    for one in ("a", "a-0", "a-1", "a-0-0"):
        story.status(one, "RUNNING", "w1")
    story.until(600_000)
    (first,) = generations(story.fold())
    assert first.diff == {"w1:8083": Change(gained=("a", "a-0", "a-0", "a-0-0", "a-1"))}, "five things, four names"
    assert costs_by_connector(story) == {"a": (3, 0), "a-0": (2, 0)}


@given(NAMES, NAMES)
def test_two_things_of_one_name_are_two_in_what_changed(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    change = diff_of({"w": before}, {"w": after}).get("w", Change())
    assert sorted((*before, *change.gained)) == sorted((*after, *change.lost))
    assert not {*change.gained} & {*change.lost}
