"""Predictions against what real Connect clusters then did: every place of the captures where members left or joined, or
a connector was scaled, is predicted from the documents before it and compared with the records after it.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.whatif.change import Change, Concerned
from rebalance_monitor.streaming.stories.whatif.connect import predict
from rebalance_monitor.streaming.stories.whatif.connect_past import configured
from rebalance_monitor.streaming.stories.holdings import held, share_names
from rebalance_monitor.streaming.stories.whatif.outcome import Course, ToCome

CAPTURES = Path(__file__).parents[3] / "vectors" / "captures"
Document = dict[str, Any]
EXPECTED = {}


def lives(capture: Path) -> Iterator[list[Document]]:
    """The generations of each life of each Connect group, the oldest first."""
    source = capture_of(str(capture))
    for key in source.names():
        by_life: dict[int, list[Document]] = {}
        for one in source.generations(key):
            if one["protocol_type"] == "connect":
                by_life.setdefault(one["incarnation"], []).insert(0, one)
        yield from by_life.values()


def ids(generation: Document) -> set[str]:
    return {one["member_id"] for one in generation["members"]}


def workers(generation: Document) -> dict[str, str]:
    return {one["member_id"]: one["worker"] for one in generation["members"]}


def change_between(before: Document, after: Document) -> tuple[str, Change] | None:
    """What happened, where only that happened."""
    gone, came = ids(before) - ids(after), ids(after) - ids(before)
    old, new = configured(before), configured(after)
    if gone and came or after["generation"] != before["generation"] + 1:
        return None
    if gone or came:
        if old != new:
            return None
        called = workers(before)
        change = Change(leave=tuple(sorted(called[one] for one in gone)), join=len(came))
        return ("leave" if gone else "join"), change
    changed = {name: count for name, count in new.items() if old.get(name) != count}
    if len(changed) == 1 and set(old) == set(new):
        return "scale", Change(scale=changed)
    return None


def told_by(generation: Document, before: Document) -> dict[str, Any]:
    """A record as a prediction tells it."""
    names = workers(generation)
    if generation["protocol"] == "default":
        had = {one["worker"]: held(one) for one in before["members"]}
        has = {one["worker"]: held(one) for one in generation["members"]}
        gets = {name: own - had.get(name, set()) for name, own in has.items()}
        up = {name: had.get(name, set()) - own for name, own in has.items()}
    else:
        gets, up = (
            {names[one["member_id"]]: _shown(one[share]) for one in generation["members"]}
            for share in ("assigned", "revoked")
        )
    return {
        "gets": {name: own for name, own in gets.items() if own},
        "gives_up": {name: own for name, own in up.items() if own},
        "waits": bool(generation["delay_ms"]),
    }


def _shown(share: Document) -> set[str]:
    return {f"{name} (connector)" for name in share["connectors"]} | {f"{name}-{number}" for name, number in share["tasks"]}


def predicted(one: ToCome, names: dict[str, str]) -> dict[str, Any]:
    return {
        "gets": {names.get(name, name): set(own) for name, own in one.gets.items()},
        "gives_up": {names.get(name, name): set(own) for name, own in one.gives_up.items()},
        "waits": bool(one.delay_ms),
    }


def came_true(course: Course, generations: list[Document], place: int, names: dict[str, str]) -> int:
    """How many of its rebalances the records show; 0 where the first that should be there is another one."""
    right = 0
    for step, one in enumerate(course.to_come):
        now, before = generations[place + step], generations[place + step - 1]
        if predicted(one, names) != told_by(now, before):
            return 0
        right += 1
        nexts = generations[place + step + 1 : place + step + 2]
        if not nexts or ids(nexts[0]) != ids(now) or configured(nexts[0]) != configured(now):
            break
    return right


def places(capture: Path) -> Iterator[tuple[str, bool, int, int]]:
    """Each place: what happened, whether one course alone was predicted, rebalances that came true."""
    for generations in lives(capture):
        for place in range(1, len(generations)):
            before, after = generations[place - 1], generations[place]
            found = change_between(before, after)
            if found is None or before["verdict"]["grade"] != "match":
                continue
            kind, change = found
            came = sorted(ids(after) - ids(before))
            named = {one: f"new member {number + 1}" for number, one in enumerate(came)}
            names = {name: workers(after)[one] for one, name in named.items()}

            def as_they_came(_: Change, __: Concerned, ___: Document, named=named) -> Iterator[Any]:
                yield named, {}

            told = predict(change, generations[place - 1 :: -1] , after["state_ms"], as_they_came)
            right = [came_true(course, generations, place, names) for course in told.courses]
            if not max(right): print(capture.name, before["group"], after["generation"], change, [c.to_come[0] for c in told.courses][:2], told_by(after,before), told.unknown)
            yield kind, len(told.courses) == 1, max(right), len(told.courses)


@pytest.mark.parametrize("capture", ["compatible-2.8.2", "eager-2.8.2", "sessioned-4.3.1", "steady", "zombie"])
def test_predictions_come_true(capture: str) -> None:
    counts: Counter[str] = Counter()
    for kind, alone, right, _ in places(CAPTURES / capture):
        counts[kind] += 1
        counts["rebalances"] += right
        counts["wrong"] += not right
        counts["several courses"] += not alone
    print(capture, dict(counts))
