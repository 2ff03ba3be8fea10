"""When brokers are asked which groups rebalance, and what is made of their answers. The clock is the test's."""

from collections.abc import Callable

import pytest

from rebalance_monitor.streaming.core.cluster.group_states import PREPARING, GroupStates
from rebalance_monitor.streaming.polling.admin import next_of
from rebalance_monitor.streaming.polling.asking_states import StateAnswer
from rebalance_monitor.streaming.polling.poller import HANGS_S, LOOK_EVERY_S
from rebalance_monitor.streaming.polling.states import MOST_BY_NAME, PART, RIGHTS_EVERY_S, StatePoller
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.polling.observed_poller import ObservedPoller

EVERY_S = 10.0
NOBODY = StateAnswer({}, requests=3)


class Asked(ObservedPoller):
    """A poller of a cluster whose answers the test sets; what it asked, and what it said of itself."""

    part_name = PART
    poller: StatePoller

    def __init__(self) -> None:
        super().__init__()
        self.answer: Callable[[], StateAnswer] = lambda: NOBODY
        self.by_name: list[str] = []
        self.lists = self.rights = 0
        self.unseen: list[bool] = []
        self.poller = StatePoller(self, self, EVERY_S, now_ms=self.now_ms, clock_s=lambda: self.now_s)

    def consumers(self) -> StateAnswer:
        self.lists += 1
        return self.answer()

    def group(self, name: str) -> StateAnswer:
        self.by_name.append(name)
        return StateAnswer({name: PREPARING}, requests=4)

    def refused(self) -> bool:
        self.rights += 1
        return True

    def groups_unseen(self, *, unseen: bool) -> None:
        self.unseen.append(unseen)

    def states(self) -> GroupStates:
        """What batches make of all polls that are kept."""
        states = GroupStates()
        for poll in self.poller.since(None):
            states = states.with_poll(poll)
        return states


def test_brokers_are_asked_every_ten_seconds_and_the_requests_are_counted() -> None:
    asked = Asked()
    asked.passes(101)
    assert asked.lists in (10, 11)
    assert asked.requests == NOBODY.requests * asked.lists


def test_rights_are_asked_for_now_and_then_and_told() -> None:
    asked = Asked()
    asked.passes(2 * RIGHTS_EVERY_S)
    assert asked.rights in (2, 3)
    assert set(asked.unseen) == {True}


def test_connect_groups_are_asked_for_by_name_in_turn_a_few_each_time() -> None:
    asked = Asked()
    names = [f"connect-{number:02}" for number in range(MOST_BY_NAME * 2 + 1)]
    asked.poller.name(names)
    asked.passes(EVERY_S * 3)
    assert len(asked.by_name) == MOST_BY_NAME * 3
    assert set(asked.by_name) == set(names)


def test_the_list_of_consumer_groups_says_nothing_of_connect_groups() -> None:
    asked = Asked()
    asked.poller.name(["c"])
    asked.passes(EVERY_S * 2 + 1)
    asked.answer = lambda: StateAnswer({"g": PREPARING}, requests=1)
    asked.passes(EVERY_S)
    assert set(asked.states().rebalancing) == {"c", "g"}


def refuse() -> StateAnswer:
    raise PartFailed("the brokers did not say which groups rebalance (timed out)")


def test_a_failed_request_is_counted_said_and_no_poll() -> None:
    asked = Asked()
    asked.answer = refuse
    with pytest.raises(PartFailed):
        asked.poller.step()
    assert asked.requests == 1
    assert asked.answered == [None]
    assert asked.poller.since(None) == []


def test_a_broker_that_fails_beside_others_is_named_and_what_they_said_counts() -> None:
    asked = Asked()
    asked.poller.name(["c"])
    asked.answer = lambda: StateAnswer({"g": PREPARING}, requests=3, failures=("broker 2: timed out",))
    with pytest.raises(PartFailed, match=r"1 of 3 .*broker 2: timed out") as failed:
        asked.poller.step()
    assert failed.value.again_in_s == EVERY_S, "the others are asked as often as before"
    assert set(asked.states().rebalancing) == {"c", "g"}
    asked.now_s += EVERY_S
    asked.answer = lambda: NOBODY
    assert asked.poller.step() == LOOK_EVERY_S


def test_a_request_without_end_is_named() -> None:
    asked = Asked()

    def hang() -> StateAnswer:
        asked.now_s += HANGS_S + 1
        asked.poller.look()
        return NOBODY

    asked.answer = hang
    asked.poller.step()
    assert asked.problems == ["no answer and no error from the brokers for 31 s"]
    asked.poller.look()
    assert len(asked.problems) == 1


def test_whose_turn_it_is() -> None:
    assert next_of(["a", "b", "c"], None, 2) == ["a", "b"]
    assert next_of(["a", "b", "c"], "b", 2) == ["c", "a"]
    assert next_of(["a"], "a", 2) == ["a"]
    assert next_of([], "a", 2) == []
