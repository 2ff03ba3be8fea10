"""Statuses of a Connect group that is polled: rows and what has FAILED, and no generation that is compared."""

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.connect.rules.catalogue_status import RULES
from rebalance_monitor.streaming.core.connect.statuses.polled import Held
from rebalance_monitor.streaming.core.connect.topics import StatusChange
from rebalance_monitor.streaming.core.fold.sampling import MISSING, NO_LONGER
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Certainty, Incident, JobState, Result
from tests.profile import size
from tests.streaming.core.polled import TAIL_MS, Asked, Seen, asked, everything, rows_of
from tests.streaming.core.rules.builders import GROUP, Story, incidents
from tests.streaming.core.rules.cases_failing import FAILED, LOOP, failed_where_it_was_before, said
from tests.streaming.core.rules.cases_status import (
    JOB,
    all_running,
    handed_on,
    owner_of,
    runs_on_after_its_successor_started,
    runs_what_another_holds,
)

CAPTURES = (
    "captures/steady", "captures/sessioned-4.3.1", "captures/compatible-2.8.2", "captures/eager-2.8.2",
    "captures/zombie",
)  # fmt: skip
BY_STATUS = {rule.code for rule in RULES}
MINUTE_MS = 60_000


@cache
def capture(name: str) -> Any:
    return rows_of(name)


def polled(story: Story, seen: Seen = everything) -> list[Result]:
    """What is said of the story where its group is polled, and for 20 min after its end."""
    return asked(story.settings, capture("captures/steady")[1], GROUP, story.rows, seen).results


def told(results: Sequence[Result], code: str) -> list[Incident]:
    return incidents(results, code)


def rows(results: Sequence[Result]) -> dict[str, JobState]:
    """The last row of each connector and task."""
    return {one.job.key: one for one in results if isinstance(one, JobState)}


def restamped(row: Row, add: int) -> Row:
    """The status as if its worker's generations were so much higher."""
    if not isinstance(row.body, StatusChange) or row.body.record.generation is None:
        return row
    record = replace(row.body.record, generation=row.body.record.generation + add)
    return replace(row, body=replace(row.body, record=record))


# -- what is found -------------------------------------------------------------------------------------------------


def test_a_task_that_has_failed_is_found_is_likely_and_ends_when_it_runs() -> None:
    story = said(all_running(), "FAILED")
    (opened,) = [one for one in told(polled(story), FAILED) if one.transition == "opened"]
    assert (opened.certainty, opened.sampled) == (Certainty.LIKELY, True)
    assert opened.message == f"task {JOB} has FAILED on {owner_of(story, JOB)}:8083, which holds it; {MISSING}"
    story.wait(2 * MINUTE_MS)
    ended = told(polled(said(story, "RESTARTING", "RUNNING")), FAILED)
    assert [one.transition for one in ended] == ["opened", "resolved"]


def test_people_are_told_of_a_failure_that_lasts() -> None:
    transitions = [one.transition for one in told(polled(said(all_running(), "FAILED")), FAILED)]
    assert transitions == ["opened", "fired"]


def test_a_restart_loop_is_found_and_is_likely() -> None:
    story = said(all_running(), *("FAILED", "RESTARTING", "RUNNING") * 4, every_ms=20_000)
    polled = asked(story.settings, capture("captures/steady")[1], GROUP, story.rows)
    found = told(polled.results, LOOP)
    assert [each.transition for each in found] == ["opened", "fired"]
    assert {each.certainty for each in found} == {Certainty.LIKELY}
    ended = told(polled.passes(story.now_ms + story.settings.restart_loop_ms), LOOP)
    assert [each.transition for each in ended] == ["resolved"]


def test_restarts_on_two_workers_are_no_loop() -> None:
    """Clocks of two hosts do not say how much time lies between."""
    story = all_running()
    for _ in range(6):
        for name in story.workers:
            story.wait(5_000)
            story.status(JOB, "FAILED", name)
    assert told(polled(story), LOOP) == []


def test_each_connector_and_task_has_a_row_that_is_marked() -> None:
    table = rows(polled(all_running()))
    assert sorted(table) == ["connector c1", "task c1-0", "task c1-1"]
    assert {(one.agreement, one.state, one.sampled, one.judged) for one in table.values()} == {
        ("ok", "RUNNING", True, False)
    }
    assert all(as_object(one)["sampled"] is True for one in table.values())


def test_a_failure_is_in_the_row() -> None:
    assert rows(polled(said(all_running(), "FAILED")))[f"task {JOB}"].agreement == "failed"


# -- what is not sure ----------------------------------------------------------------------------------------------


def test_a_word_of_a_worker_that_does_not_hold_the_task_says_nothing() -> None:
    """A former owner, or the next one in a round that was not seen yet."""
    story = all_running()
    stranger = next(one for one in story.workers if one != owner_of(story, JOB))
    story.status(JOB, "FAILED", stranger)
    results = polled(story)
    assert told(results, FAILED) == []
    assert rows(results)[f"task {JOB}"].agreement == "unknown"


def test_a_failure_from_before_a_restart_of_the_worker_is_not_counted_while_it_starts() -> None:
    story = said(all_running(), "FAILED")
    story.restart(owner_of(story, JOB))
    story.rebalance(after_ms=1_000)
    said(story, "RUNNING", every_ms=20_000)
    assert told(polled(story, lambda number: number > 1), FAILED) == []


def test_a_failure_ends_when_another_worker_holds_the_task() -> None:
    story = said(all_running(), "FAILED")
    story.wait(5 * MINUTE_MS)
    story.leave(owner_of(story, JOB))
    story.rebalance(after_ms=10_000)
    assert told(polled(story), FAILED)[-1].transition == "resolved"


@pytest.mark.parametrize(
    "make", [runs_on_after_its_successor_started, runs_what_another_holds, lambda: handed_on()[0].until(80_000)]
)
def test_rules_that_compare_generations_are_not_judged(make: Any) -> None:
    found = {one.code for one in incidents(polled(make())) if one.code in BY_STATUS}
    assert found <= {FAILED, LOOP}


def test_a_former_owners_failure_is_none() -> None:
    assert told(polled(failed_where_it_was_before()), FAILED) == []


def test_a_failure_that_is_read_after_the_last_answer_waits_for_the_next_one() -> None:
    """Since that answer the task may have been given to another worker."""
    story = all_running()
    polled = asked(story.settings, capture("captures/steady")[1], GROUP, story.rows)
    now_ms = story.now_ms + TAIL_MS
    before = len(story.rows)
    said(story, "FAILED")
    assert told(polled.fold(story.rows[before:], now_ms + 1_000, shown_ms=now_ms), FAILED) == []
    assert told(polled.fold([], now_ms + 600_000, shown_ms=now_ms), FAILED) == []
    found = told(polled.fold([], now_ms + 610_000, shown_ms=now_ms + 609_000), FAILED)
    assert [each.transition for each in found] == ["opened"]


@pytest.mark.parametrize("apart_ms", [-7_200_000, 7_200_000])
def test_a_loop_lasts_as_long_whatever_the_clock_of_its_worker(apart_ms: int) -> None:
    story = all_running()
    before = len(story.rows)
    said(story, *("FAILED", "RESTARTING", "RUNNING") * 4, every_ms=20_000)
    polled = asked(story.settings, capture("captures/steady")[1], GROUP, story.rows[:before])
    now_ms = story.now_ms + TAIL_MS
    for row in story.rows[before:]:
        now_ms += 20_000
        polled.fold([replace(row, timestamp_ms=row.timestamp_ms + apart_ms)], now_ms)
    assert [each.transition for each in told(polled.results, LOOP)] == ["opened", "fired"]
    assert told(polled.passes(now_ms + story.settings.restart_loop_ms // 2), LOOP) == []
    ended = told(polled.passes(now_ms + story.settings.restart_loop_ms), LOOP)
    assert [each.transition for each in ended] == ["resolved"]


# -- no comparison -------------------------------------------------------------------------------------------------


def test_who_holds_a_job_has_no_number_to_compare_with() -> None:
    assert [one.name for one in fields(Held)] == ["workers", "members", "since_ms"]


@pytest.mark.parametrize("make", [lambda: said(all_running(), "FAILED"), lambda: handed_on()[0], all_running])
@given(add=st.integers(-1_000, 1_000))
@settings(max_examples=size(3, 80), deadline=None)
def test_whatever_generations_workers_state_the_same_is_said(make: Any, add: int) -> None:
    """A polled assignment has a number of its own: that of a status must not matter."""

    def shown(by: int) -> list[Result]:
        story = make()
        known = capture("captures/steady")[1]
        moved = [restamped(row, by) for row in story.rows]
        results = asked(story.settings, known, GROUP, moved).results
        return [replace(one, running_generation=None) if isinstance(one, JobState) else one for one in results]

    assert shown(add) == shown(0)


# -- real groups ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CAPTURES)
@given(masks=st.lists(st.booleans(), min_size=1, max_size=8))
@settings(max_examples=size(2, 40), deadline=None)
def test_whatever_was_not_seen_no_status_of_a_healthy_group_is_an_alarm(name: str, masks: list[bool]) -> None:
    known, knowledge, by_group = capture(name)
    for group, own in by_group.items():
        if not group:
            continue
        results = asked(known, knowledge, group, own, lambda number: masks[number % len(masks)]).results
        assert [one.message for one in incidents(results) if one.code in BY_STATUS] == []


@pytest.mark.parametrize("name", CAPTURES)
def test_connectors_and_tasks_of_a_real_group_have_rows(name: str) -> None:
    known, knowledge, by_group = capture(name)
    table: dict[str, JobState] = {}
    for group, own in by_group.items():
        if group:
            table |= rows(asked(known, knowledge, group, own).results)
    assert table
    assert all(one.sampled for one in table.values())


# -- read, then polled, then read ----------------------------------------------------------------------------------


def test_an_incident_of_statuses_that_is_not_judged_any_more_ends_and_says_so() -> None:
    story = runs_what_another_holds()
    polled = Asked(story.settings, GROUP)
    polled.fold(story.rows, story.now_ms)
    assert [each.transition for each in incidents(polled.passes(story.now_ms + MINUTE_MS), "CONNECT-K3")] == ["opened"]
    body = [row.body for row in story.rows if isinstance(row.body, GroupGeneration)][-1]
    (ended,) = incidents(polled.told(body, story.now_ms + 2 * MINUTE_MS), "CONNECT-K3")
    assert (ended.transition, ended.message.endswith(NO_LONGER)) == ("resolved", True)


def test_a_failure_that_was_found_goes_on_when_the_group_is_polled() -> None:
    story = said(all_running(), "FAILED")
    polled = Asked(story.settings, GROUP)
    polled.fold(story.rows, story.now_ms)
    assert [each.transition for each in incidents(polled.passes(story.now_ms + MINUTE_MS), FAILED)] == ["opened"]
    body = [row.body for row in story.rows if isinstance(row.body, GroupGeneration)][-1]
    later = [*polled.told(body, story.now_ms + 2 * MINUTE_MS), *polled.passes(story.now_ms + TAIL_MS)]
    assert "resolved" not in {each.transition for each in incidents(later, FAILED)}
    assert rows(later)[f"task {JOB}"].agreement == "failed"
