"""When a group counts as at rest, and what is waited for where it does not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rebalance_monitor.streaming.cli.group_sources import CapturedGroups, capture_of
from rebalance_monitor.streaming.core.replay import replayed
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.stories.settled import Demand, waits_for
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases_streams_across import never_nearer
from tests.streaming.stories.drills import VECTORS, known_of, stuck_in_a_rebalance

Job = dict[str, Any]
KEY = ("cluster", GROUP)


def running() -> Story:
    story = Story()
    story.configure("c", 2)
    story.join("w1", "w2")
    story.rebalance()
    for what, worker in (("c", "w1"), ("c-0", "w1"), ("c-1", "w2")):
        story.status(what, "RUNNING", worker)
    return story


def at_rest() -> tuple[GroupFacts, list[Job]]:
    """A Connect group of two workers, all at work."""
    story = running()
    found = CapturedGroups(replayed(len(story.rows), story.until(60_000).fold()), story.now_ms + 60_000)
    return found.known(KEY), found.jobs(KEY)


def said(known: GroupFacts, jobs: list[Job], **demand: Any) -> list[str]:
    return [one.sentence for one in waits_for(known, jobs, Demand(**demand))]


def test_a_group_at_work_is_at_rest() -> None:
    known, jobs = at_rest()
    assert len(jobs) == 3
    assert said(known, jobs) == []


def test_what_is_paused_is_at_rest_and_what_failed_is_not() -> None:
    known, jobs = at_rest()
    for state, waits in (("PAUSED", 0), ("RESTARTING", 1), ("UNASSIGNED", 1)):
        jobs[0]["running"] = {**jobs[0]["running"], "state": state}
        assert len(said(known, jobs)) == waits, state
    jobs[0]["agreement"] = "failed"
    assert said(known, jobs)[0].startswith("FAILED: c")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda job: job.update(assigned=["w9:8083"]), "not compared with the latest generation yet"),
        (lambda job: job.update(agreement="not_started"), "not taken up yet"),
        (lambda job: job.update(agreement="unknown", running=None), "without a known status"),
        (lambda job: job.update(agreement="elsewhere"), "run by another worker"),
    ],
)
def test_each_task_is_looked_at(change: Callable[[Job], None], sentence: str) -> None:
    known, jobs = at_rest()
    change(jobs[-1])
    (told,) = said(known, jobs)
    assert told == f"{sentence}: c-1"


def test_statuses_that_nobody_reads_are_not_taken_for_well() -> None:
    known, _ = at_rest()
    assert said(known, []) == ["statuses of connectors and tasks are not known"]


def test_a_delay_is_waited_for_until_it_ends() -> None:
    story = running()
    story.leave("w2")
    story.rebalance()
    known = known_of(story.until(1_000))
    sentences = said(known, [])
    assert any(one.startswith("the scheduled delay holds back c-1, until 2027-01-15 08:05") for one in sentences)
    assert "nobody has c-1" in sentences


@pytest.mark.parametrize("status", ["Empty", "Reconciling", "Assigning", "NotReady", "Unknown", ""])
def test_only_a_stable_group_is_at_rest(status: str) -> None:
    known, jobs = at_rest()
    (told,) = said(replace(known, group={**known.group, "status": status}), jobs)
    assert (status in told) if status else ("not known" in told)


def test_a_group_of_which_nothing_is_known_is_not_at_rest() -> None:
    known, jobs = at_rest()
    assert said(replace(known, generations=()), jobs) == ["no generation of the group is known"]


def test_a_partition_without_owner_is_waited_for() -> None:
    known, jobs = at_rest()
    violation = {
        "rule": "partition_without_owner", "message": "a-3 has no owner", "alert": "critical", "opened_at_ms": 1,
        "incident_id": "x",
    }  # fmt: skip
    told = said(replace(known, incidents=[{"attention": "suppressed", "violation": violation}]), jobs)
    assert told == ["nobody has something that is configured: a-3 has no owner"]


def test_warm_ups_are_waited_for_only_if_asked() -> None:
    known = known_of(never_nearer())
    assert said(known, []) == []
    assert said(known, [], streams_warm=True) == ["copies warm up: 1_1, until 2027-01-15 08:10:30 UTC"]


def test_an_application_without_warm_ups_is_warm() -> None:
    found = capture_of(str(VECTORS / "captures-groups/streams-probing"))
    known = found.known(("streams-probing", "slowly"))
    assert said(known, [], streams_warm=True) == []


def test_lag_that_nobody_asked_for_is_not_taken_for_none() -> None:
    known, jobs = at_rest()
    (told,) = said(known, jobs, most_lag=0)
    assert told.startswith("its lag is not known")


def test_lag_counts_from_the_latest_generation_on() -> None:
    known, jobs = at_rest()
    assert known.latest is not None
    at_ms, number = known.latest["at_ms"], known.latest["generation"]

    def with_lag(lag: int, *, asked_ms: int = at_ms + 1, generation: int = number, unknown: int = 0) -> GroupFacts:
        members = [{"lag": lag, "unknown": unknown}]
        return replace(known, progress={"asked_ms": asked_ms, "generation": generation, "members": members})

    assert said(with_lag(0), jobs, most_lag=0) == []
    assert said(with_lag(7), jobs, most_lag=10) == []
    assert said(with_lag(7_000), jobs, most_lag=10) == [
        "its members are 7,000 records behind, 10 at most are asked for"
    ]
    before = "its lag was not asked since the latest generation"
    assert said(with_lag(0, asked_ms=at_ms), jobs, most_lag=0) == [before]
    assert said(with_lag(0, generation=number - 1), jobs, most_lag=0) == [before]
    assert said(with_lag(0, unknown=2), jobs, most_lag=0) == ["of 2 partitions no committed offset is known"]
    known = replace(known, now_ms=at_ms + 1 + 300_000)
    assert said(with_lag(0), jobs, most_lag=0) == []
    known = replace(known, now_ms=known.now_ms + 1)
    (told,) = said(with_lag(0), jobs, most_lag=0)
    assert told.startswith("its lag was not asked for more than 5 min, last at "), "more may have come since"


def test_a_classic_group_whose_rebalance_does_not_end_is_not_at_rest() -> None:
    """Its last record still says Stable."""
    known = stuck_in_a_rebalance()
    assert known.group["status"] == "Stable"
    (waits,) = said(known, [])
    assert waits.startswith("a rebalance does not end: ")
