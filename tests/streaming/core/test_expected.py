"""What owners expect of their groups: confirmed over time, met again, not expected any more, never seen, not known."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.fold.state import Envelope, Saved, read, stored
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Certainty, Incident, Result, Severity
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Damping, Expectations, Owner
from rebalance_monitor.streaming.core.runbooks import Addresses
from rebalance_monitor.streaming.notify.alerts import AlertStyle, alert
from tests.streaming.core.comings_and_goings import MINUTE_MS, SECOND_MS, Epochs848, Pods, rolled
from tests.streaming.core.rules.builders import GROUP, Story, incidents
from tests.streaming.core.rules.cases_consumer import ROUNDROBIN
from tests.streaming.core.rules.cases_expected import (
    FEWER,
    LAG,
    REBALANCES,
    SIX,
    members_come,
    one_of_six_is_gone,
    owned,
    six,
    without_one,
)
from tests.streaming.core.rules.cases_progress import EVERY_MS
from tests.streaming.core.rules.cases_worker_lost import lost, three_workers
from tests.streaming.core.rules.consumers import Consumer, record
from tests.streaming.core.test_progress import Polled, consumers

HOUR_MS = 60 * MINUTE_MS
CODES = {FEWER, LAG, REBALANCES}


class Job:
    """One group, folded in turns; the configuration may be another one each time."""

    def __init__(self, story: Story, state: Saved | None = None) -> None:
        self.story, self.state = story, state
        self.results: list[Result] = []

    def fold(self, rows: Sequence[Row] = (), *, at_ms: int, historic: bool = False) -> list[tuple[str, str]]:
        """What is said of the three rules."""
        outcome = fold_group(self.story.settings, GROUP, self.state, rows, Tick(at_ms, historic=historic))
        self.state = outcome.state
        self.results += outcome.results
        return told(outcome.results)

    def last(self) -> Incident:
        return [one for one in incidents(self.results) if one.code in CODES][-1]


def told(results: Sequence[Result]) -> list[tuple[str, str]]:
    return [(one.code, one.transition) for one in incidents(results) if one.code in CODES]


def transitions(story: Story, code: str = FEWER) -> list[str]:
    return [one.transition for one in incidents(story.fold(), code)]


# -- members -----------------------------------------------------------------------------------------------------------


def test_a_member_that_stays_away_is_notified_once_after_the_damping() -> None:
    story = one_of_six_is_gone()
    opened, fired = incidents(story.fold(), FEWER)
    assert (opened.transition, fired.transition, fired.alert) == ("opened", "fired", AlertSeverity.WARNING)
    assert fired.fired_at_ms == opened.opened_at_ms + 5 * MINUTE_MS
    assert opened.message == (
        "at 2027-01-15 08:30:10 UTC it had 5 members, and 6 are expected; gone: pod-3-f728b4fa42485e3a"
    )


def test_a_rolling_deployment_notifies_nobody() -> None:
    pods = six()
    rolled(pods, [pods.pod(number) for number in range(SIX)], each_ms=20 * SECOND_MS)
    said = transitions(pods.story.until(HOUR_MS))
    assert set(said) == {"opened", "resolved"}, "it is seen, and nobody is notified"


def test_it_ends_when_as_many_are_there_again() -> None:
    pods = without_one(six())
    pods.come(pods.pod(3), after_ms=10 * MINUTE_MS)
    assert transitions(pods.story.until(HOUR_MS)) == ["opened", "fired", "resolved"]


def test_a_group_without_any_member_is_worse() -> None:
    pods = without_one(six())
    pods.go(*pods.there, after_ms=MINUTE_MS)
    found = incidents(pods.story.until(10 * MINUTE_MS).fold(), FEWER)
    assert [(one.transition, one.severity) for one in found] == [
        ("opened", Severity.MEDIUM), ("updated", Severity.HIGH), ("fired", Severity.HIGH),
    ]  # fmt: skip
    assert "had 0 members, and 6 are expected" in found[-1].message


def test_the_owner_says_how_soon_and_how_loudly() -> None:
    story = one_of_six_is_gone()
    owner = replace(
        story.settings.owners[0],
        alerts={"fewer_members_than_expected": AlertSeverity.CRITICAL},
        damping={FEWER: Damping(for_ms=MINUTE_MS)},
    )
    story.settings = replace(story.settings, owners=(owner,))
    opened, fired = incidents(story.fold(), FEWER)
    assert (fired.alert, fired.team) == (AlertSeverity.CRITICAL, "t")
    assert fired.fired_at_ms == opened.opened_at_ms + MINUTE_MS


def test_it_names_the_worker_that_went_and_what_stands_still_until_when() -> None:
    story = owned(lost(three_workers()), members_at_least=3)
    (opened, *_) = incidents(story.fold(), FEWER)
    delay_ends = "2027-01-15 08:05:41 UTC, when the delay is over"
    assert opened.message == (
        "at 2027-01-15 08:00:41 UTC it had 2 members, and 3 are expected; gone: w3:8083; "
        f"nobody has c1-2 until {delay_ends}"
    )


@pytest.mark.parametrize("leaves", [1, 2])
def test_members_of_a_group_with_targets_are_counted(leaves: int) -> None:
    """The last one leaves no target behind."""
    group = owned(Epochs848(), members_at_least=2)
    assert isinstance(group, Epochs848)
    for name in "ab":
        group.comes(name, MINUTE_MS)
    for name in "ab"[:leaves]:
        group.goes(name, MINUTE_MS)
    found = incidents(group.until(10 * MINUTE_MS).fold(), FEWER)
    said = [one.transition for one in found if one.transition != "updated"]
    assert said == ["opened", "resolved", "opened", "fired"], "the first one was alone for a minute"
    assert f"had {2 - leaves} member" in found[-1].message


# -- groups that are not there -----------------------------------------------------------------------------------------


def by_name(least: int = SIX) -> Story:
    return owned(Story(), GROUP, members_at_least=least)


def test_a_group_that_was_never_seen_is_missed_when_all_is_read() -> None:
    job = Job(by_name())
    at_ms = job.story.now_ms
    assert job.fold(at_ms=at_ms, historic=True) == []
    assert job.fold(at_ms=at_ms + 1) == [(FEWER, "opened")]
    assert job.last().message == "no record of it was ever read, and 6 members are expected"
    assert job.last().certainty is Certainty.LIKELY
    assert job.fold(at_ms=at_ms + 5 * MINUTE_MS + 1) == [(FEWER, "fired")]
    pods = Pods(story=job.story)
    pods.come(*(pods.pod(number) for number in range(SIX)), after_ms=6 * MINUTE_MS)
    assert job.fold(job.story.rows, at_ms=job.story.now_ms) == [(FEWER, "resolved")]


@pytest.mark.parametrize(
    "envelope",
    [
        pytest.param(Envelope(home="__consumer_offsets-0"), id="its state was lost, and it had records"),
        pytest.param(Envelope(deleted=True), id="by a pattern it need not be there"),
    ],
)
def test_nobody_is_missed_who_may_be_there(envelope: Envelope) -> None:
    story = by_name() if envelope.home else owned(Story(), members_at_least=6)
    assert Job(story, stored(envelope, {})).fold(at_ms=story.now_ms) == []


def test_where_groups_are_polled_nobody_knows_that_one_is_not_there() -> None:
    story = by_name()
    story.settings = replace(story.settings, polled=True)
    assert Job(story).fold(at_ms=story.now_ms) == []


def test_a_group_that_is_expected_by_its_name_and_deleted_is_missed() -> None:
    pods = six(groups=GROUP)
    pods.go(*pods.there)
    pods.story.now_ms += MINUTE_MS
    pods.story.tombstone()
    found = incidents(pods.story.until(10 * MINUTE_MS).fold(), FEWER)
    assert [one.transition for one in found] == ["opened", "fired"], "once, empty and then deleted"


# -- the configuration ------------------------------------------------------------------------------------------------


def expecting(known: ClusterSettings, **expects: int) -> ClusterSettings:
    return replace(known, owners=(Owner(groups="*", team="t", expects=Expectations(**expects)),))


def test_what_is_expected_from_now_on_is_looked_for_without_a_record() -> None:
    story = without_one(six(least=5)).story
    job = Job(story)
    assert job.fold(story.rows, at_ms=story.now_ms) == []
    story.settings = expecting(story.settings, members_at_least=6)
    assert job.fold(at_ms=story.now_ms + MINUTE_MS) == [(FEWER, "opened")]
    story.settings = expecting(story.settings, members_at_least=5)
    assert job.fold(at_ms=story.now_ms + 2 * MINUTE_MS) == [(FEWER, "resolved")]


def test_what_is_not_expected_any_more_ends_with_the_reason() -> None:
    story = without_one(six()).story
    owned(story, members_at_least=SIX, rebalances_per_hour=0)
    job = Job(story)
    job.fold(story.rows, at_ms=story.now_ms)
    story.settings = replace(story.settings, owners=())
    assert sorted(job.fold(at_ms=story.now_ms + MINUTE_MS)) == [(FEWER, "resolved"), (REBALANCES, "resolved")]
    assert job.last().message.endswith("; the configuration does not expect it any more")
    assert read(job.state)[0].book.records.open == {}


def test_a_group_that_was_never_seen_is_not_missed_by_a_pattern() -> None:
    job = Job(by_name())
    assert job.fold(at_ms=job.story.now_ms) == [(FEWER, "opened")]
    job.story.settings = expecting(job.story.settings, members_at_least=SIX)
    assert job.fold(at_ms=job.story.now_ms + 1) == [(FEWER, "resolved")]
    assert job.last().message.endswith("; the configuration does not expect the group by its whole name any more")


def test_what_began_in_history_and_goes_on_is_notified() -> None:
    story = without_one(six()).story
    job = Job(story)
    assert job.fold(story.rows, at_ms=story.now_ms, historic=True) == [(FEWER, "opened")]
    at_ms = story.now_ms + HOUR_MS
    job.fold(at_ms=at_ms)
    assert (FEWER, "fired") in job.fold(at_ms=at_ms + 5 * MINUTE_MS)


# -- rebalances --------------------------------------------------------------------------------------------------------


def test_rebalances_are_few_enough_an_hour_after_the_first_of_too_many() -> None:
    story = members_come(SECOND_MS, MINUTE_MS, MINUTE_MS, MINUTE_MS, expected=2).until(2 * HOUR_MS)
    found = incidents(story.fold(), REBALANCES)
    assert [one.transition for one in found] == ["opened", "fired", "resolved"]
    assert found[-1].resolved_at_ms == story.now_ms - 2 * MINUTE_MS + HOUR_MS


def test_none_at_all_may_be_expected() -> None:
    assert transitions(members_come(SECOND_MS, expected=0), REBALANCES) == ["opened", "fired"]


def test_a_group_id_that_is_first_seen_completes_no_generation() -> None:
    """The new coordinator writes generation 0, without a protocol type, before the first member is there."""
    story = Story()
    story.group_record((), protocol_type="")
    record(story, ROUNDROBIN, Consumer(id="c-1", given="a-0 a-1"))
    owned(story, rebalances_per_hour=1)
    assert transitions(story, REBALANCES) == []
    record(story, ROUNDROBIN, Consumer(id="c-1", given="a-0"), Consumer(id="c-2", given="a-1"))
    assert transitions(story, REBALANCES) == ["opened", "fired"]


@pytest.mark.parametrize("behind_ms", [5 * SECOND_MS, 3 * MINUTE_MS, 58 * MINUTE_MS])
def test_what_was_completed_by_a_clock_that_was_ahead_counts(behind_ms: int) -> None:
    """Another broker coordinates the group, and its clock is behind: one generation by it is one too many."""
    pods = Pods(story=members_come(SECOND_MS, MINUTE_MS, MINUTE_MS, expected=3))
    pods.story.now_ms -= behind_ms
    pods.come(pods.pod(3), after_ms=2 * SECOND_MS)
    story = pods.story.until(2 * HOUR_MS)
    found = incidents(story.fold(), REBALANCES)
    assert [one.transition for one in found] == ["opened", "fired", "resolved"]
    first_ms = min(story.rows[0].timestamp_ms, story.now_ms)
    assert found[-1].resolved_at_ms == first_ms + HOUR_MS, "by the clock that counts now"
    assert f" completed {'from' if behind_ms < MINUTE_MS else 'until'} " in found[0].message


def test_a_clock_that_was_wrong_by_hours_tells_nothing_of_an_hour() -> None:
    pods = Pods(story=members_come(SECOND_MS, MINUTE_MS, MINUTE_MS, expected=3))
    pods.story.now_ms -= 2 * HOUR_MS
    pods.come(pods.pod(3), after_ms=2 * SECOND_MS)
    assert transitions(pods.story, REBALANCES) == []


# -- lag ---------------------------------------------------------------------------------------------------------------


def lagging(limit_s: int = 60) -> Polled:
    polled = consumers()
    owned(polled.story, lag_s=limit_s)
    return polled


def said_of_lag(polled: Polled) -> list[str]:
    return [one.transition for one in incidents(polled.results, LAG)]


def test_lag_is_more_than_expected_when_all_samples_of_five_minutes_show_it() -> None:
    polled = lagging()
    polled.goes_on(MINUTE_MS + 5 * MINUTE_MS + EVERY_MS, still="a-1")
    assert said_of_lag(polled) == []
    polled.goes_on(EVERY_MS, still="a-1")
    assert said_of_lag(polled) == ["opened", "fired"]
    polled.goes_on(EVERY_MS, to_the_end="a-1")
    assert said_of_lag(polled) == ["opened", "fired", "resolved"]


def test_one_sample_that_shows_less_begins_it_anew() -> None:
    polled = lagging()
    for _ in range(4):
        polled.goes_on(4 * MINUTE_MS, still="a-1")
        polled.goes_on(EVERY_MS, to_the_end="a-1")
    assert said_of_lag(polled) == []


def test_a_sample_that_may_show_less_begins_it_anew() -> None:
    """After a restart no sample of the first minute and a half reaches back so far."""
    polled = lagging()
    polled.goes_on(5 * MINUTE_MS, still="a-1")
    polled.begins_anew()
    polled.goes_on(3 * EVERY_MS + 5 * MINUTE_MS, still="a-1")
    assert said_of_lag(polled) == []
    polled.goes_on(EVERY_MS, still="a-1")
    assert said_of_lag(polled) == ["opened", "fired"]
    polled.begins_anew()
    polled.goes_on(2 * EVERY_MS, still="a-1")
    assert said_of_lag(polled) == ["opened", "fired"], "which does not end it"


def test_nobody_is_notified_of_a_lag_that_no_sample_shows_any_more() -> None:
    polled = lagging()
    polled.goes_on(3 * MINUTE_MS, still="a-1")
    polled.waits(HOUR_MS)
    assert said_of_lag(polled) == []
    polled.goes_on(EVERY_MS, still="a-1")
    assert said_of_lag(polled) == [], "what was the case in between nobody knows"


def test_samples_that_do_not_reach_back_so_far_say_nothing() -> None:
    polled = lagging(limit_s=3600)
    polled.goes_on(20 * MINUTE_MS, still="a-0 a-1 a-2")
    assert said_of_lag(polled) == []


# -- laws --------------------------------------------------------------------------------------------------------------


def steps_of(pods: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Which of the first so many pods goes or comes, and after how many seconds."""
    return st.lists(st.tuples(st.integers(0, pods - 1), st.sampled_from((5, 30, 400))), max_size=12)


def lived(steps: list[tuple[int, int]], *, least: int, most: int) -> Story:
    """Six pods that go and come back in turns."""
    pods = six(least=least)
    for number, after_s in steps:
        process = pods.pod(number)
        if any(one == process for one in pods.there.values()):
            pods.go_of(process, after_ms=after_s * SECOND_MS)
        else:
            pods.come(process, after_ms=after_s * SECOND_MS)
    return owned(pods.story, members_at_least=least, rebalances_per_hour=most).until(2 * HOUR_MS)


@settings(max_examples=40, deadline=None)
@given(steps_of(SIX - 1))
def test_nothing_is_said_while_all_is_met(steps: list[tuple[int, int]]) -> None:
    assert told(lived(steps, least=1, most=13).fold()) == []


@settings(max_examples=40, deadline=None)
@given(steps_of(SIX), st.integers(1, SIX), st.integers(0, 6), st.integers(1, 5))
def test_however_batches_are_cut_the_same_is_said(
    steps: list[tuple[int, int]], least: int, most: int, size: int
) -> None:
    story = lived(steps, least=least, most=most)
    job = Job(story)
    for at in range(0, len(story.rows), size):
        rows = story.rows[at : at + size]
        job.fold(rows, at_ms=rows[-1].timestamp_ms)
    job.fold(at_ms=story.now_ms + 2 * HOUR_MS)
    assert job.state is not None
    assert len(read(job.state)[0].rebalanced_ms) <= most + 1, "however long it lives"
    mine = [one for one in incidents(job.results) if one.code in CODES]
    assert mine == [one for one in incidents(story.fold()) if one.code in CODES]
    replayed = [one for one in incidents(story.replayed()) if one.code in CODES]
    assert mine[: len(replayed)] == replayed, "which ends with the last record"


# -- what people are sent ----------------------------------------------------------------------------------------------


def test_the_alert_says_what_is_expected_who_went_and_what_to_do() -> None:
    fired = incidents(one_of_six_is_gone().fold(), FEWER)[-1]
    sent = alert(fired, fired.fired_at_ms or 0, AlertStyle(addresses=Addresses("https://m.example/")))
    labels, annotations = sent["labels"], sent["annotations"]
    assert (labels["alertname"], labels["severity"], labels["team"], labels["rule"]) == (
        "KafkaGroupFewerMembersThanExpected", "warning", "t", "fewer_members_than_expected",
    )  # fmt: skip
    assert annotations["summary"] == "The group has fewer members than its owner expects. Group g of cluster"
    assert annotations["description"] == (
        "the group; incident open since 2027-01-15T08:30:10.000Z. at 2027-01-15 08:30:10 UTC it had 5 members, and 6 "
        "are expected; gone: pod-3-f728b4fa42485e3a"
    )
    assert annotations["next_step"].startswith("The message names who went and what nobody has meanwhile")
    assert annotations["runbook_url"] == "https://m.example/runbook?rule=fewer_members_than_expected"
