"""A rebalance that does not end: found by what is polled, and ended by the next record."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.group_states import (
    COMPLETING,
    PREPARING,
    GroupStates,
    StatePoll,
)
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.model.results import AlertSeverity
from rebalance_monitor.streaming.core.model.settings import Owner
from tests.streaming.core.followed_story import FollowedStory
from tests.streaming.core.rules.builders import GROUP, Story, incidents
from tests.streaming.core.rules.cases_consumer_time import ROUNDROBIN, WHOLE
from tests.streaming.core.rules.cases_status import all_running
from tests.streaming.core.rules.consumers import group, record

EVERY_MS = 10_000
ANSWERED_MS = 50
CONSUMER_MS, CONNECT_MS = 60_000, 70_000
"""How long the members of each story let a rebalance last; workers' session time-outs come on top."""
STUCK = "GROUP-G1"


class Polled(FollowedStory):
    """And the group's state is asked for every ten seconds."""

    def __init__(self, story: Story) -> None:
        super().__init__(story, STUCK)

    def polls(self, state: str | None, for_ms: int) -> list[tuple[str, str]]:
        """The group is seen in this state so long (None: not rebalancing). Returns what was said of the rule."""
        said = []
        for _ in range(for_ms // EVERY_MS):
            self.now_ms += EVERY_MS
            states = {} if state is None else {GROUP: state}
            poll = StatePoll(self.now_ms - ANSWERED_MS, self.now_ms, states)
            self.knowledge = Knowledge(groups=self.knowledge.groups.with_poll(poll))
            said += self.said()
        return said


OPENED = [(STUCK, "opened"), (STUCK, "fired")]


def consumers() -> Polled:
    return Polled(group(ROUNDROBIN, WHOLE))


def test_a_rebalance_that_lasts_longer_than_its_members_allow_pages_once() -> None:
    polled = consumers()
    assert polled.polls(PREPARING, CONSUMER_MS) == []
    assert polled.polls(PREPARING, 2 * EVERY_MS) == OPENED
    assert polled.polls(PREPARING, CONSUMER_MS) == []
    incident = polled.incident()
    assert (incident.alert, incident.firing) == (AlertSeverity.CRITICAL, True)
    assert incident.message.startswith("in PreparingRebalance since 2027-01-15 08:00:")


def test_connects_workers_have_their_session_time_out_too() -> None:
    polled = Polled(all_running())
    assert polled.polls(PREPARING, CONNECT_MS) == []
    assert polled.polls(PREPARING, 2 * EVERY_MS) == OPENED


def test_the_next_record_ends_it_and_names_who_did_not_come_back() -> None:
    polled = consumers()
    polled.polls(PREPARING, CONSUMER_MS + 2 * EVERY_MS)
    gone, *left = reversed(WHOLE)
    record(polled.story, ROUNDROBIN, *left, after_ms=polled.now_ms - polled.story.now_ms)
    assert polled.reads() == [(STUCK, "resolved")]
    assert polled.incident().message.endswith(f"it ended without {gone.id}, which did not join again")


def test_a_group_that_is_complete_again_names_nobody() -> None:
    polled = consumers()
    polled.polls(PREPARING, CONSUMER_MS + 2 * EVERY_MS)
    record(polled.story, ROUNDROBIN, *WHOLE, after_ms=polled.now_ms - polled.story.now_ms)
    assert polled.reads() == [(STUCK, "resolved")]
    assert (
        "no record tells which was the last"
        in [one for one in incidents(polled.results) if one.code == STUCK][-1].message
    )


def test_both_states_of_one_rebalance_have_their_time() -> None:
    polled = consumers()
    assert polled.polls(PREPARING, CONSUMER_MS) == []
    assert polled.polls(COMPLETING, CONSUMER_MS) == []
    assert polled.polls(COMPLETING, 2 * EVERY_MS) == OPENED


def test_a_group_that_goes_from_one_state_to_the_other_and_back_is_stuck_after_twice_the_time() -> None:
    polled = consumers()
    said = [polled.polls(state, CONSUMER_MS // 2) for state in (PREPARING, COMPLETING) * 2]
    assert said == [[]] * 4
    assert polled.polls(PREPARING, 2 * EVERY_MS) == OPENED


def test_a_generation_that_was_written_meanwhile_begins_the_time_anew() -> None:
    polled = consumers()
    polled.polls(PREPARING, CONSUMER_MS)
    record(polled.story, ROUNDROBIN, *WHOLE, after_ms=polled.now_ms - polled.story.now_ms)
    assert polled.reads() == []
    assert polled.polls(PREPARING, CONSUMER_MS) == []
    assert polled.polls(PREPARING, 2 * EVERY_MS) == OPENED


def test_a_poll_that_fails_opens_nothing_and_ends_nothing() -> None:
    polled = consumers()
    polled.polls(PREPARING, EVERY_MS)
    assert polled.waits(10 * CONSUMER_MS) == [], "seen once, ten minutes ago: nobody knows of the time since"
    assert polled.polls(PREPARING, EVERY_MS) == OPENED
    assert polled.polls(None, 10 * EVERY_MS) == [], "the record that ends it is still to come"


def test_a_coordinator_that_does_not_answer_begins_the_time_anew() -> None:
    """Its group is in no answer. The broker that takes over knows nothing of the joins before."""
    polled = consumers()
    polled.polls(PREPARING, CONSUMER_MS)
    polled.polls(None, EVERY_MS)
    assert polled.polls(PREPARING, CONSUMER_MS) == []
    assert polled.polls(PREPARING, 2 * EVERY_MS) == OPENED


def test_nobody_knows_how_long_a_group_without_members_may_take() -> None:
    polled = Polled(group(ROUNDROBIN, WHOLE))
    record(polled.story, ROUNDROBIN)
    polled.reads()
    assert polled.polls(PREPARING, 100 * CONSUMER_MS) == []


def test_an_owners_time_out_counts_instead() -> None:
    story = group(ROUNDROBIN, WHOLE)
    patient = Owner(groups="*", team="t", rebalance_timeout_ms=2 * CONSUMER_MS)
    story.settings = replace(story.settings, owners=(patient,))
    polled = Polled(story)
    assert polled.polls(PREPARING, 2 * CONSUMER_MS) == []
    assert polled.polls(PREPARING, 2 * EVERY_MS) == OPENED
    assert f"the {2 * CONSUMER_MS // 1_000} s that its owner allows" in polled.incident().message


def test_what_is_polled_after_the_last_record_that_is_read_does_not_count() -> None:
    """The poll is newer than the tick: the end of this rebalance may be written and not yet read."""
    polled = consumers()
    polled.polls(PREPARING, CONSUMER_MS)
    poll = StatePoll(10 * CONSUMER_MS, 10 * CONSUMER_MS, {GROUP: PREPARING})
    polled.knowledge = Knowledge(groups=polled.knowledge.groups.with_poll(poll))
    assert polled.waits(0) == []


@given(st.lists(st.tuples(st.integers(1, 20_000), st.sampled_from([PREPARING, COMPLETING, None]))))
def test_what_is_said_to_last_was_seen_by_every_poll_meanwhile(polls: list[tuple[int, str | None]]) -> None:
    """No group is said to rebalance for longer than from the answer to one poll to the question of another, with none
    in between that lacks it."""
    states, now_ms, first_ms = GroupStates(), 0, None
    for after_ms, state in polls:
        asked_ms, now_ms = now_ms + after_ms, now_ms + after_ms + ANSWERED_MS
        states = states.with_poll(StatePoll(asked_ms, now_ms, {} if state is None else {GROUP: state}))
        if state is None:
            first_ms = None
        elif first_ms is None:
            first_ms = now_ms
        seen = states.rebalancing.get(GROUP)
        assert (seen is None) == (first_ms is None)
        if seen is not None and first_ms is not None:
            assert seen.begun_ms == first_ms
            assert seen.begun_ms <= seen.since_ms <= seen.seen_ms <= now_ms


@pytest.mark.parametrize("of", [None, frozenset({"another"})])
def test_who_is_not_asked_for_stays_as_it_was(of: frozenset[str] | None) -> None:
    states = GroupStates().with_poll(StatePoll(0, 1, {GROUP: PREPARING})).with_poll(StatePoll(5, 6, {}, of=of))
    assert (GROUP in states.rebalancing) == (of is not None)
