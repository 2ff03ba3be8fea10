"""Predictions against what real Connect clusters then did: at every place of the captures where members left, joined or
bounced, or a connector was scaled, the documents before it predict, and the records after it tell.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.stories.holdings import CONNECTOR, held
from rebalance_monitor.streaming.stories.whatif.change import GroupChange, Ids
from rebalance_monitor.streaming.stories.whatif.connect import predict
from rebalance_monitor.streaming.stories.whatif.connect_past import configured, shown_max_delay_ms
from rebalance_monitor.streaming.stories.whatif.outcome import Course, ToCome
from rebalance_monitor.streaming.stories.whatif.prediction import predicted

CAPTURES = Path(__file__).parents[3] / "vectors" / "captures"
SLACK_MS = 1_500
"""So far a delay that goes on may be from the predicted one: the coordinator's clock and the leader's are two."""
MAX_DELAY_MS = {"compatible-2.8.2": 7_000, "sessioned-4.3.1": 8_000, "zombie": 9_000}
"""`scheduled.rebalance.max.delay.ms` of the workers, said where nothing has shown it yet."""
BACK = "came back with its tasks"
PLACES = {
    "compatible-2.8.2": {"join": 4, "leave": 3, "scale": 5, "bounce": 1},
    "eager-2.8.2": {"join": 7, "leave": 4, "scale": 6, "bounce": 4},
    "sessioned-4.3.1": {"join": 4, "leave": 3, "scale": 9, "bounce": 2},
    "steady": {"scale": 1},
    "zombie": {"join": 1, "leave": 4, "scale": 3, BACK: 5},
}
"""How many places of each kind there are. A worker that comes back with what it had is no new process."""
Document = dict[str, Any]
IdPairs = tuple[dict[str, str], dict[str, str]]


@cache
def lives(capture: str) -> list[list[Document]]:
    """The generations of each life of each Connect group, the oldest first."""
    source = capture_of(str(CAPTURES / capture))
    by_life: dict[tuple[str, int], list[Document]] = {}
    for key in source.names():
        for one in source.generations(key):
            by_life.setdefault((key[1], one["incarnation"]), []).insert(0, one)
    return list(by_life.values())


def workers(generation: Document) -> dict[str, str]:
    return {one["member_id"]: one["worker"] for one in generation["members"]}


def gone_and_come(before: Document, after: Document) -> tuple[list[str], list[str]]:
    old, new = workers(before).keys(), workers(after).keys()
    return sorted(old - new), sorted(new - old)


def told_by(generation: Document, before: Document) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Who gets and who gives up what in a record."""
    names = workers(generation)
    if generation["protocol"] == EAGER:
        had = {one["worker"]: held(one) for one in before["members"]}
        has = {one["worker"]: held(one) for one in generation["members"]}
        gets = {name: own - had.get(name, set()) for name, own in has.items()}
        up = {name: had.get(name, set()) - own for name, own in has.items()}
    else:
        gets, up = (
            {names[one["member_id"]]: _shown(one[share]) for one in generation["members"]}
            for share in ("assigned", "revoked")
        )
    return {name: own for name, own in gets.items() if own}, {name: own for name, own in up.items() if own}


def _shown(share: Document) -> set[str]:
    return {f"{name}{CONNECTOR}" for name in share["connectors"]} | {
        f"{one}-{number}" for one, number in share["tasks"]
    }


def same(one: ToCome, now: Document, before: Document, names: dict[str, str]) -> bool:
    gets, gives_up = (
        {names.get(name, name): set(own) for name, own in share.items()} for share in (one.gets, one.gives_up)
    )
    delay_ms = now["delay_ms"] or 0
    waits = bool(one.delay_ms) == bool(delay_ms) and abs(one.delay_ms - delay_ms) < SLACK_MS
    return (gets, gives_up) == told_by(now, before) and waits


def came_true(course: Course, generations: list[Document], place: int, names: dict[str, str]) -> int:
    """How many of its rebalances the records show, until something else happened; 0 where one of them is another."""
    sizes = {len(course.holds), len(generations[place]["members"])}
    for step, one in enumerate(course.to_come):
        now, before = generations[place + step], generations[place + step - 1]
        if not same(one, now, before, names):
            return 0
        later = generations[place + step + 1 : place + step + 2]
        if not later or len(later[0]["members"]) not in sizes or configured(later[0]) != configured(now):
            return step + 1
    return len(course.to_come)


def places(capture: str) -> Iterator[tuple[str, int, int]]:
    """What happened at each place, how many courses were predicted, and how many rebalances came true."""
    for generations in lives(capture):
        for place, (before, after) in enumerate(pairwise(generations), start=1):
            if after["generation"] != before["generation"] + 1 or before["verdict"]["grade"] != "match":
                continue
            for kind, change, ids in changes(generations, place):
                known = generations[place - 1 :: -1]
                if shown_max_delay_ms(known) is None:
                    change = replace(change, max_delay_ms=MAX_DELAY_MS.get(capture))
                told = predict(change, known, after["state_ms"], _these(ids))
                called = {new: workers(after)[one] for one, new in ids[0].items()}
                yield kind, len(told.courses), max(came_true(one, generations, place, called) for one in told.courses)


def changes(generations: list[Document], place: int) -> Iterator[tuple[str, GroupChange, IdPairs]]:
    """What happened before this generation, where nothing else did, with the ids of who came."""
    before, after = generations[place - 1], generations[place]
    gone, come = gone_and_come(before, after)
    old, new = configured(before), configured(after)
    changed = {name: count for name, count in new.items() if old.get(name) != count}
    if len(changed) == 1 and old.keys() == new.keys() and not gone and not come:
        yield "scale", GroupChange(scale=changed), ({}, {})
    if changed or bool(gone) == bool(come):
        return
    if come:
        joining = {one: f"new member {number}" for number, one in enumerate(come, start=1)}
        yield BACK if _with_jobs(after, come) else "join", GroupChange(join=len(come)), (joining, {})
        return
    named = tuple(workers(before)[one] for one in gone)
    yield "leave", GroupChange(leave=named), ({}, {})
    back = _back(generations, place, gone)
    if back:
        away_ms = generations[place + 1]["state_ms"] - after["state_ms"]
        yield "bounce", GroupChange(bounce=named, away_ms=away_ms), ({}, {gone[0]: back})


def _with_jobs(generation: Document, ids: list[str]) -> bool:
    owned = [one["owned"] for one in generation["members"] if one["member_id"] in ids]
    return any(share["connectors"] or share["tasks"] for share in owned)


def _back(generations: list[Document], place: int, gone: list[str]) -> str:
    """The id under which a new process of the one worker that is gone comes in the next generation; "" if none does."""
    for before, after in pairwise(generations[place : place + 2]):
        lost, come = gone_and_come(before, after)
        worker = workers(generations[place - 1])[gone[0]]
        if (
            not lost
            and len(come) == len(gone) == 1
            and workers(after)[come[0]] == worker
            and not _with_jobs(after, come)
        ):
            return come[0]
    return ""


def _these(ids: IdPairs) -> Ids:
    return lambda *_: [ids]


@pytest.mark.parametrize("capture", PLACES)
def test_what_is_predicted_happens(capture: str) -> None:
    found = list(places(capture))
    assert Counter(kind for kind, _, _ in found) == PLACES[capture]
    predicted = [(courses, right) for kind, courses, right in found if kind != BACK]
    assert all(right for _, right in predicted)
    assert all(courses == 1 for courses, _ in predicted)
    print(f"{capture}: {len(predicted)} places, {sum(right for _, right in predicted)} rebalances came true")


@pytest.mark.parametrize("capture", ["compatible-2.8.2", "eager-2.8.2", "sessioned-4.3.1"])
def test_the_ids_that_are_tried_tell_how_many_everybody_has(capture: str) -> None:
    """Who joined really had an id that was not tried: what it and the others came to have is in the ranges."""
    looked_at = 0
    for generations in lives(capture):
        for place in range(1, len(generations)):
            for kind, change, ids in changes(generations, place):
                if kind != "join":
                    continue
                told = predict(change, generations[place - 1 :: -1], generations[place]["state_ms"])
                last = place + len(told.courses[0].to_come) - 1
                if last >= len(generations) or workers(generations[last]) != workers(generations[place]):
                    continue
                looked_at += 1
                new = sorted(ids[0])
                for member in generations[last]["members"]:
                    name = member["worker"] if member["member_id"] not in new else "new member 1"
                    sizes = [len(course.holds[name]) for course in told.courses]
                    assert min(sizes) <= len(held(member)) <= max(sizes)
    assert looked_at >= 3


def test_of_a_group_whose_state_is_not_known_members_are_presumed() -> None:
    """As of a running monitor that is asked about the past: all of them may have been gone by then."""
    known = capture_of(str(CAPTURES / "zombie"), 1_795_177_720_000).known(("zombie", "zombies"))
    change = GroupChange(join=1)
    assert not any("is not known" in one for one in predicted(change, known).presumed)
    asked = replace(known, group={**known.group, "status": ""})
    assert any("state of the group is not known" in one for one in predicted(change, asked).presumed)
