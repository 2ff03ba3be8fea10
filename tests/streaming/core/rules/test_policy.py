"""Wishes of the monitor's configuration about real groups: findings are info, and each says what comes next."""

import pytest

from rebalance_monitor.streaming.core.model.results import Grade, Incident, Severity
from tests.streaming.core.rules.builders import REBALANCE_MS, SESSION_MS, Story, generations, incidents
from tests.streaming.core.rules.cases_policy import wished
from tests.streaming.core.rules.cases_static import newer_blob_ignored

PROTOCOLS = ["default", "compatible", "sessioned"]
TIMEOUTS_MS = SESSION_MS + REBALANCE_MS
NO_PROMISE = "knows nothing of this wish"


def opened(story: Story) -> dict[str, list[Incident]]:
    results = story.fold()
    assert {one.verdict.grade for one in generations(results)} == {Grade.MATCH}
    found = [one for one in incidents(results) if one.transition == "opened"]
    assert {one.severity for one in found} <= {Severity.INFO}
    return {code: [one for one in found if one.code == code] for code in sorted({one.code for one in found})}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_job_elsewhere_than_wished(protocol: str) -> None:
    story = wished({"c1-0": ("w2:*",)}, protocol)
    story.rebalance()
    found = opened(story)
    (finding,) = found["CONNECT-S1"]
    assert [subject.id for subject in finding.subjects] == ["c1-0", "w1:8083"]
    assert finding.rule == "static_task_on_wildcard_worker"
    assert finding.message.startswith("w1:8083 holds c1-0, meant for w2:8083")
    assert NO_PROMISE in finding.message
    assert list(found) == ["CONNECT-S1"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("worker", ["w1", "w2", "w3"])
def test_one_pin_says_nothing_of_other_jobs(protocol: str, worker: str) -> None:
    """It is met, or it is not: either is one finding, however many other jobs the worker runs."""
    story = wished({"c1-0": (f"{worker}:8083",)}, protocol)
    story.configure("many", 30)
    story.join("w3")
    story.rebalance()
    story.rebalance()
    found = opened(story)
    assert sum(map(len, found.values())) == 1
    assert set(found) <= {"CONNECT-S1", "CONNECT-P3"}


def test_jobs_of_one_cause_share_a_finding() -> None:
    """All tasks are meant for a worker that has gone, or for one that is there and does not have them."""
    away = wished({f"many-{number}": ("w9:8083",) for number in range(12)})
    here = wished({f"many-{number}": ("w2:8083",) for number in range(12)})
    for story in (away, here):
        story.configure("many", 12)
        story.rebalance()
    assert {code: [one.parts for one in found] for code, found in opened(away).items()} == {"CONNECT-P4": [2]}
    assert {code: [one.parts for one in found] for code, found in opened(here).items()} == {
        "CONNECT-P3": [1],
        "CONNECT-S1": [1],
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_wish_met_says_nothing_but_what_may_come(protocol: str) -> None:
    story = wished({job: ("w1:8083", "w2:8083") for job in ("c1", "c2", "c1-0", "c1-1", "c2-0", "c2-1")}, protocol)
    story.rebalance()
    assert opened(story) == {}


def test_what_wishes_lead_to() -> None:
    story = wished({"c1": ("w1:8083",), "c1-0": ("w1:8083",), "c9-0": ("w2:8083",)})
    story.rebalance()
    found = opened(story)
    assert [subject.id for subject in found["CONNECT-P1"][0].subjects] == ["c9-0"]
    assert "treats it like all others" in found["CONNECT-P1"][0].message
    assert "then go to any worker" in found["CONNECT-P3"][0].message
    assert set(found) <= {"CONNECT-P1", "CONNECT-P3", "CONNECT-S1"}


def test_a_worker_meant_for_jobs_and_idle() -> None:
    story = wished({"c9": ("w5:8083",)})
    story.join("w3", "w4", "w5")
    story.rebalance()
    (finding,) = opened(story)["CONNECT-P2"]
    assert [subject.id for subject in finding.subjects] == ["w5:8083"]
    assert "may give it any task in the next rebalance" in finding.message


def test_declarations_in_a_group_of_another_protocol_say_nothing() -> None:
    assert opened(newer_blob_ignored()) == {}


def test_without_wishes_nothing_is_said() -> None:
    story = wished({})
    story.rebalance()
    assert opened(story) == {}


def test_a_task_that_nobody_may_run_is_harm_in_a_replay_too() -> None:
    """Nothing asks such a group for a rebalance; statuses around the two records show that an hour has passed."""
    story = Story("static")
    story.configure("c1", 1)
    story.join("w1", static=("c1",))
    story.rebalance()
    begin_ms = story.now_ms
    story.status("c1", "RUNNING", "w1")
    story.join("w2")
    story.rebalance(after_ms=3_600_000)
    end_ms = story.now_ms
    story.status("c1-0", "RUNNING", "w2")
    opened, _, over = incidents(story.replayed(), "CONNECT-K5")
    assert (opened.severity, opened.opened_at_ms - begin_ms) == (Severity.HIGH, 300_000 + TIMEOUTS_MS)
    assert "no worker may run it" in opened.message
    assert (over.transition, over.resolved_at_ms) == ("resolved", end_ms)
