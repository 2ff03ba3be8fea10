"""Why a group rebalances: golden texts, laws that hold for all groups, and no cause that was not there."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.simulated import scenario
from rebalance_monitor.streaming.cli.group_sources import CapturedGroups, Object, capture_of
from rebalance_monitor.streaming.core.model.results import CAUSES, Certainty
from rebalance_monitor.streaming.core.replay import replay
from rebalance_monitor.streaming.stories import cause_words, why
from rebalance_monitor.streaming.stories.rebalances import ORDER, seen
from rebalance_monitor.streaming.stories.rolling_restarts import restart_runs
from tests.streaming.core.comings_and_goings import (
    MINUTE_MS,
    SECOND_MS,
    Pods,
    Process,
    crash_loop,
    of_a_pool,
    rolled,
    scaled,
    twenty,
)
from tests.streaming.stories.rankings_told import MADE, TEXTS, VECTORS, Made, codes, judged, ranked, told

GROUPS = VECTORS / "captures-groups"
LAB = ("java-classic", "java-releases", "python-clients", "streams-classic-4.3.1")
"""Captures of groups whose members did not exceed a poll interval, and did not fall silent at their start."""


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_the_ranking_is_the_golden_text(made: Made) -> None:
    assert told(made) == (TEXTS / f"{made.__name__}.txt").read_text(encoding="utf-8")


def test_every_golden_text_has_its_ranking() -> None:
    assert {path.stem for path in TEXTS.glob("*.txt")} == {made.__name__ for made in MADE}


def test_every_cause_of_a_generation_has_its_line() -> None:
    assert {*cause_words.KINDS} == {*CAUSES, cause_words.STATIC_GONE} - {"unknown"}


def test_every_pattern_has_its_criterion_in_the_document() -> None:
    text = (Path(__file__).parents[3] / "docs" / "why.md").read_text(encoding="utf-8")
    described = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert described == list(why.PATTERN_CODES)


def autoscaled() -> Pods:
    """A member comes or goes every 60 s, which is the rebalance time-out."""
    return scaled(twenty(make=lambda pods, number: of_a_pool(40)(pods)), 120, of_a_pool(40))


NEAR_MISSES: tuple[tuple[str, tuple[str, ...], Callable[[], Pods]], ...] = (
    ("it went later than the time-out", ("poll_interval_exceeded",),
     lambda: crash_loop(twenty(), Pods().pod(30), times=9, stays_ms=66 * SECOND_MS)),
    ("it went so only twice", ("poll_interval_exceeded",),
     lambda: crash_loop(twenty(), Pods().pod(30), times=2, stays_ms=61 * SECOND_MS)),
    ("a static member does not leave when its poll time-out is over", ("poll_interval_exceeded",),
     lambda: crash_loop(twenty(), Pods().pod(30, static=True), times=5, stays_ms=61 * SECOND_MS)),
    ("autoscaling", ("poll_interval_exceeded", "rolling_restart"), autoscaled),
    ("one member was left out", ("rolling_restart",),
     lambda: rolled((pods := twenty()), list(pods.there.values())[1:])),
    ("static members need none", ("rolling_restart",),
     lambda: rolled((pods := twenty(static=True)), list(pods.there.values())[:8])),
    ("hours between the restarts", ("rolling_restart",),
     lambda: rolled((pods := twenty()), list(pods.there.values()), each_ms=60 * MINUTE_MS)),
)  # fmt: skip


@pytest.mark.parametrize(("never", "made"), [one[1:] for one in NEAR_MISSES], ids=[one[0] for one in NEAR_MISSES])
def test_a_near_miss_is_not_named(never: tuple[str, ...], made: Callable[[], Pods]) -> None:
    assert not codes(judged(made().story)).keys() & set(never)


def test_a_slow_restart_is_not_avoided_by_static_membership() -> None:
    pods = twenty()
    for number, one in enumerate(list(pods.there.values())):
        pods.go_of(one, after_ms=20 * SECOND_MS)
        pods.come(one, after_ms=8 * SECOND_MS if number < 15 else 12 * SECOND_MS)
    (reason,) = [one for one in ranked(lambda: judged(pods.story))["reasons"] if one["code"] == "rolling_restart"]
    assert (reason["count"], "would have avoided 30 of 40" in reason["text"]) == (40, True)
    assert "if these left by a request, which no record tells" in reason["text"]


def test_an_instance_id_that_is_used_twice_shows_in_records_without_a_rebalance() -> None:
    pods = twenty(static=True)
    first = pods.pod(3, static=True)
    second = Process("pod-3", "/10.0.9.9", first.instance)
    for gone, come in ((first, second), (second, first)) * 2:
        pods.there = {name: come if one == gone else one for name, one in pods.there.items()}
        pods.replaced(come, after_ms=MINUTE_MS, again=True)
    pods.go_of(first, after_ms=MINUTE_MS)
    pods.come(first, after_ms=60 * MINUTE_MS)
    found = ranked(lambda: judged(pods.story))
    assert (found["rebalances"], found["repeats"]) == (3, 4)
    # What the process does an hour later is another thing.
    (reason,) = [one for one in found["reasons"] if one["code"] == "instance_id_used_twice"]
    assert (reason["names"], reason["count"]) == (["i3"], 1)


def test_many_members_of_one_pattern_are_one_line() -> None:
    pods = twenty()
    for number in range(30, 36):
        crash_loop(pods, pods.pod(number), times=4 + number % 2, stays_ms=61 * SECOND_MS)
    (reason,) = [
        one for one in ranked(lambda: judged(pods.story))["reasons"] if one["code"] == "poll_interval_exceeded"
    ]
    assert (reason["count"], len(reason["names"])) == (6 * 8, why.MOST_NAMED)
    assert reason["text"].startswith("member pod-31 on 10.0.0.31 was gone 5 times")
    assert "; so were 3 more: longer in its processing" in reason["text"]


def test_a_static_member_that_is_away_for_too_long() -> None:
    pods = twenty(static=True)
    pods.go_of(pods.pod(3, static=True), after_ms=MINUTE_MS)
    (reason,) = [one for one in ranked(lambda: judged(pods.story))["reasons"] if one["code"] == cause_words.STATIC_GONE]
    assert (reason["certainty"], reason["names"]) == ("likely", ["i3"])


@cache
def lab(name: str) -> CapturedGroups:
    return capture_of(str(GROUPS / name))


def lines(name: str) -> Iterator[tuple[Object, Object]]:
    source = lab(name)
    for key in source.names():
        found = source.why(key, 0)
        yield from ((found, one) for one in found["reasons"])


@pytest.mark.parametrize("name", LAB)
def test_no_time_out_is_named_that_nobody_let_pass(name: str) -> None:
    claimed = {one["code"] for _, one in lines(name)}
    assert not claimed & {"poll_interval_exceeded", "session_timed_out", "instance_id_used_twice"}


@pytest.mark.parametrize("name", LAB)
def test_partitions_were_added_where_it_is_said(name: str) -> None:
    """Brokers showed more partitions of the topic not long before."""
    grew = list(growths(GROUPS / name / "metadata.jsonl.gz"))
    for found, one in lines(name):
        if one["code"] == "partitions_added":
            for evidence, topic in ((evidence, topic) for evidence in one["evidence"] for topic in one["names"]):
                at_ms = evidence["at_ms"]
                assert any(topic == other and from_ms <= at_ms for other, from_ms in grew), (found["group"], one)


def growths(path: Path) -> Iterator[tuple[str, int]]:
    """(topic, when) of each growth that the lab's own look at the topics saw; when: the look before."""
    known: dict[str, int] = {}
    before_ms = 0
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for look in map(json.loads, file):
            for topic, count in counts(look):
                if count > known.get(topic, count):
                    yield topic, before_ms
                known[topic] = count
            before_ms = look["at_ms"]


def counts(look: Any) -> Iterator[tuple[str, int]]:
    for topic, parts in look["topics"].items():
        yield topic, parts["partitions"]


def test_the_rolling_restart_of_the_lab_restarted_each_process_once() -> None:
    claims = [(name, found, one) for name in LAB for found, one in lines(name) if one["code"] == "rolling_restart"]
    ((name, found, claim),) = claims
    assert name == "streams-classic-4.3.1"
    # Each was away for longer than its session time-out of 6 s, as the events tell.
    assert "would have avoided 0 of 13" in claim["text"]
    source = lab(name)
    (key,) = source.names()
    places = [one for one in seen(source.generations(key)) if not one.again]
    (run,) = restart_runs(places)
    assert (len(run.places), run.until_ms) == (claim["count"], claim["evidence"][0]["at_ms"])
    last_ms = claim["evidence"][0]["at_ms"]
    first = next(at for at, one in enumerate(places) if one.at_ms == last_ms) - claim["count"] + 1
    first_ms = places[first].at_ms - 30_000  # a session time-out before the first member is removed
    with gzip.open(GROUPS / name / "events.jsonl.gz", "rt", encoding="utf-8") as file:
        events = [event for event in map(json.loads, file) if first_ms <= event["at_ms"] <= last_ms]
    ends = Counter(
        one["detail"]["instance"] for one in events if one["action"] in ("instance kill -9", "instance close")
    )
    again = [one for one in events if one["action"] == "instance start" and one["detail"]["run"] > 1]
    assert ends == {f"app-4.3.1-{number}": 1 for number in range(3)}
    assert ends == Counter(one["detail"]["instance"] for one in again)
    assert found["rebalances"] > claim["count"]


@pytest.mark.parametrize("seed", range(701, 704))
def test_of_simulated_workers_nothing_is_said_that_did_not_happen(seed: int) -> None:
    cluster = scenario.live(seed, actions=20, weights=scenario.CALM)
    source = CapturedGroups(replay(cluster.log.stamped(), cluster.settings()), 2**50)
    (key,) = source.names()
    found = source.why(key, 0)
    rounds = {one.generation: one.reasons for one in cluster.truth.rounds if one.recorded}
    starts = Counter(one.process.partition("#")[0] for one in cluster.truth.events if one.what == "started")
    checked = 0
    for one in found["reasons"]:
        if not one["code"].startswith(("worker_", "member_", "connector_")):
            continue
        for evidence in one["evidence"]:
            reasons = [reason for reason in rounds[evidence["generation"]] if _is_asked(one["code"], reason)]
            of_it = [reason for reason in reasons if any(f"{name}-" in reason for name in one["names"])]
            assert reasons if one["code"].startswith("connector_") or len(one["names"]) == why.MOST_NAMED else of_it
            checked += 1
        for name, times in re.findall(r"(10[0-9.]+):[0-9]+ (?:was gone and back .*, )?([0-9]+) time", one["text"]):
            if one["code"] in why.PATTERN_CODES:
                assert int(times) < starts[name]
    assert checked > 10


def _is_asked(code: str, reason: str) -> bool:
    if code.startswith("connector_"):
        return reason.endswith(("(config)", "(read further)"))
    return not reason.startswith("rejoined")


# Laws ----------------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(("a", "b", "c", "d"))


@st.composite
def generations(draw: st.DrawFn) -> list[Object]:
    """Some generations of one group, whatever they say; not all of its numbers are there."""
    made: list[Object] = []
    number, at_ms = 0, 1_000_000
    for offset in range(draw(st.integers(0, 12))):
        number += draw(st.integers(0, 2))
        at_ms += draw(st.sampled_from((20, 3_000, 10_000, 45_500, 300_000)))
        members = [member(name, draw(st.integers(0, 2))) for name in sorted(draw(st.sets(NAMES)))]
        kinds = draw(st.lists(st.sampled_from(CAUSES), min_size=1, max_size=3, unique=True))
        made.append(
            {
                "cluster": "k", "group": "g", "incarnation": 0, "lifecycle": "classic", "protocol_type": "consumer",
                "generation": number, "at_ms": at_ms, "state_ms": at_ms - 5, "members": members, "delay_ms": None,
                "protocol": "range", "leader": None, "verdict": {"grade": "match", "reason_kind": None, "reason": ""},
                "source": {"topic": "__consumer_offsets", "partition": 1, "offset": offset},
                "cause": [
                    {"kind": kind, "subjects": [], "certainty": draw(st.sampled_from(ORDER)).value, "evidence": []}
                    for kind in kinds
                ],
            }
        )  # fmt: skip
    return made


def member(name: str, process: int) -> Object:
    return {
        "member_id": f"{name}-{process}", "client_id": name, "client_host": "/10.0.0.1", "worker": None,
        "instance_id": name if name == "d" else None, "assigned": {"partitions": [[name, process]]},
        "owned": {"partitions": []}, "revoked": None, "session_timeout_ms": 45_000, "rebalance_timeout_ms": 300_000,
    }  # fmt: skip


def as_told(documents: list[Object], since_ms: int | None = None) -> Object:
    return why.ranking_object("k", "g", since_ms, why.ranking(documents, since_ms))


@given(generations(), st.randoms(use_true_random=False), st.integers(0, 12))
def test_counts_sum_to_the_rebalances_and_no_order_matters(made: list[Object], dice: Any, place: int) -> None:
    since_ms = made[place]["at_ms"] if place < len(made) else None
    found = as_told(made, since_ms)
    counted = [one for one in made if since_ms is None or one["at_ms"] >= since_ms]
    assert sum(one["count"] for one in found["reasons"]) + found["cannot_tell"] == found["rebalances"]
    assert found["rebalances"] + found["repeats"] == len(counted)
    shuffled = list(made)
    dice.shuffle(shuffled)
    assert as_told(shuffled, since_ms) == found


@given(generations())
def test_no_line_is_surer_than_its_generations(made: list[Object]) -> None:
    certain = {
        (cause["kind"], one["generation"]) for one in made for cause in one["cause"] if cause["certainty"] == "certain"
    }
    for one in as_told(made)["reasons"]:
        if one["certainty"] == Certainty.CERTAIN.value:
            assert one["code"] in {*cause_words.KINDS} - {cause_words.STATIC_GONE}
            assert all((one["code"], evidence["generation"]) in certain for evidence in one["evidence"])
        assert one["evidence"]


@given(generations())
def test_what_only_has_unknown_causes_and_no_pattern_cannot_be_told(made: list[Object]) -> None:
    found = as_told(made)
    known = [one for one in seen(made) if not one.again]
    assert found["cannot_tell"] <= sum(one.kinds == {"unknown"} for one in known)


def test_of_a_long_history_only_the_newest_is_looked_at() -> None:
    one = {**twenty_generation(), "members": [member("a", 1)]}
    found, complete = why.newest([one] * (why.MOST_REBALANCES + 1))
    assert (len(found), complete) == (why.MOST_REBALANCES, False)
    large = {**one, "members": [member("a", 1)] * (why.MOST_MEMBERS // 2)}
    assert [len(why.newest([large] * count)[0]) for count in (1, 2, 3)] == [1, 2, 2]
    told_so = why.ranking_object("k", "g", None, why.ranking(found[:1], all_of_them=False))
    assert why.notes_on(told_so)[0] == "There were more: only the newest 1 were looked at."


def twenty_generation() -> Object:
    source = judged(twenty().story)
    (key,) = source.names()
    return next(source.generations(key))
