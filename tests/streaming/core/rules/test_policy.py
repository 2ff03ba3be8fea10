"""Wishes of the monitor's configuration about real groups: findings are info, and each says what comes next."""

import pytest

from streaming.core.results import Grade, Incident, Severity
from tests.streaming.core.rules.builders import Story, generations, incidents
from tests.streaming.core.rules.cases_policy import wished
from tests.streaming.core.rules.cases_static import newer_blob_ignored

PROTOCOLS = ["default", "compatible", "sessioned"]
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
    (one,) = found["CONNECT-S1"]
    assert [subject.id for subject in one.subjects] == ["c1-0", "w1:8083"]
    assert one.rule == "static_job_on_wildcard_worker"
    assert NO_PROMISE in one.message
    assert "CONNECT-S3" in found


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
    assert "treats it like any other job" in found["CONNECT-P1"][0].message
    assert "then go to any worker" in found["CONNECT-P3"][0].message
    assert "gives them to workers meant for other jobs" in found["CONNECT-P5"][0].message
    assert [subject.id for subject in found["CONNECT-S8"][0].subjects] == ["w2:8083"]


def test_a_worker_meant_for_jobs_and_idle() -> None:
    story = wished({"c9": ("w5:8083",)})
    story.join("w3", "w4", "w5")
    story.rebalance()
    (one,) = opened(story)["CONNECT-P2"]
    assert [subject.id for subject in one.subjects] == ["w5:8083"]
    assert "may give it any job in the next rebalance" in one.message


def test_declarations_in_a_group_of_another_protocol_say_nothing() -> None:
    assert opened(newer_blob_ignored()) == {}


def test_without_wishes_nothing_is_said() -> None:
    story = wished({})
    story.rebalance()
    assert opened(story) == {}
