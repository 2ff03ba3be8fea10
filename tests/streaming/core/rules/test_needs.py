"""A law says nothing, not even that all is well, where what it needs is missing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.connect.rules.context import Need
from rebalance_monitor.streaming.core.connect.rules.examine import LAWS
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Severity
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from tests.streaming.core.rules.builders import GROUP, STATUSES, Story, incidents
from tests.streaming.core.rules.cases_record import (
    deleted_job_handed_out,
    dropped,
    fresh_pair,
    job_in_two_hands,
    lopsided,
    mismatch,
)
from tests.streaming.core.rules.cases_static import static_job_to_wildcard_worker
from tests.streaming.core.rules.edits import drop


def without_config(story: Story) -> Story:
    """The monitor may not read the group's config topic."""
    known = ConnectSettings(config_topic=None, status_topic=STATUSES, max_delay_ms=300_000)
    story.settings = replace(story.settings, connect={GROUP: known})
    return story


def alarms(story: Story) -> set[str]:
    return {one.code for one in incidents(story.fold()) if one.severity is not Severity.INFO}


@pytest.mark.parametrize("broken", [dropped, lopsided, deleted_job_handed_out, static_job_to_wildcard_worker])
def test_without_the_config_topic_its_laws_are_silent(broken: Callable[[], Story]) -> None:
    story = without_config(broken())
    assert not alarms(story)
    assert {one.verdict.grade for one in story.fold() if isinstance(one, Generation)} == {Grade.NOT_JUDGED}


def test_without_the_config_topic_the_other_laws_speak() -> None:
    assert alarms(without_config(job_in_two_hands())) == {"CONNECT-I1"}


def test_an_incident_stays_open_while_its_law_cannot_be_asked() -> None:
    """An error round shows nothing of who should hold what; the next right one ends the incident."""
    story = dropped()
    open_codes = {one.code for one in incidents(story.fold())}
    mismatch(story)
    found = [one.transition for one in incidents(story.fold(), "CONNECT-I4")]
    assert "CONNECT-I4" in open_codes
    assert "resolved" not in found
    story.workers["w1"].reads_until = None
    story.rebalance()
    assert [one.transition for one in incidents(story.fold(), "CONNECT-I4")][-1] == "resolved"


def test_what_config_dependent_laws_need_is_declared() -> None:
    needing = {rule.code for law in LAWS for rule in law.rules if Need.CONFIG in law.needs}
    assert {"CONNECT-I4", "CONNECT-I5", "CONNECT-I8", *(f"CONNECT-S{n}" for n in range(1, 9))} <= needing


def test_a_repeated_drop_becomes_critical_once() -> None:
    story = fresh_pair()
    for _ in range(3):
        story.rebalance(drop("w2", "c1-1"))
    found = incidents(story.fold(), "CONNECT-I4")
    told = [(one.transition, one.severity) for one in found if one.transition in ("opened", "updated")]
    assert told[0] == ("opened", Severity.HIGH)
    assert set(told[1:]) == {("updated", Severity.CRITICAL)}
