"""Whatever happens in whatever order (changes of severity, maintenance, lost marks, restarts, resends): in the end
every Alertmanager holds exactly the alerts that people are to hear of, and no key ever had two contents.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident
from rebalance_monitor.streaming.core.runbooks import Addresses
from rebalance_monitor.streaming.notify.alerts import AlertObject, AlertStyle, alert, notification
from rebalance_monitor.streaming.notify.webhook import message
from rebalance_monitor.streaming.store import maintenance
from rebalance_monitor.streaming.store.outbox import firing, mark_sent, waiting
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, incident

pytestmark = pytest.mark.postgres

T0 = 1_800_000_000_000
MINUTE = 60_000
NAMES = ("http://a", "http://b")
STYLE = AlertStyle(generator_url="http://m/metrics")
Labels = frozenset[tuple[str, str]]


@dataclass(slots=True)
class Receiver:
    """An Alertmanager and a program under one name: what is firing there, and the content of every key."""

    alerts: set[Labels] = field(default_factory=set)
    contents: dict[str, Any] = field(default_factory=dict)

    def take(self, alerts: list[AlertObject], now_ms: int) -> None:
        for pushed in alerts:
            labels = frozenset(pushed["labels"].items())
            (self.alerts.add if pushed["endsAt"] > _rfc(now_ms) else self.alerts.discard)(labels)


def _rfc(now_ms: int) -> str:
    return str(alert(incident("resolved", resolved_at_ms=now_ms), now_ms, STYLE)["endsAt"])


class World:
    """One incident, the windows around it, and two receivers."""

    def __init__(self, dsn: str) -> None:
        self.dsn, self.now_ms, self.at = dsn, T0, 0
        self.store = self._opened()
        with self.store.database.session() as connection:
            for table in ("outbox", "incidents", "maintenance", "positions"):
                connection.execute(f"truncate rebalance_monitor.{table} cascade")
        self.one: Incident | None = None
        self.receivers = {name: Receiver() for name in NAMES}

    def _opened(self) -> PostgresStore:
        store = PostgresStore(self.dsn, "c", now_ms=lambda: self.now_ms)
        store.migrate()
        self.epoch = store.claim()
        return store

    def do(self, step: tuple[str, Any]) -> None:
        what, given = step
        getattr(self, what)(given)

    def batch(self, *results: Incident) -> None:
        self.now_ms += 1_000
        self.store.commit(commit(self.epoch, self.at, self.at + 10, *results))
        self.at += 10

    def fire(self, severity: AlertSeverity) -> None:
        """Told for the first time, or again after its end was told; the incident itself stays the same."""
        if self.one is None:
            self.batch(incident("opened", firing=False, fired_at_ms=None, times_told=0, alert=AlertSeverity.INFO))
            self.one = incident(firing=False, times_told=0, opened_at_ms=T0)
        if not self.one.firing:
            times = self.one.times_told + 1
            told = replace(self.one, transition="fired", firing=True, fired_at_ms=self.now_ms, times_told=times)
            self._now(replace(told, alert=severity))

    def change(self, severity: AlertSeverity) -> None:
        if self.one is not None and self.one.firing and self.one.alert is not severity:
            self._now(replace(self.one, transition="updated", alert=severity))

    def end(self, _: object) -> None:
        if self.one is not None and self.one.firing:
            self._now(replace(self.one, transition="ended", firing=False))

    def _now(self, incident: Incident) -> None:
        self.one = incident
        self.batch(incident)

    def mute(self, minutes: int) -> None:
        window = Maintenance(
            cluster="*", groups="*", owner="jane", reason="upgrade",
            from_ms=self.now_ms, until_ms=self.now_ms + minutes * MINUTE,
        )  # fmt: skip
        with self.store.database.session() as connection:
            maintenance.add(connection, window, "jane")

    def pause(self, minutes: int) -> None:
        self.now_ms += minutes * MINUTE
        self.batch()

    def restart(self, _: object) -> None:
        self.store.close()
        self.store = self._opened()

    def deliver(self, given: tuple[str, int, bool]) -> None:
        """Some of what waits for one receiver; perhaps the last mark is lost."""
        name, most, lost = given
        receiver = self.receivers[name]
        with self.store.database.session() as connection:
            some = waiting(connection, name, ["c"])[:most]
            for number, entry in enumerate(some, start=1):
                body = message(entry, Addresses())
                assert receiver.contents.setdefault(entry.key, body) == body
                receiver.take(
                    notification(entry.document, entry.transition, entry.previous, self.now_ms, STYLE), self.now_ms
                )
                if not (lost and number == len(some)):
                    mark_sent(connection, entry.key, name, NAMES)

    def again(self, name: str) -> None:
        with self.store.database.session() as connection:
            for due in firing(connection, name, ["c"]):
                self.receivers[name].take([alert(due, self.now_ms, STYLE)], self.now_ms)

    def settle(self) -> None:
        """Every window is over, and everything is delivered."""
        self.now_ms += 60 * MINUTE
        self.batch()
        for name in NAMES:
            self.deliver((name, 1_000, False))
            self.again(name)


SEVERITY = st.sampled_from(list(AlertSeverity))
STEPS = st.one_of(
    st.tuples(st.just("fire"), SEVERITY),
    st.tuples(st.just("change"), SEVERITY),
    st.tuples(st.just("end"), st.none()),
    st.tuples(st.just("mute"), st.integers(1, 20)),
    st.tuples(st.just("pause"), st.integers(1, 15)),
    st.tuples(st.just("restart"), st.none()),
    st.tuples(st.just("deliver"), st.tuples(st.sampled_from(NAMES), st.integers(1, 3), st.booleans())),
    st.tuples(st.just("again"), st.sampled_from(NAMES)),
)


@given(st.lists(STEPS, max_size=14))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_the_end_everybody_knows_what_is_and_nothing_else(dsn: str, steps: list[tuple[str, Any]]) -> None:
    world = World(dsn)
    try:
        for step in steps:
            world.do(step)
        world.settle()
        only = world.one
        told = only is not None and only.firing and only.alert is not AlertSeverity.INFO
        wanted = {frozenset(alert(only, world.now_ms, STYLE)["labels"].items())} if told and only is not None else set()
        for receiver in world.receivers.values():
            assert receiver.alerts == wanted
    finally:
        world.store.close()
