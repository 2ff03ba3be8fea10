"""CONNECT-K18: all workers gone while connectors should run; by ticks alone, in replay, and silent where nothing is."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupDeleted, Row, Tick, Undecodable
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Certainty, Incident, Severity
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings, Damping
from tests.streaming.core.rules.builders import CONFIGS, GROUP, SESSION_MS, STATUSES, Story, incidents
from tests.streaming.core.rules.cases_across import DELAY_MS, MINUTE_MS
from tests.streaming.core.rules.cases_workers import left, rest, two_workers
from tests.streaming.states import timer_ms

CODE = "CONNECT-K18"
HOUR_MS = 60 * MINUTE_MS


def live(story: Story, rows: list[Row] | None = None, state: Saved | None = None) -> FoldOutcome:
    """The rows as they are read live, with a tick at the story's time."""
    return fold_group(story.settings, GROUP, state, story.rows if rows is None else rows, Tick(story.now_ms))


def due_ms(story: Story, outcome: FoldOutcome) -> int | None:
    """When the next timer of the group's own records is due."""
    return timer_ms(story.settings, GROUP, outcome.state)


def ticked(settings: ClusterSettings, state: Saved, *times_ms: int) -> tuple[Saved, list[Incident]]:
    """Ticks alone, without any further record."""
    found: list[Incident] = []
    for now_ms in times_ms:
        outcome = fold_group(settings, GROUP, state, [], Tick(now_ms))
        state = outcome.state
        found += incidents(outcome.results, CODE)
    return state, found


def test_ticks_alone_open_it_once_and_not_before_its_time() -> None:
    story = left(two_workers())
    outcome = live(story)
    due = story.now_ms + DELAY_MS
    assert due_ms(story, outcome) == due
    state, found = ticked(story.settings, outcome.state, due - 1)
    assert not found
    state, found = ticked(story.settings, state, due, due + HOUR_MS, due + 24 * HOUR_MS)
    opened, fired = found
    assert (opened.transition, opened.opened_at_ms, opened.severity) == ("opened", due, Severity.CRITICAL)
    assert (fired.transition, fired.alert) == ("fired", AlertSeverity.CRITICAL)
    assert "2 connectors are to run: c1, c2" in opened.message


def test_the_first_generation_with_members_ends_it() -> None:
    story = left(two_workers())
    outcome = live(story)
    state, _ = ticked(story.settings, outcome.state, story.now_ms + HOUR_MS)
    known = len(story.rows)
    story.wait(HOUR_MS)
    story.join("w1", "w2")
    story.rebalance()
    (ended,) = incidents(live(story, story.rows[known:], state).results, CODE)
    assert (ended.transition, ended.resolved_at_ms) == ("resolved", story.now_ms)


def test_it_ends_when_no_connector_is_left_to_run_and_begins_anew_with_the_next() -> None:
    story = left(two_workers())
    state, _ = ticked(story.settings, live(story).state, story.now_ms + HOUR_MS)
    known = len(story.rows)
    story.wait(2 * HOUR_MS)
    rest(story, "c1", "STOPPED")
    story.delete("c2")
    outcome = live(story, story.rows[known:], state)
    (ended,) = incidents(outcome.results, CODE)
    assert (ended.transition, ended.resolved_at_ms) == ("resolved", story.now_ms)
    state, found = ticked(story.settings, outcome.state, story.now_ms + HOUR_MS)
    assert not found
    known = len(story.rows)
    story.wait(2 * HOUR_MS)
    rest(story, "c1", "STARTED")
    outcome = live(story, story.rows[known:], state)
    _, (again, _) = ticked(story.settings, outcome.state, story.now_ms + DELAY_MS - 1, story.now_ms + DELAY_MS)
    assert (again.transition, again.opened_at_ms) == ("opened", story.now_ms + DELAY_MS)


def test_replay_finds_an_outage_of_an_hour_and_its_end() -> None:
    story = left(two_workers())
    empty_ms = story.now_ms
    for _ in range(60 * 60 // 4):
        story.wait(4_000)
        story.commit_offsets()
    story.join("w1", "w2")
    story.rebalance()
    opened, *_, ended = [one for one in incidents(story.replayed(), CODE)]
    assert (opened.opened_at_ms, opened.certainty) == (empty_ms + DELAY_MS, Certainty.CERTAIN)
    assert ended.resolved_at_ms == story.now_ms


@pytest.mark.parametrize("made_anew", [False, True])
def test_time_that_nobody_else_saw_pass_opens_nothing_that_the_same_record_ends(made_anew: bool) -> None:
    """Nobody knows whether the group was without a worker for too long; that it has some now is known."""
    story = left(two_workers())
    if made_anew:
        story.wait(1_000)
        story.tombstone()
    story.wait(HOUR_MS)
    story.join("w1", "w2")
    story.rebalance()
    assert not incidents(story.fold(), CODE)
    assert not incidents(story.replayed(), CODE)


def test_what_is_configured_counts_by_its_time_and_not_by_what_is_read_later() -> None:
    """Replay reads the whole config topic first: connectors that are stopped after the outage ran before it."""
    story = left(two_workers())
    for _ in range(60 * 60 // 4):
        story.wait(4_000)
        story.commit_offsets()
    story.join("w1", "w2")
    story.rebalance()
    for name in ("c1", "c2"):
        story.wait(MINUTE_MS)
        rest(story, name, "STOPPED")
    assert incidents(story.replayed(), CODE)


def test_a_group_that_history_shows_empty_waits_from_the_first_live_tick() -> None:
    story = left(two_workers())
    start_ms = story.now_ms + 24 * HOUR_MS
    outcome = fold_group(story.settings, GROUP, None, story.rows, Tick(start_ms, historic=True))
    assert not incidents(outcome.results, CODE)
    assert outcome.due_ms is not None
    assert outcome.due_ms <= start_ms
    state, found = ticked(story.settings, outcome.state, start_ms, start_ms + DELAY_MS - 1)
    assert not found
    _, (opened, fired) = ticked(story.settings, state, start_ms + DELAY_MS)
    assert (opened.opened_at_ms, opened.historic) == (start_ms + DELAY_MS, False)
    assert fired.alert is AlertSeverity.CRITICAL


def test_a_group_first_seen_by_its_tombstone_waits_likewise() -> None:
    story = left(two_workers())
    story.tombstone()
    rows = [row for row in story.rows if row.topic == CONFIGS or isinstance(row.body, GroupDeleted)]
    outcome = fold_group(story.settings, GROUP, None, rows, Tick(story.now_ms, historic=True))
    state, found = ticked(story.settings, outcome.state, story.now_ms, story.now_ms + DELAY_MS - 1)
    assert not found
    assert ticked(story.settings, state, story.now_ms + DELAY_MS)[1]


def test_the_larger_of_delay_and_session_time_out_counts_and_the_configuration_replaces_it() -> None:
    for delay_ms, want_ms in ((0, SESSION_MS), (40_000, 40_000)):
        story = two_workers()
        topics = ConnectSettings(config_topic=CONFIGS, status_topic=STATUSES, max_delay_ms=delay_ms)
        story.settings = replace(story.settings, connect={GROUP: topics})
        outcome = live(left(story))
        assert due_ms(story, outcome) == story.now_ms + want_ms
    story.settings = replace(story.settings, damping={"all_workers_gone": Damping(for_ms=HOUR_MS)})
    outcome = live(story)
    assert not ticked(story.settings, outcome.state, story.now_ms + HOUR_MS - 1)[1]
    _, (opened, fired) = ticked(story.settings, outcome.state, story.now_ms + HOUR_MS)
    assert opened.opened_at_ms == fired.fired_at_ms == story.now_ms + HOUR_MS


def test_the_group_record_written_again_and_the_tombstone_leave_it_open() -> None:
    story = left(two_workers())
    state, _ = ticked(story.settings, live(story).state, story.now_ms + HOUR_MS)
    known = len(story.rows)
    story.wait(2 * HOUR_MS)
    story.group_record(())
    story.tombstone()
    outcome = live(story, story.rows[known:], state)
    assert not incidents(outcome.results, CODE)
    assert not ticked(story.settings, outcome.state, story.now_ms + HOUR_MS)[1]


def test_restarting_all_workers_one_by_one_or_all_at_once_is_silent() -> None:
    story = two_workers()
    for name in ("w1", "w2"):
        story.leave(name)
        story.rebalance()
        story.join(name)
        story.rebalance(after_ms=20_000)
    story = left(story)
    story.join("w1", "w2")
    story.rebalance(after_ms=30_000)
    found = [one for one in incidents(story.until(HOUR_MS).fold()) if one.severity not in (Severity.INFO, Severity.LOW)]
    assert not found


def test_a_record_of_the_group_that_cannot_be_read_leaves_it_unknown() -> None:
    story = left(two_workers())
    empty = story.rows[-1]
    unread = replace(empty, offset=empty.offset + 1, body=Undecodable(reason="cut off", size_bytes=3, sample="00"))
    outcome = live(story, [*story.rows, unread])
    assert not ticked(story.settings, outcome.state, story.now_ms + HOUR_MS)[1]
