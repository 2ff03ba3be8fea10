"""Predictions against what real consumer groups then did: every place of the captures where members left or joined, and
nothing that no document shows happened beside it.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.stories.holdings import share_names
from rebalance_monitor.streaming.stories.known import names_of
from rebalance_monitor.streaming.stories.whatif.change import CannotPredict, GroupChange, Ids
from rebalance_monitor.streaming.stories.whatif.consumer import predict
from rebalance_monitor.streaming.stories.whatif.outcome import Course

CAPTURES = Path(__file__).parents[3] / "vectors" / "captures-groups"
CAME_TRUE, NOT_PREDICTED = "came true", "not predicted"
JOIN, LEAVE, BOTH = "members joined", "members left", "both"
PLACES = {
    "java-classic": {
        ("cooperative-sticky", CAME_TRUE): 53,
        ("range", CAME_TRUE): 12,
        ("roundrobin", CAME_TRUE): 7,
        ("sticky", CAME_TRUE): 10,
    },
    "python-clients": {
        ("range", CAME_TRUE): 13,
        ("range", NOT_PREDICTED): 1,
        ("roundrobin", CAME_TRUE): 4,
        ("roundrobin", NOT_PREDICTED): 1,
    },
    "foreign-clients": {
        ("cooperative-sticky", CAME_TRUE): 7,
        ("cooperative-sticky", NOT_PREDICTED): 3,
        ("range", CAME_TRUE): 2,
        ("roundrobin", CAME_TRUE): 21,
        ("roundrobin", NOT_PREDICTED): 3,
        ("sticky", NOT_PREDICTED): 1,
    },
}
"""Places where the prediction came true, and where none is made, by assignor."""
CHANGES = {
    "java-classic": {JOIN: 37, LEAVE: 40, BOTH: 5},
    "python-clients": {JOIN: 9, LEAVE: 8},
    "foreign-clients": {JOIN: 14, LEAVE: 11, BOTH: 5},
}
"""What members did at the places where the prediction came true."""
Document = dict[str, Any]
Subscriptions = dict[tuple[Any, ...], dict[str, tuple[frozenset[str], str | None]]]


def subscriptions_of(capture: Path) -> Subscriptions:
    """Topics and rack of every member, by record: no document tells them."""
    found: Subscriptions = {}
    settings = settings_of(capture)
    for record in records_of(capture):
        row = decode(record, settings)
        if row is not None and isinstance(row.body, GroupGeneration):
            found[row.topic, row.partition, row.offset] = {
                one.member_id: (frozenset(one.subscription.topics), one.subscription.rack)
                for one in row.body.members
                if isinstance(one.subscription, ConsumerSubscription)
            }
    return found


def lives(capture: Path) -> Iterator[list[Document]]:
    """The generations of each life of each group, the oldest first."""
    source = capture_of(str(capture))
    by_life: dict[tuple[str, int], list[Document]] = {}
    for key in source.names():
        for one in source.generations(key):
            if (one["protocol_type"], one["lifecycle"]) == ("consumer", "classic"):
                by_life.setdefault((key[1], one["incarnation"]), []).insert(0, one)
    yield from by_life.values()


def ids(generation: Document) -> set[str]:
    return {one["member_id"] for one in generation["members"]}


def has(generation: Document) -> dict[str, set[str]]:
    return {one["member_id"]: set(share_names(one["assigned"])) for one in generation["members"]}


def owns(generation: Document) -> dict[str, set[str]]:
    return {one["member_id"]: set(share_names(one["owned"])) for one in generation["members"]}


def as_presumed(before: Document, after: Document, known: Subscriptions) -> bool:
    """Whether this is one of Kafka's own leaders, and nothing but members changed: neither subscriptions nor partitions
    nor the way in which members join; and who came is a new process, static only if all are."""
    if before["protocol"] != after["protocol"] or after["generation"] != before["generation"] + 1:
        return False
    if ids(before) == ids(after) or not ids(before) or not ids(after) or after["verdict"]["grade"] != "match":
        return False
    told = {one for record in (before, after) for one in known[tuple(record["source"].values())].values()}
    if len(told) != 1 or any(rack for _, rack in told):
        return False
    everything = [set[str]().union(*has(one).values(), *owns(one).values()) for one in (before, after)]
    stay = ids(before) & ids(after)
    ways = {bool(owns(after)[one]) for one in stay if has(before)[one]}
    static = all(one["instance_id"] for one in before["members"])
    come = [one for one in after["members"] if one["member_id"] not in stay]
    fresh = not any(owns(after)[one["member_id"]] or bool(one["instance_id"]) != static for one in come)
    return everything[0] == everything[1] and len(ways) < 2 and fresh


def came_true(course: Course, generations: list[Document], place: int, names: dict[str, str]) -> bool:
    """Whether the records show its rebalances, until something else happens."""
    now = {names[one]: share for one, share in has(generations[place - 1]).items()}
    for one, record in zip(course.to_come, generations[place:], strict=False):
        if ids(record) != ids(generations[place]):
            break
        real = {names[member]: share for member, share in has(record).items()}
        now = {
            name: (now.get(name, set()) - {*one.gives_up.get(name, ())}) | {*one.gets.get(name, ())} for name in real
        }
        if now != real:
            return False
    return True


def places(capture: Path) -> Iterator[tuple[str, str, int, str]]:
    """The assignor, what became of the prediction, how many courses it had, and what members did."""
    known = subscriptions_of(capture)
    for generations in lives(capture):
        for place, (before, after) in enumerate(pairwise(generations), start=1):
            if not as_presumed(before, after, known):
                continue
            come = {one: f"new member {at}" for at, one in enumerate(sorted(ids(after) - ids(before)), start=1)}
            gone = tuple(sorted(ids(before) - ids(after)))
            change, did = GroupChange(leave=gone, join=len(come)), JOIN if not gone else LEAVE if not come else BOTH
            try:
                told = predict(change, generations[place - 1 :: -1], _these(come))
            except CannotPredict:
                yield before["protocol"], NOT_PREDICTED, 0, did
                continue
            names = {**names_of(before), **come}
            right = any(came_true(one, generations, place, names) for one in told.courses)
            yield (
                before["protocol"],
                CAME_TRUE if right else f"wrong: {before['group']} {after['generation']}",
                len(told.courses),
                did,
            )


def _these(come: dict[str, str]) -> Ids:
    return lambda *_: [(come, {})]


@pytest.mark.parametrize("capture", PLACES)
def test_what_is_predicted_happens(capture: str) -> None:
    found = list(places(CAPTURES / capture))
    counts = Counter((assignor, what) for assignor, what, *_ in found)
    assert counts == PLACES[capture]
    assert Counter(did for _, what, _, did in found if what == CAME_TRUE) == CHANGES[capture]
    true = sum(count for (_, what), count in counts.items() if what == CAME_TRUE)
    several = sum(courses > 1 for _, _, courses, _ in found)
    print(f"{capture}: {true} of {len(found)} places came true, {several} of them among several courses")


@pytest.mark.parametrize("stated", [{}, {"session_timeout_ms": None}], ids=["published before", "polled"])
def test_nothing_is_predicted_of_a_static_member_whose_session_time_out_is_not_known(stated: Document) -> None:
    for generations in lives(CAPTURES / "java-classic"):
        for one in reversed(generations):
            static = [member["instance_id"] for member in one["members"] if member["instance_id"]]
            if static and one["verdict"]["grade"] == "match":
                members = [{k: v for k, v in of.items() if k != "session_timeout_ms"} | stated for of in one["members"]]
                with pytest.raises(CannotPredict, match=f"the session time-out of {static[0]}, static, is not known"):
                    predict(GroupChange(bounce=(static[0],)), [{**one, "members": members}])
                return
    raise AssertionError("no group of the capture has a static member")


def predictable(generation: Document) -> bool:
    return generation["verdict"]["grade"] == "match" and len(generation["members"]) > 1


def test_partition_counts_that_only_a_later_sample_shows_do_for_a_prediction() -> None:
    (life, *_) = (one for one in lives(CAPTURES / "java-classic") if any(map(predictable, one)))
    at = next(place for place, one in enumerate(life) if predictable(one))
    newest, *older = life[at::-1]
    leaves = GroupChange(leave=(newest["members"][0]["member_id"],))
    inferred = {**newest, "verdict": {**newest["verdict"], "grade": "explainable", "reason_kind": "counts_inferred"}}
    assert predict(leaves, [inferred, *older]) == predict(leaves, [newest, *older])
    other = {**inferred, "verdict": {**inferred["verdict"], "reason_kind": "hidden_memory", "reason": "memory"}}
    with pytest.raises(CannotPredict):
        predict(leaves, [other, *older])
