"""A history with static members: what a restart costs then, and what only looks like one."""

import pytest

from rebalance_monitor.streaming.stories.whatif.change import CannotPredict
from rebalance_monitor.streaming.stories.whatif.history import HistoryFigures
from rebalance_monitor.streaming.stories.whatif.static_history import StaticAnswer, under_static_members
from tests.streaming.core.comings_and_goings import MINUTE_MS, SECOND_MS, Pods, Process, twenty
from tests.streaming.stories.rankings_told import judged


def answer(pods: Pods, session_ms: int | None = None) -> StaticAnswer:
    source = judged(pods.story)
    (key,) = source.names()
    return under_static_members(list(source.generations(key)), session_ms)


def rebalances(told: StaticAnswer) -> tuple[int, list[int]]:
    """Recorded, and of each course."""
    return told.answer.recorded.rebalances, [one.rebalances for one in told.answer.courses]


def restarted(pods: Pods, slow: int = 0, each_ms: int = 5 * SECOND_MS) -> Pods:
    """Each pod in turn is away for 8 s, so many of them for 12 s: their session time-out is 10 s. One that goes sooner
    after a rebalance asked to leave."""
    pods.rebalance()
    for number, one in enumerate(list(pods.there.values())):
        pods.go_of(one, after_ms=each_ms)
        pods.come(one, after_ms=8 * SECOND_MS if number >= slow else 12 * SECOND_MS)
    return pods


def test_restarts_within_the_session_time_out_cost_nothing() -> None:
    told = answer(restarted(twenty()))
    assert rebalances(told) == (41, [1])
    assert told.answer.recorded.moved > 0
    assert told.answer.courses == (HistoryFigures(rebalances=1),)
    assert set(told.for_good) == {0}


def test_one_that_was_removed_was_away_for_its_session_time_out_already() -> None:
    """It goes so late that no record tells whether it asked to leave: then it was gone for 8 s, else for 18 s."""
    told = answer(restarted(twenty(), each_ms=20 * SECOND_MS))
    assert rebalances(told) == (41, [1, 41])
    assert set(told.for_good) == {0, 20}
    longer = answer(restarted(twenty(), each_ms=20 * SECOND_MS), session_ms=30 * SECOND_MS)
    assert rebalances(longer) == (41, [1])


def test_slower_ones_cost_what_they_cost_before() -> None:
    told = answer(restarted(twenty(), slow=5))
    assert rebalances(told) == (41, [11])
    assert (set(told.for_good), told.session_ms) == ({5}, 10 * SECOND_MS)


def test_with_a_longer_session_time_out_these_cost_nothing_either() -> None:
    assert rebalances(answer(restarted(twenty(), slow=5), session_ms=MINUTE_MS)) == (41, [1])


def test_who_leaves_for_good_and_who_is_new_still_cost_a_rebalance() -> None:
    pods = twenty()
    pods.go_of(pods.pod(3))
    pods.come(pods.pod(30))
    pods.wait(MINUTE_MS)
    pods.rebalance()
    told = answer(pods)
    assert rebalances(told) == (3, [3])
    assert set(told.for_good) == {1}


def test_one_that_went_before_the_history_ends_may_still_come_back() -> None:
    pods = twenty()
    pods.rebalance()
    pods.go_of(pods.pod(3))
    assert set(answer(pods).for_good) == {0}


def test_who_of_several_with_one_client_id_came_back_is_a_range() -> None:
    pods = Pods()
    first, second = Process("orders", "/10.0.0.1"), Process("orders", "/10.0.0.2")
    pods.come(first, second, Process("orders", "/10.0.0.3"))
    pods.go_of(first, after_ms=MINUTE_MS)
    pods.go_of(second, after_ms=MINUTE_MS)
    pods.come(second, after_ms=5 * SECOND_MS)
    assert rebalances(answer(pods)) == (3, [3, 1])


def test_a_group_of_static_members_is_not_asked_about() -> None:
    with pytest.raises(CannotPredict, match="static already"):
        answer(restarted(twenty(static=True)))


def test_a_rebalance_that_nothing_explains_is_not_avoided_with_the_one_before_it() -> None:
    """Nobody came or went in it, and nobody had given up anything before it."""
    pods = twenty()
    pods.rebalance()
    pods.go_of(pods.pod(3))
    pods.come(pods.pod(3))
    pods.rebalance(after_ms=MINUTE_MS)
    assert rebalances(answer(pods)) == (4, [2])
