"""A single doubled task breaks three rules: one alert on either path, from its beginning to its end."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident, Severity, Subject
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.store.outbox import firing
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, incident

pytestmark = pytest.mark.postgres
TASK = (Subject("task", "a-0"),)
HELD = incident("fired", "i1", rule="duplicate_hold", subjects=TASK)
HANDED = incident("fired", "i3", rule="assigned_while_active", subjects=TASK, alert=AlertSeverity.WARNING)
TWICE = incident(
    "fired", "i2", rule="duplicate_active", subjects=TASK, opened_at_ms=31_000, alert=AlertSeverity.WARNING,
    severity=Severity.MEDIUM,
)  # fmt: skip


def over(incident: Incident) -> Incident:
    return replace(incident, transition="resolved", firing=False, resolved_at_ms=40_000)


class World:
    """One job: its store, and what Prometheus sees."""

    def __init__(self, store: PostgresStore) -> None:
        self.store, self.epoch, self.end = store, store.claim(), 0
        self.exporter = Exporter(0, clusters=["c"])
        self.exporter.restore(store)

    def commit(self, *some: Incident) -> None:
        self.store.commit(commit(self.epoch, self.end, self.end + 10, *some))
        self.exporter.observe(some)
        self.end += 10

    def restart(self) -> None:
        self.exporter.stop()
        self.exporter = Exporter(0, clusters=["c"])
        self.exporter.restore(self.store)

    def told(self) -> list[tuple[Any, ...]]:
        with self.store.database.session() as connection:
            return connection.execute(
                "select incident_id, transition, document->'also_broken' from rebalance_monitor.outbox"
                " order by sequence"
            ).fetchall()

    def pushed_again(self) -> list[str]:
        with self.store.database.session() as connection:
            connection.execute("update rebalance_monitor.outbox set done = true")
            return [one.rule for one in firing(connection, "http://am/", ["c"]) if one.firing]

    def raised(self) -> list[str]:
        page = self.exporter.scrape().decode()
        lines = [line for line in page.splitlines() if line.startswith("rebalance_monitor_incident{")]
        return [line.split('rule="')[1].split('"')[0] for line in lines if line.endswith(" 1.0")]


@pytest.fixture
def world(store: PostgresStore) -> Iterator[World]:
    found = World(store)
    yield found
    found.exporter.stop()


@pytest.mark.parametrize("restarts", [False, True])
def test_it_is_one_notification_and_one_alert(world: World, restarts: bool) -> None:
    world.commit(HELD, HANDED)
    for step in ((), (over(HELD), over(HANDED), TWICE)):
        if step:
            world.commit(*step)
        if restarts:
            world.restart()
        assert world.told() == [("i1", "fired", ["assigned_while_active"])]
        assert world.raised() == ["duplicate_hold"]
        assert world.pushed_again() == ["duplicate_hold"]
    world.commit(over(TWICE))
    assert [row[:2] for row in world.told()] == [("i1", "fired"), ("i1", "resolved")]
    assert world.raised() == []
    assert world.pushed_again() == []


def test_who_leads_and_what_else_is_broken_stands_in_the_database(world: World) -> None:
    world.commit(HELD)
    world.commit(HANDED)
    with world.store.database.session() as connection:
        rows = connection.execute(
            "select incident_id, led_by, document->'also_broken' from rebalance_monitor.incidents order by 1"
        ).fetchall()
    assert rows == [("i1", None, ["assigned_while_active"]), ("i3", "i1", [])]


def test_the_same_results_twice_tell_nothing_twice(world: World) -> None:
    world.commit(HELD, HANDED)
    world.commit(HELD, HANDED)
    assert [row[:2] for row in world.told()] == [("i1", "fired")]


def test_louder_than_its_leader_it_is_notified_by_itself(world: World) -> None:
    world.commit(HELD, HANDED)
    louder = replace(HANDED, incident_id="i4", rule="running_twice", alert=AlertSeverity.CRITICAL)
    world.commit(replace(HELD, transition="updated", alert=AlertSeverity.WARNING), louder)
    assert [row[:2] for row in world.told()] == [("i1", "fired"), ("i1", "updated"), ("i4", "fired")]


def test_what_began_and_ended_within_one_batch_says_in_whose_notification_it_was(world: World) -> None:
    """As after a restart. Nobody hears of it by itself, so its row must not look as if somebody had."""
    opened = [replace(one, transition="opened", firing=False, fired_at_ms=None) for one in (HELD, HANDED)]
    world.commit(*opened, HELD, HANDED, over(HANDED))
    assert world.told() == [("i1", "fired", ["assigned_while_active"])]
    with world.store.database.session() as connection:
        rows = connection.execute(
            "select incident_id, led_by from rebalance_monitor.incidents order by incident_id"
        ).fetchall()
    assert rows == [("i1", None), ("i3", "i1")]
    world.commit(over(HELD))
    assert [row[:2] for row in world.told()] == [("i1", "fired"), ("i1", "resolved")]
