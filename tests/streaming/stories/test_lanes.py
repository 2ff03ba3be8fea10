"""Lanes: what each member was given, from when until when; laws that hold of every history."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.model.details import GroupEmptied
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import ConnectShare, Sampled
from rebalance_monitor.streaming.stories.lanes import GroupLanes, LaneBar, group_lanes
from rebalance_monitor.streaming.stories.short_names import short_names
from tests.streaming import builders

Object = dict[str, Any]
Held = dict[int, set[int]]


def generation(number: int, at_ms: int, tasks: Held, offset: int | None = None, **more: Any) -> Object:
    """Workers w<number> with these tasks of the connector a."""
    members = tuple(
        replace(
            builders.member(one),
            assigned=ConnectShare((), tuple(("a", task) for task in sorted(some))),
            owned=ConnectShare(),
        )
        for one, some in tasks.items()
    )
    found = builders.generation(
        offset=number if offset is None else offset, generation=number, at_ms=at_ms, members=members, **more
    )
    return as_object(found)


def told(lanes: GroupLanes) -> dict[str, list[tuple[int, int, str, bool]]]:
    """Bars as (from, until, names, sure) by worker; those of nobody under ""."""
    shown = {one.name: one.bars for one in lanes.lanes} | ({"": lanes.nobody} if lanes.nobody else {})
    return {
        name: [(one.from_ms, one.until_ms, " ".join(sorted(one.names or ("?",))), one.sure) for one in bars]
        for name, bars in shown.items()
    }


def test_what_stays_as_it_was_is_one_bar_and_what_waits_is_nobodys() -> None:
    some = [
        generation(1, 100, {1: {0, 1}, 2: {2}}),
        generation(2, 200, {1: {0, 1}}),
        generation(3, 300, {1: {0, 1, 2}}),
    ]
    assert told(group_lanes(some, 400)) == {
        "w1:8083": [(100, 300, "a-0 a-1", True), (300, 400, "a-0 a-1 a-2", True)],
        "w2:8083": [(100, 200, "a-2", True)],
        "": [(200, 300, "a-2", True)],
    }
    assert [one.at_ms for one in group_lanes(some, 400).marks] == [100, 200, 300]


def test_what_is_not_held_again_may_have_been_deleted() -> None:
    some = [generation(1, 100, {1: {0, 1}}), generation(2, 200, {1: {0}})]
    assert "" not in told(group_lanes(some, 300))
    waits = [some[0], generation(2, 200, {1: {0}}, unassigned=("a-1",))]
    assert told(group_lanes(waits, 300))[""] == [(200, 300, "a-1", True)]


def test_a_connector_that_waits_has_the_name_that_it_has_when_held() -> None:
    some = [generation(1, 100, {1: set()}, unassigned=("a", "a-0"))]
    assert told(group_lanes(some, 200))[""] == [(100, 200, "a (connector) a-0", True)]


def test_behind_a_skipped_generation_nobody_knows_until_when_it_lasted() -> None:
    some = [generation(1, 100, {1: {0}}), generation(3, 300, {1: {0}})]
    assert told(group_lanes(some, 400)) == {"w1:8083": [(100, 300, "a-0", False), (300, 400, "a-0", True)]}
    again = [generation(9, 100, {1: {0}}), generation(1, 300, {1: {0}}, offset=10, incarnation=1)]
    assert told(group_lanes(again, 400))["w1:8083"][0] == (100, 300, "a-0", False)


def test_of_a_polled_group_it_is_known_until_it_was_seen_last() -> None:
    some = [generation(1, 100, {1: {0}}), generation(2, 300, {1: {1}}, sampled=Sampled(250, 300))]
    assert told(group_lanes(some, 400))["w1:8083"][:2] == [(100, 250, "a-0", True), (250, 300, "a-0", False)]


def test_a_group_without_members_holds_nothing() -> None:
    some = [generation(1, 100, {1: {0}})]
    assert told(group_lanes(some, 400, ended_ms=200)) == {
        "w1:8083": [(100, 200, "a-0", True)],
        "": [(200, 400, "a-0", True)],
    }


def test_a_group_that_had_no_members_in_between_held_nothing() -> None:
    first, back = generation(1, 100, {1: {0}}), generation(3, 300, {1: {0}}, emptied=GroupEmptied(200))
    assert told(group_lanes([first, back], 400)) == {
        "w1:8083": [(100, 200, "a-0", True), (300, 400, "a-0", True)],
        "": [(200, 300, "a-0", True)],
    }
    later = generation(4, 300, {1: {0}}, emptied=GroupEmptied(200))
    assert told(group_lanes([first, later], 400)) == {
        "w1:8083": [(100, 200, "a-0", False), (300, 400, "a-0", True)],
        "": [(200, 300, "a-0", False)],
    }
    unread = generation(9, 300, {1: {0}}, incarnation=1, emptied=GroupEmptied(None))
    assert told(group_lanes([first, unread], 400))["w1:8083"][0] == (100, 300, "a-0", False)


def test_what_could_not_be_read_is_not_nothing() -> None:
    unread = generation(2, 200, {1: {0}, 2: {1}})
    unread["members"][1]["assigned"] = None
    some = [generation(1, 100, {1: {0}, 2: {1}}), unread, generation(3, 300, {1: {0}, 2: {1}})]
    found = told(group_lanes(some, 400))
    assert found["w2:8083"][1] == (200, 300, "?", True)
    assert "" not in found


HISTORIES = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.dictionaries(st.integers(1, 4), st.sets(st.integers(0, 5))),
        st.booleans(),
        st.sets(st.integers(0, 5)),
    ),
    min_size=1,
    max_size=8,
)


def _history(some: list[tuple[int, Held, bool, set[int]]]) -> list[Object]:
    found, number, at_ms = [], 1, 1_000
    for step, tasks, skipped, unassigned in some:
        number, at_ms = number + (2 if skipped else 1), at_ms + step
        free = tuple(f"a-{task}" for task in sorted(unassigned - set().union(*tasks.values())))
        found.append(generation(number, at_ms, tasks, unassigned=free))
    return found


def _at(bars: tuple[LaneBar, ...], ms: int) -> list[LaneBar]:
    return [one for one in bars if one.from_ms <= ms < one.until_ms]


@settings(max_examples=50)
@given(HISTORIES, st.integers(0, 60), st.none() | st.integers(1_000, 1_500))
def test_every_task_is_in_one_bar_at_a_time_unless_doubled_and_its_whole_time_is_covered(
    some: list[tuple[int, Held, bool, set[int]]], more: int, ended_ms: int | None
) -> None:
    documents = _history(some)
    lanes = group_lanes(reversed(documents), documents[-1]["at_ms"] + more, ended_ms)
    seen: dict[str, list[int]] = {}
    for ms in range(lanes.from_ms, lanes.until_ms):
        holders: dict[str, int] = {}
        twice: set[str] = set()
        for lane in lanes.lanes:
            here = _at(lane.bars, ms)
            assert len(here) <= 1, "bars of one member overlap"
            for bar in here:
                twice |= bar.twice
                for name in bar.names or ():
                    holders[name] = holders.get(name, 0) + 1
        waiting = [bar for bar in _at(lanes.nobody, ms)]
        assert len(waiting) <= 1
        nobodys = {name for bar in waiting for name in bar.names or ()}
        assert {name for name, count in holders.items() if count > 1} == twice
        assert not nobodys & holders.keys()
        for name in {*holders, *nobodys}:
            seen.setdefault(name, []).append(ms)
    for name, moments in seen.items():
        assert moments == [*range(moments[0], moments[-1] + 1)], f"{name} is lost in between"


@settings(max_examples=50)
@given(HISTORIES, st.integers(990, 1_400), st.integers(1, 200))
def test_a_window_shows_what_the_whole_shows_there(
    some: list[tuple[int, Held, bool, set[int]]], from_ms: int, width: int
) -> None:
    documents = _history(some)
    whole = group_lanes(documents, documents[-1]["at_ms"] + 10)
    part = whole.within(from_ms, from_ms + width)
    for ms in range(from_ms, from_ms + width):
        for name in {one.name for one in (*whole.lanes, *part.lanes)}:
            before, after = (
                [
                    (one.names, one.twice, one.sure)
                    for lane in lanes.lanes
                    if lane.name == name
                    for one in _at(lane.bars, ms)
                ]
                for lanes in (whole, part)
            )
            assert before == after
        assert [one.names for one in _at(whole.nobody, ms)] == [one.names for one in _at(part.nobody, ms)]
    assert [one for one in whole.marks if from_ms <= one.at_ms < from_ms + width] == [*part.marks]


def test_names_are_shortened_to_what_tells_them_apart() -> None:
    uuid = "0b9f54a2-6ac1-41d6-b5b9-7a1d27f4a5c1"
    other = "1c9f54a2-6ac1-41d6-b5b9-7a1d27f4a5c1"
    assert [*short_names([f"payments-1-{uuid}", f"payments-2-{other}"]).values()] == ["1", "2"]
    assert [*short_names([f"orders-{uuid}", f"orders-{other}"]).values()] == ["0b9f54", "1c9f54"]
    assert [*short_names([f"orders-{uuid}"]).values()] == ["orders"]
    assert [*short_names(["connect-a.pods:8083", "connect-b.pods:8083"]).values()] == ["a", "b"]
    assert [*short_names(["0pXk8euUTpiF9pp6EMq3lw", "9loXt0ZUQo-wQH7eeKhFhg"]).values()] == ["0pXk8e…", "9loXt0…"]
    assert short_names(["w1:8083", "w2:8083"]) == {"w1:8083": "w1:8083", "w2:8083": "w2:8083"}


@given(st.sets(st.text("ab-.:19", max_size=12) | st.uuids().map(lambda one: f"a-{one}"), max_size=6))
def test_no_two_ids_have_the_same_short_name(ids: set[str]) -> None:
    found = short_names(ids)
    assert found.keys() == ids
    assert len({*found.values()}) == len(ids)
