"""How incidents of static members that stay away begin and end by the clock, and how much is kept of them."""

from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.fold.missing_members import (
    INSTEAD_MS,
    MOST_HELD,
    MOST_LETTERS,
    MOST_MISSED,
    PATIENCE_MS,
    TOLD_MS,
)
from rebalance_monitor.streaming.core.fold.state import read, stored
from rebalance_monitor.streaming.core.incidents.rule import MINUTE_MS
from rebalance_monitor.streaming.core.model.records import OtherGroup
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Certainty
from rebalance_monitor.streaming.core.model.settings import Damping
from tests.streaming.core.rules.builders import Story, incidents
from tests.streaming.core.rules.cases_missing import GONE_MS, MISSING, ROUNDROBIN, THREE, TWO, static, static_pair, told
from tests.streaming.core.rules.cases_missing import without_b as without
from tests.streaming.core.rules.consumers import Consumer, record
from tests.streaming.core.test_consumer_waits import Live

OPENS = [(MISSING, "opened"), (MISSING, "fired")]


def lost() -> Live:
    """A host went two minutes after the record before; the monitor's clock runs along."""
    live = Live(told(THREE, TWO))
    live.goes_on()
    return live


def test_it_is_information_and_opens_once_with_the_patience() -> None:
    live = lost()
    assert live.goes_on(PATIENCE_MS - 1) == []
    assert live.goes_on(PATIENCE_MS) == OPENS
    assert live.incident().alert is AlertSeverity.INFO
    assert live.incident().certainty is Certainty.LIKELY
    assert live.goes_on(10 * PATIENCE_MS) == []


def test_it_goes_on_through_generations_without_the_member_and_ends_with_it() -> None:
    live = lost()
    live.goes_on(PATIENCE_MS)
    record(live.story, ROUNDROBIN, *TWO, after_ms=2 * PATIENCE_MS)
    assert live.goes_on() == []
    record(live.story, ROUNDROBIN, *THREE)
    assert live.goes_on() == [(MISSING, "resolved")]


def test_it_ends_with_the_group() -> None:
    live = lost()
    live.goes_on(PATIENCE_MS)
    live.story.now_ms += 2 * PATIENCE_MS
    live.story.generation += 1
    live.story.group_record((), protocol_type="consumer")
    assert live.goes_on() == [(MISSING, "resolved")]


def test_it_ends_a_day_later_where_the_group_goes_on_without_the_member() -> None:
    live = lost()
    live.goes_on(PATIENCE_MS)
    assert live.goes_on(PATIENCE_MS + TOLD_MS - MINUTE_MS) == []
    assert live.goes_on(PATIENCE_MS + TOLD_MS) == [(MISSING, "resolved")]
    record(live.story, ROUNDROBIN, *TWO, after_ms=2 * TOLD_MS)
    assert live.goes_on(PATIENCE_MS) == [], "it is told once"


def test_it_ends_when_the_last_static_member_is_given_up() -> None:
    live = lost()
    live.goes_on(PATIENCE_MS)
    record(live.story, ROUNDROBIN, Consumer(id="m1", given="a-0"), after_ms=2 * PATIENCE_MS)
    assert live.goes_on(PATIENCE_MS) == [(MISSING, "resolved")]


def test_the_configuration_sets_the_patience() -> None:
    live = Live(told(THREE, TWO))
    damping = {"static_member_missing": Damping(for_ms=MINUTE_MS)}
    live.settings = replace(live.settings, damping=damping)
    live.goes_on()
    assert live.goes_on(MINUTE_MS - 1) == []
    assert live.goes_on(MINUTE_MS) == OPENS
    assert "has been away since 2027-01-15 08:04:00 UTC" in live.incident().message


@pytest.mark.parametrize(("after_ms", "said"), [(INSTEAD_MS, []), (INSTEAD_MS + MINUTE_MS, OPENS)])
def test_who_came_long_before_did_not_come_instead(after_ms: int, said: list[tuple[str, str]]) -> None:
    four = (*THREE, static(4, "a-3"))
    live = Live(told(THREE, four))
    live.goes_on()
    record(live.story, ROUNDROBIN, static(2, "a-0 a-1"), *four[2:], after_ms=after_ms)
    live.goes_on()
    assert live.goes_on(PATIENCE_MS) == said


def test_members_of_several_hosts_that_go_at_once_may_be_scaled_down() -> None:
    live = Live(told(THREE, THREE[:1]))
    live.goes_on()
    live.goes_on(PATIENCE_MS)
    assert live.incident().certainty is Certainty.POSSIBLE
    assert [one.id for one in live.incident().subjects] == ["i2", "i3"]


@pytest.mark.parametrize("hole", [False, True])
def test_where_records_of_an_epoch_group_were_not_read_nobody_is_missed(hole: bool) -> None:
    """A return may be among them."""
    story = without(static_pair())
    story.after().write(8, None, "unknown")
    *before, last = story.rows
    assert isinstance(last.body, OtherGroup)
    story.rows = [*before, replace(last, body=replace(last.body, after_hole=hole))]
    found = incidents(story.until(2 * PATIENCE_MS).fold(), MISSING)
    assert bool(found) is not hole


def test_what_is_kept_and_shown_is_bounded() -> None:
    long = "x" * 10_000
    share = " ".join(f"{'t' * 200}-{number}" for number in range(3 * MOST_HELD))
    many = tuple(
        replace(static(number, share if number == 1 else ""), client_id=long, topics="t" * 200)
        for number in range(1, 4 * MOST_MISSED)
    )
    live = Live(told(many, (static(0, ""), *many[-1:])))
    record(live.story, ROUNDROBIN, *many[-1:], after_ms=GONE_MS)
    live.goes_on()
    live.goes_on(PATIENCE_MS)
    opened = [one for one in incidents(live.results, MISSING) if one.transition == "opened"]
    assert opened
    assert all(len(one.message) < 10 * MOST_LETTERS for one in incidents(live.results, MISSING))
    assert live.state is not None
    assert len(live.state.lines) < MOST_MISSED * 10 * MOST_LETTERS + 100_000


@pytest.mark.parametrize("story", [lambda: told(THREE, TWO), lambda: without(static_pair())])
def test_a_state_of_an_earlier_release_misses_nobody_and_goes_on(story: object) -> None:
    made = story() if callable(story) else None
    assert isinstance(made, Story)
    live = Live(made)
    live.goes_on(MINUTE_MS)
    assert live.state is not None
    envelope, bodies = read(live.state)
    without_missed = {name: text.replace('"missed":', '"unknown":') for name, text in bodies.items()}
    assert bodies != without_missed
    live.state = stored(envelope, without_missed)
    assert live.goes_on(PATIENCE_MS) == []
