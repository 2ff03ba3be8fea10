"""Left, lost or cannot tell: what a member's absence shows, against what was really done to it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.fold.departures import left
from rebalance_monitor.streaming.core.model.results import Aftermath, Certainty
from rebalance_monitor.streaming.core.replay import replay
from tests.streaming.core.rules.builders import SESSION_MS, STATUSES, Story, generations
from tests.vector_files import GROUP_CAPTURES, json_lines

CAPTURE = GROUP_CAPTURES / "java-classic"
DIED = frozenset({"member abandon (no leave request)", "process kill -9"})
LEFT = frozenset({"member stop", "process quit"})
PARTINGS = frozenset({"worker_left", "worker_lost", "worker_gone"})
GONE = frozenset({"member_left", "member_lost", "member_gone"})


def departures() -> Iterator[tuple[str, str, str]]:
    """Of every consumer that went away: the kind and certainty of the cause, and what was done to it."""
    ends = ends_of_clients()
    clients: dict[tuple[str, str], str] = {}
    for published in replay(records_of(CAPTURE), settings_of(CAPTURE)).objects:
        if published["kind"] != "generation":
            continue
        for cause in published["cause"]:
            for subject in cause["subjects"] if cause["kind"] in GONE else ():
                client = clients[published["group"], subject["id"]]
                if client in ends:
                    yield cause["kind"], cause["certainty"], ends[client]
        for member in published["members"]:
            clients[published["group"], member["instance_id"] or member["member_id"]] = member["client_id"]


def ends_of_clients() -> dict[str, str]:
    """The first thing that ended each client; a process ends all the members it has."""
    ends: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    for event in json_lines(CAPTURE / "events.jsonl.gz"):
        action, detail = event["action"], event["detail"]
        if action == "member start":
            members.setdefault(detail["process"], []).append(detail["member"])
        elif action in ("process kill -9", "process quit"):
            for member in members.pop(detail["process"], ()):
                ends.setdefault(member, action)
        elif action in DIED | LEFT:
            ends.setdefault(detail["member"], action)
    return ends


def test_no_consumer_that_died_is_said_to_have_left() -> None:
    found = Counter(departures())
    died = {key: count for key, count in found.items() if key[2] in DIED}
    assert sum(died.values()) > 25
    assert {(kind, certainty) for kind, certainty, _ in died} == {("member_gone", "certain")}


def test_of_consumers_that_left_soon_after_a_join_it_is_said() -> None:
    found = Counter((kind, certainty) for kind, certainty, end in departures() if end in LEFT)
    assert found["member_left", "certain"] > 20
    assert found["member_left", "likely"] > 20
    assert found["member_lost", "certain"] == 0


@given(st.integers(1, 1 << 40), st.integers(0, 100_000), st.integers(1, 60_000))
def test_a_time_out_that_may_have_passed_is_never_a_departure(before_ms: int, waited_ms: int, shortest_ms: int) -> None:
    found = left(before_ms, before_ms + waited_ms, shortest_ms)
    assert found is None or waited_ms < shortest_ms
    assert left(before_ms, before_ms - waited_ms - 1, shortest_ms) is None
    assert left(0, waited_ms, shortest_ms) is left(-1, waited_ms, shortest_ms) is None


# -- Connect workers --------------------------------------------------------------------------------------------------


def two_workers(protocol: str) -> Story:
    story = Story(protocol)
    story.configure("c1", 4)
    story.join("w1", "w2")
    story.rebalance()
    for worker in ("w1", "w2"):
        status_all(story, worker, "RUNNING")
    return story


def status_all(story: Story, worker: str, state: str) -> None:
    """This worker's status of each job it holds."""
    for job in sorted(story.workers[worker].holds(), key=str):
        story.status(job, state, worker)


def last_causes(story: Story) -> list[tuple[str, str]]:
    """Kinds and certainties after the last word, of who is gone."""
    results = story.replayed()
    last = generations(results)[-1]
    (word,) = [one for one in results if isinstance(one, Aftermath) and one.source == last.source]
    return [(one.kind, one.certainty.value) for one in word.cause if one.kind in PARTINGS]


PROTOCOLS = ["default", "sessioned"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_worker_gone_soon_after_a_join_left_for_certain(protocol: str) -> None:
    story = two_workers(protocol)
    story.leave("w2")
    story.rebalance(after_ms=SESSION_MS // 2)
    assert last_causes(story) == [("worker_left", "certain")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_worker_that_stopped_its_jobs_and_is_gone_at_once_has_likely_left(protocol: str) -> None:
    story = two_workers(protocol)
    story.wait(60_000)
    status_all(story, "w2", "UNASSIGNED")
    story.leave("w2")
    story.rebalance(after_ms=2_000)
    assert last_causes(story) == [("worker_left", "likely")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_worker_that_died_after_it_had_stopped_its_jobs_is_only_gone(protocol: str) -> None:
    """Eager workers stop everything whenever a rebalance begins; this one is killed before it joins again."""
    story = two_workers(protocol)
    story.wait(60_000)
    status_all(story, "w2", "UNASSIGNED")
    story.leave("w2")
    story.rebalance(after_ms=SESSION_MS - 2_000)
    assert last_causes(story) == [("worker_gone", "certain")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_worker_that_said_nothing_was_likely_lost(protocol: str) -> None:
    story = two_workers(protocol)
    story.wait(60_000)
    story.leave("w2")
    story.rebalance(after_ms=SESSION_MS)
    assert last_causes(story) == [("worker_lost", "likely")]


def with_clocks_off(story: Story, ms: int) -> Story:
    """The workers' clocks are off; the coordinator's is right."""
    story.rows = [
        replace(row, timestamp_ms=row.timestamp_ms + ms) if row.topic == STATUSES else row for row in story.rows
    ]
    return story


SKEWS_MS = [sign * ms for ms in (1_000, 3_000, 15_000, 60_000, 3_600_000) for sign in (-1, 1)]


@pytest.mark.parametrize("ms", SKEWS_MS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_clock_makes_a_departure_a_crash(protocol: str, ms: int) -> None:
    story = two_workers(protocol)
    story.wait(60_000)
    status_all(story, "w2", "UNASSIGNED")
    story.leave("w2")
    story.rebalance(after_ms=2_000)
    story.wait(60_000)
    assert {kind for kind, _ in last_causes(with_clocks_off(story, ms))} <= {"worker_left", "worker_gone"}


@pytest.mark.parametrize("ms", SKEWS_MS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_clock_makes_a_crash_a_departure(protocol: str, ms: int) -> None:
    story = two_workers(protocol)
    story.wait(60_000)
    status_all(story, "w2", "UNASSIGNED")
    story.leave("w2")
    story.rebalance(after_ms=SESSION_MS)
    story.wait(60_000)
    kinds = {kind for kind, certainty in last_causes(with_clocks_off(story, ms)) if certainty != "possible"}
    assert "worker_left" not in kinds


@pytest.mark.parametrize("ms", [-3_000, 3_000, -60_000])
def test_a_worker_that_said_nothing_was_likely_lost_by_clocks_that_are_nearly_right(ms: int) -> None:
    story = two_workers("sessioned")
    story.wait(60_000)
    story.leave("w2")
    story.rebalance(after_ms=SESSION_MS)
    assert last_causes(with_clocks_off(story, ms)) == [("worker_lost", "likely")]


def test_of_a_worker_without_statuses_nobody_can_tell() -> None:
    story = Story.begun({"c1": 4}, "w1", "w2")
    story.wait(60_000)
    story.leave("w2")
    story.rebalance(after_ms=SESSION_MS)
    assert last_causes(story) == [("worker_gone", "certain")]
    first = [one for one in generations(story.fold())[-1].cause if one.kind.startswith("worker")]
    assert [(one.kind, one.certainty) for one in first] == [("worker_gone", Certainty.CERTAIN)]
