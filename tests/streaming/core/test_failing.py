"""CONNECT-K19 and K20: what ends them, who is told how loudly, and what history leaves open."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident, JobState, Part, Result, Subject
from rebalance_monitor.streaming.core.model.settings import Owner
from tests.streaming.core.rules.builders import Story, incidents
from tests.streaming.core.rules.cases_across import MINUTE_MS
from tests.streaming.core.rules.cases_failing import FAILED, LOOP, said
from tests.streaming.core.rules.cases_status import JOB, all_running, owner_of


def told(results: list[Result], code: str = FAILED) -> list[str]:
    return [one.transition for one in incidents(results, code)]


def fired(results: list[Result]) -> Incident:
    return next(one for one in incidents(results, FAILED) if one.transition == "fired")


def restarted(story: Story) -> None:
    said(story, "RESTARTING", "UNASSIGNED", "RUNNING")


def deleted(story: Story) -> None:
    said(story, None)


def handed_on(story: Story) -> None:
    story.leave(owner_of(story, JOB))
    story.rebalance()


def paused(story: Story) -> None:
    said(story, "PAUSED")


def emptied(story: Story) -> None:
    story.wait(1_000)
    story.empty()


@pytest.mark.parametrize("end", [restarted, deleted, handed_on, paused, emptied])
def test_it_ends(end: object) -> None:
    story = said(all_running(), "FAILED")
    assert callable(end)
    end(story)
    assert told(story.fold()) == ["opened", "resolved"]


def test_a_failure_that_is_mended_within_its_damping_is_told_to_nobody() -> None:
    story = said(all_running(), "FAILED")
    story.wait(4 * MINUTE_MS)
    assert "fired" not in told(said(story, "RESTARTING", "RUNNING").until(60 * MINUTE_MS).fold())


def test_a_restart_that_does_not_help_leaves_it_open() -> None:
    story = said(all_running(), "FAILED", "RESTARTING", "UNASSIGNED", "FAILED")
    assert told(story.fold()) == ["opened"]


@pytest.mark.parametrize(
    ("owner", "want"),
    [
        (None, AlertSeverity.WARNING),
        (Owner(groups="*", team="t", alerts={"failed": AlertSeverity.CRITICAL}), AlertSeverity.CRITICAL),
        (
            Owner(groups="*", team="t", connectors={"c*": {FAILED: AlertSeverity.CRITICAL}}),
            AlertSeverity.CRITICAL,
        ),
        (
            Owner(groups="*", team="t", connectors={"other": {"failed": AlertSeverity.CRITICAL}}),
            AlertSeverity.WARNING,
        ),
    ],
)
def test_how_loudly_is_the_owners_choice_by_group_or_connector(owner: Owner | None, want: AlertSeverity) -> None:
    story = said(all_running(), "FAILED").until(20 * MINUTE_MS)
    if owner is not None:
        story.settings = replace(story.settings, owners=(owner,))
    assert fired(story.fold()).alert is want


def test_what_has_failed_in_history_and_still_does_is_told() -> None:
    story = said(all_running(), "FAILED")
    start_ms = story.now_ms + 24 * 60 * MINUTE_MS
    group = story.followed()
    group.fold(story.rows, start_ms, historic=True)
    group.results.clear()
    for later_ms in (0, 4, 6):
        group.fold(now_ms=start_ms + later_ms * MINUTE_MS)
    finding = fired(group.results)
    assert not finding.historic
    assert finding.alert is AlertSeverity.WARNING


def test_failed_is_no_agreement() -> None:
    results = said(all_running(), "FAILED").fold()
    last = [one for one in results if isinstance(one, JobState) and one.job.id == JOB][-1]
    assert (last.agreement, last.state) == ("failed", "FAILED")


def test_a_loop_ends_when_its_changes_are_long_ago() -> None:
    story = said(all_running(), *("FAILED", "RESTARTING", "RUNNING") * 4, every_ms=20_000)
    assert told(story.until(10 * MINUTE_MS).fold(), LOOP) == ["opened", "fired"]
    assert told(story.until(60 * MINUTE_MS).fold(), LOOP) == ["opened", "fired", "resolved"]


def test_sixteen_failures_are_one_incident_of_sixteen_and_nothing_else() -> None:
    story = Story.begun({"c1": 16}, "w1", "w2")
    for worker in story.workers.values():
        for name in worker.holds():
            story.status(name, "RUNNING", worker.name)
    story.wait(1_000)
    for number in range(16):
        story.status(f"c1-{number}", "FAILED", owner_of(story, f"c1-{number}"))
    results = story.until(20 * MINUTE_MS).fold()
    assert [one.transition for one in incidents(results) if one.transition != "updated"] == ["opened", "fired"]
    (last,) = {one.incident_id: one for one in incidents(results)}.values()
    assert (last.code, last.parts, len(last.subjects)) == (FAILED, 16, 18)
    assert last.common == (Subject("connector", "c1"),)
    assert len([one for one in results if isinstance(one, Part)]) == 16
