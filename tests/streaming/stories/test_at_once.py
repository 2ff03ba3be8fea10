"""Why many groups rebalanced at once: only what all of them share, and hardly any other group has."""

from collections.abc import Iterator
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.records import Sampled
from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.stories.at_once import (
    LEAST_GROUPS,
    SPAN_MS,
    GroupMoment,
    GroupStanding,
    RebalancedAtOnce,
    Shared,
    SharedBy,
    event_object,
    found_at_once,
    ranges,
    shared_text,
    standing,
)
from rebalance_monitor.streaming.stories.rebalances import seen
from tests.streaming.stories.fleets import BEFORE_MS, SHARED_HOST, THEN_MS, fleet, generation

Object = dict[str, Any]
GROUPS = Path(__file__).parents[2] / "vectors" / "captures-groups"


def events(made: list[Generation]) -> list[Object]:
    """All that is said of the time after `BEFORE_MS`."""
    documents = [as_object(one) for one in made]
    newest = {one["group"]: one for one in sorted(documents, key=lambda one: one["at_ms"])}
    groups = [standing(one) for one in newest.values()]
    moments = [GroupMoment("k", one["group"], one["at_ms"]) for one in documents if one["at_ms"] >= THEN_MS]
    return [
        event_object(event)
        for _, from_ms, until_ms in ranges(moments)
        for event in found_at_once(documents, from_ms, until_ms, groups)
    ]


def test_groups_with_a_member_on_one_host() -> None:
    ((event),) = events(fleet(12, 30))
    assert event["groups"] == [f"group-{number:03}" for number in range(12)]
    assert (event["from_ms"], event["until_ms"], event["rebalances"]) == (THEN_MS, THEN_MS + 11 * 300, 12)
    assert [one["text"] for one in event["shared"]] == [
        "12 of 12 groups that rebalanced within 3.3 s: a member on host 10.0.3.4 came or went; 0 of the 30 other groups"
        " have one there"
    ]


def test_two_others_on_the_host_are_told() -> None:
    (event,) = events(fleet(12, 30, others_on_host=2))
    (shared,) = event["shared"]
    assert (shared["what"], shared["name"]) == ("host", SHARED_HOST)
    assert (shared["groups"], shared["others"], shared["others_have"]) == (12, 30, 2)


@pytest.mark.parametrize(
    "made",
    [
        fleet(2, 100),  # two groups are no event
        fleet(12, 0),  # there are no others to compare with
        fleet(3, 8),  # chance: 1 of 165, and seven facts were tried
        fleet(12, 30, others_on_host=4),  # not rare
        fleet(12, 30, apart_ms=SPAN_MS),  # not at once
        [*fleet(3, 100), generation("group-050", 2, THEN_MS + 450, {"x": "10.9.9.9"}, offset=999)],  # and another one
    ],
    ids=("two", "no others", "chance", "not rare", "not at once", "not all"),
)
def test_nothing_is_claimed(made: list[Generation]) -> None:
    assert events(made) == []


def test_three_of_many_are_an_event() -> None:
    (event,) = events(fleet(3, 100))
    assert len(event["groups"]) == LEAST_GROUPS


@pytest.mark.parametrize(("after_ms", "told"), [(THEN_MS - SPAN_MS, 1), (THEN_MS - SPAN_MS - 1, 0), (None, 0)])
def test_of_polled_groups_only_what_samples_date_well_enough(after_ms: int | None, told: int) -> None:
    made = [
        replace(one, at_ms=THEN_MS, sampled=Sampled(after_ms, THEN_MS)) if one.at_ms >= THEN_MS else one
        for one in fleet(12, 30)
    ]
    assert len(events(made)) == told


def test_groups_of_one_partition_of_the_log() -> None:
    made = []
    for number in range(120):
        group, partition, hosts = f"group-{number:03}", number % 50, {f"client-{number}-a": f"10.1.0.{number}"}
        made.append(generation(group, 1, BEFORE_MS, hosts, partition=partition, offset=number))
        if partition == 7:
            # the same members: nobody came or went, as when all of them joined again
            made.append(generation(group, 2, THEN_MS + number, hosts, partition=partition, offset=number + 500))
    (event,) = events(made)
    assert event["shared"][0]["text"] == (
        "3 of 3 groups that rebalanced within 100 ms: their records are in partition 7 of __consumer_offsets, so one"
        " broker coordinates them; 0 of the 117 other groups have theirs there"
    )


@pytest.mark.parametrize(
    ("then", "says"),
    [
        ((6, 6, 6), "; it was elected anew since the record before of all of them"),
        ((6, 5, 6), "; it was elected anew since the record before of 2 of them"),
        ((5, 5, 5), ""),
        ((None, None, None), ""),
    ],
)
def test_an_election_of_the_coordinator_is_told(then: tuple[int | None, ...], says: str) -> None:
    made = []
    for number in range(120):
        group, partition, hosts = f"group-{number:03}", number % 50, {f"client-{number}-a": f"10.1.0.{number}"}
        first = generation(group, 1, BEFORE_MS, hosts, partition=partition, offset=number)
        made.append(replace(first, partition_leader_epoch=5))
        if partition == 7:
            second = generation(group, 2, THEN_MS + number, hosts, partition=partition, offset=number + 500)
            made.append(replace(second, partition_leader_epoch=then[number // 50]))
    (event,) = events(made)
    (shared,) = event["shared"]
    assert shared["text"].endswith(f"0 of the 117 other groups have theirs there{says}")
    assert shared["elected_anew"] == sum(epoch == 6 for epoch in then)


@given(st.integers(3, 8), st.integers(0, 60), st.integers(0, 5_000), st.randoms(use_true_random=False))
def test_every_claim_holds_whatever_the_order(sharing: int, others: int, apart_ms: int, dice: Any) -> None:
    made = fleet(sharing, others, apart_ms=apart_ms)
    found = events(made)
    dice.shuffle(made)
    assert events(made) == found
    went = {one.group: one.at_ms for one in made if one.at_ms >= THEN_MS}
    for event in found:
        inside = {group for group, at_ms in went.items() if event["from_ms"] <= at_ms <= event["until_ms"]}
        assert set(event["groups"]) == inside
        assert len(inside) >= LEAST_GROUPS
        assert event["until_ms"] - event["from_ms"] <= SPAN_MS
        for shared in event["shared"]:
            assert (shared["groups"], shared["others"]) == (len(inside), sharing + others - len(inside))


@pytest.mark.parametrize("name", ["foreign-clients", "python-clients"])
def test_groups_that_a_lab_moves_by_chance_share_nothing(name: str) -> None:
    """All on one host, many with the client id of their library, on few partitions."""
    source = capture_of(str(GROUPS / name))
    assert source.at_once(0) == {"kind": "at_once", "since_ms": 0, "all": True, "events": []}


class CountedName(str):
    """A name that counts how often it is looked up."""

    looked_up = 0
    __eq__ = str.__eq__

    def __hash__(self) -> int:
        CountedName.looked_up += 1
        return super().__hash__()


def lookups(count: int) -> int:
    """What `ranges` does for so many rebalances within the span."""
    moments = [GroupMoment("k", CountedName(f"group-{number % 50}"), number) for number in range(count)]
    CountedName.looked_up = 0
    assert ranges(moments) == [("k", 0, count - 1)]
    return CountedName.looked_up


def test_twice_as_many_moments_are_twice_the_work() -> None:
    assert lookups(800) < 3 * lookups(400)


@given(st.lists(st.tuples(st.integers(0, 5 * SPAN_MS), st.sampled_from("abcd")), max_size=40))
def test_ranges_are_those_of_each_moment_s_span(told: list[tuple[int, str]]) -> None:
    expected: list[tuple[int, int]] = []
    for from_ms, _ in sorted(told):
        inside = [one for one in told if from_ms <= one[0] <= from_ms + SPAN_MS]
        if len({group for _, group in inside}) >= LEAST_GROUPS:
            until_ms = max(at_ms for at_ms, _ in inside)
            joined = bool(expected) and from_ms <= expected[-1][1]
            expected[-1:] = [(expected[-1][0], until_ms)] if joined else [*expected[-1:], (from_ms, until_ms)]
    found = ranges(GroupMoment("k", group, at_ms) for at_ms, group in told)
    assert found == [("k", *one) for one in reversed(expected)]


def test_no_other_group_is_looked_at_where_nothing_is_shared() -> None:
    """Who reads them from a database reads nothing then."""

    def unread() -> Iterator[GroupStanding]:
        raise AssertionError("the groups were read")
        yield  # a generator

    documents = [as_object(one) for one in fleet(12, 30, apart_ms=SPAN_MS)]
    assert found_at_once(documents, THEN_MS, THEN_MS + 12 * SPAN_MS, unread()) == []


def test_chance_is_computed_of_enough_groups_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these groups has a client id that no other has: only the host is a question, and its chance a ratio."""
    computed = []

    def counted(of: int, some: int) -> int:
        computed.append((of, some))
        return comb(of, some)

    monkeypatch.setattr("rebalance_monitor.streaming.stories.at_once.comb", counted)
    assert len(events(fleet(12, 40))) == 1
    assert computed == [(12, 12), (52, 12)]


def test_a_client_id_need_not_have_a_number() -> None:
    (rebalance,) = seen([as_object(fleet(1, 0)[0])])
    event = RebalancedAtOnce("c", (("g", rebalance),), ())
    text = shared_text(event, SharedBy(Shared("client_id", "kgo"), 3, 30, 0))
    assert "client id kgo, with a number behind it or without, came or went" in text
