"""The next step of an imbalance is that of its own group."""

import pytest

from rebalance_monitor.streaming.core.connect.advice.own_step import imbalance_step
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.notify.alerts import AlertStyle, alert
from rebalance_monitor.streaming.store.stored import incident_of
from tests.streaming.core.rules.builders import incidents
from tests.streaming.core.rules.cases_record import lopsided

HEAVY: frozenset[ConnectorOrTask] = frozenset({"orders", *(("orders", number) for number in range(7))})
HOLDS: dict[str, frozenset[ConnectorOrTask]] = {
    "a:8083": frozenset({("stock", 0), ("stock", 1)}),
    "b:8083": HEAVY,
    "c:8083": frozenset({"stock", ("stock", 2), ("stock", 3)}),
}
CONFIGURED = frozenset().union(*HOLDS.values())


def step(eras: tuple[str, ...], max_delay_ms: int | None, leader: str = "a:8083") -> str:
    return imbalance_step(HOLDS, leader, "b:8083", CONFIGURED, eras, max_delay_ms)


def test_says_which_steps_move_how_much_and_who_waits() -> None:
    assert step(("A3a",), 300_000) == (
        "Restart the leader a:8083: then 3 of the 7 tasks of b:8083 move to others, and nothing waits. "
        "Or keep b:8083 away for longer than 300 s: then 5 of the 7 tasks of b:8083 move to others; "
        "8 connectors and tasks wait up to 300 s. "
        "Or add a worker: then 4 of the 7 tasks of b:8083 move to others, and nothing waits. "
        "A short restart of b:8083 moves nothing for good. Leaders since 3.4 balance by themselves."
    )


def test_depends_on_the_settings() -> None:
    assert "short restart" not in step(("A3a",), 0)
    assert "away" not in step(("A3a",), 0)
    assert "longer than 60 s" in step(("A3a",), 60_000)


def test_of_several_eras_the_least_is_promised() -> None:
    assert step(("A1", "A3a"), 300_000).startswith("Restart the leader a:8083: then 2 of the 7 tasks")
    assert "Leaders since 3.4" not in step((), None), "perhaps it is one already"


def test_a_heavy_leader_is_restarted_and_not_kept_away() -> None:
    assert step(("A3a",), 300_000, leader="b:8083").startswith("Restart the leader b:8083: then")
    assert "away" not in step(("A3a",), 300_000, leader="b:8083")


def test_a_leader_that_balances_needs_a_rebalance_and_no_more() -> None:
    assert step(("A5",), 300_000) == (
        "The next rebalance should balance the group. Restart the leader a:8083 to cause one."
    )


@pytest.mark.parametrize("leader", ["", "gone:8083"])
def test_without_a_leader_nothing_is_promised(leader: str) -> None:
    assert step(("A3a",), 300_000, leader=leader) == ""


def test_where_no_era_of_the_incremental_assignor_leads_nothing_is_promised() -> None:
    assert step(("eager",), 300_000) == ""


def test_an_incident_carries_the_step_of_its_own_group_and_people_are_told_it() -> None:
    opened = [one for one in incidents(lopsided().fold(), "CONNECT-I8") if one.transition == "opened"]
    assert opened
    (said,) = {one.next_step for one in opened}
    assert said.startswith(
        ("Restart the leader w", "The next rebalance should balance the group. Restart the leader w")
    )
    assert incident_of(as_object(opened[0]), "opened") == opened[0]
    assert alert(opened[0], 0, AlertStyle())["annotations"]["next_step"] == said
