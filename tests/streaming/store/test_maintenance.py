"""Windows in a real database: their audit can't be written by hand, and what they mute is told once, later."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from lab.asking import local
from rebalance_monitor.streaming.core.incidents.maintenance import MAX_WINDOW_MS, Maintenance
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from rebalance_monitor.streaming.notify.alerts import AlertStyle, notification, rfc3339
from rebalance_monitor.streaming.store import maintenance
from rebalance_monitor.streaming.store.maintenance import LOOK_EVERY_MS, NoSuchWindow, Windows
from rebalance_monitor.streaming.store.outbox import firing, waiting
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import apart, commit, incident
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.postgres

T0 = 1_800_000_000_000
MINUTE = 60_000


class Clock:
    now_ms = T0

    def __call__(self) -> int:
        return self.now_ms

    def seconds(self) -> float:
        return self.now_ms / 1000


def window(**more: Any) -> Maintenance:
    given: dict[str, Any] = {
        "cluster": "*", "groups": "connect-*", "owner": "jane", "reason": "upgrade",
        "from_ms": T0, "until_ms": T0 + 60 * MINUTE, **more,
    }  # fmt: skip
    return Maintenance(**given)


class World:
    """A store, its clock, and an exporter that sees the same windows."""

    def __init__(self, dsn: str, *configured: Maintenance) -> None:
        self.clock, self.windows = Clock(), Windows(configured)
        self.store = PostgresStore(dsn, "c", windows=self.windows, now_ms=self.clock)
        self.store.migrate()
        self.epoch, self.at = self.store.claim(), 0
        self.exporter = Exporter(
            0, clusters=["c"], clock_s=self.clock.seconds, now_s=self.clock.seconds, windows=self.windows
        )

    def batch(self, *results: Any, minutes: float = 1) -> list[str]:
        """Commits a batch some time later; returns the keys of notifications that wait and were not there before."""
        before = set(self.waiting())
        self.clock.now_ms += int(minutes * MINUTE)
        self.store.commit(commit(self.epoch, self.at, self.at + 10, *results))
        # What the driver commits after the bundles: it looks at the incidents of all groups.
        self.store.commit(replace(commit(self.epoch), ranges={}))
        self.at += 10
        self.exporter.observe(results)
        return [key for key in self.waiting() if key not in before]

    def waiting(self) -> list[str]:
        with self.store.database.session() as connection:
            rows = connection.execute(
                "select key from rebalance_monitor.outbox where not done order by sequence"
            ).fetchall()
        return [key for (key,) in rows]

    def gauge(self, name: str = "rebalance_monitor_incident{") -> list[float]:
        lines = self.exporter.scrape().decode().splitlines()
        return [float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)]

    def add(self, **more: Any) -> str:
        with self.store.database.session() as connection:
            return maintenance.add(connection, window(**more), "jane")

    def close(self) -> None:
        self.exporter.stop()
        self.store.close()


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    made = World(dsn)
    yield made
    made.close()


def test_what_begins_inside_a_window_is_told_at_its_end(world: World) -> None:
    number = world.add()
    assert world.batch(incident("opened", firing=False, fired_at_ms=None)) == []
    assert world.batch(incident()) == []
    assert world.gauge() == [0]
    assert world.gauge("rebalance_monitor_muted_incidents") == [1]
    assert world.gauge("rebalance_monitor_maintenance_end_timestamp_seconds{") == [(T0 + 60 * MINUTE) / 1000]
    assert world.batch(minutes=30) == []
    assert world.gauge() == [0]  # longer than an ended incident would show its zero
    assert world.batch(minutes=30) == [f"i1:unmuted:{number}"]
    assert world.gauge() == [1]
    assert world.gauge("rebalance_monitor_muted_incidents{") == []
    assert world.gauge("rebalance_monitor_maintenance_end_timestamp_seconds{") == []
    assert world.batch() == []


def test_what_began_before_a_window_ends_once_and_comes_back(world: World) -> None:
    assert world.batch(incident()) == ["i1:fired"]
    number = world.add(from_ms=T0 + 2 * MINUTE)
    assert world.batch(minutes=2) == [f"i1:muted:{number}"]
    assert world.waiting() == [f"i1:muted:{number}"]  # what a receiver had not got yet is withdrawn
    assert world.gauge() == [0]
    with world.store.database.session() as connection:
        assert firing(connection, "http://a", ["c"]) == []
    assert world.batch(incident("updated", alert=AlertSeverity.WARNING)) == []
    assert world.batch(minutes=60) == [f"i1:unmuted:{number}"]
    assert world.gauge() == [1]


@pytest.mark.parametrize("another", [apart("i2"), incident(incident_id="i2")], ids=["apart", "one notification"])
def test_what_ends_inside_a_window_or_with_it_is_never_told(world: World, another: Incident) -> None:
    world.add()
    world.batch(incident(), another)
    assert world.batch(incident("resolved")) == []
    ended = replace(another, transition="resolved", firing=False, resolved_at_ms=9_000)
    assert world.batch(ended, minutes=60) == []
    assert world.batch() == []
    assert set(world.gauge()) == {0}


def test_fired_again_after_a_window_is_told_as_usual(world: World) -> None:
    world.add()
    world.batch(incident())
    world.batch(incident("resolved"))
    world.batch(minutes=60)
    assert world.batch(incident(times_told=2)) == ["i1:fired:2"]
    assert world.batch() == []


def test_labels_whose_end_no_receiver_has_heard_of_end_with_the_window(world: World) -> None:
    """`updated`, which ends the warning and fires the critical one, is withdrawn: the warning's end must be told."""
    quiet = incident(alert=AlertSeverity.WARNING)
    world.batch(quiet)
    world.batch(incident("updated"))
    number = world.add(from_ms=T0 + 3 * MINUTE)
    assert world.batch() == [f"i1:muted:{number}"]
    with world.store.database.session() as connection:
        (told,) = waiting(connection, "http://a", ["c"])
    alerts = notification(
        told.document, told.transition, told.previous, world.clock.now_ms, AlertStyle(generator_url="")
    )
    assert {one["labels"]["severity"] for one in alerts} == {"warning", "critical"}
    assert {one["endsAt"] for one in alerts} == {rfc3339(world.clock.now_ms)}


def test_the_same_window_twice_is_told_twice(dsn: str) -> None:
    """It was made longer in the configuration after its end."""
    world, longer = World(dsn, window()), None
    try:
        world.clock.now_ms -= 5 * MINUTE
        assert world.batch(incident()) == ["i1:fired"]
        (muted,) = world.batch(minutes=5)
        (unmuted,) = world.batch(minutes=60)
        longer = World(dsn, window(until_ms=T0 + 120 * MINUTE))
        longer.clock.now_ms, longer.at = world.clock.now_ms, world.at
        (muted_again,) = longer.batch()
        (unmuted_again,) = longer.batch(minutes=60)
    finally:
        world.close()
        if longer is not None:
            longer.close()
    assert [key.split(":")[1] for key in (muted, unmuted, muted_again, unmuted_again)] == ["muted", "unmuted"] * 2
    assert len({muted, unmuted, muted_again, unmuted_again}) == 4


def test_other_groups_and_reports_are_not_concerned(world: World) -> None:
    world.add(groups="other-*")
    assert world.batch(incident()) == ["i1:fired"]
    world.add()
    assert world.batch(incident(incident_id="i2", alert=AlertSeverity.INFO)) == ["i1:muted:2"]
    assert world.batch(minutes=60) == ["i1:unmuted:2"]


def test_a_window_of_the_configuration_mutes_alike(dsn: str) -> None:
    world = World(dsn, window())
    try:
        assert world.batch(incident()) == []
        assert world.gauge() == [0]
        (key,) = world.batch(minutes=60)
        assert key.startswith("i1:unmuted:config-jane-")
    finally:
        world.close()


def test_a_restart_inside_a_window_tells_nothing_and_after_it_what_is_open(world: World, dsn: str) -> None:
    number = world.add()
    world.batch(incident())
    after = World(dsn)
    try:
        after.clock.now_ms, after.at = world.clock.now_ms, world.at
        after.exporter.restore(after.store)
        assert after.gauge() == [0]
        assert after.batch() == []
        assert after.batch(minutes=60) == [f"i1:unmuted:{number}"]
    finally:
        after.close()


def test_ending_a_window_early_is_seen_within_a_second(world: World) -> None:
    number = world.add()
    world.batch(incident())
    with world.store.database.session() as connection:
        maintenance.end(connection, number, "joe")
        (stored,) = maintenance.listed(connection, world.clock.now_ms, everything=True)
        assert (stored.ended_operator, stored.state(world.clock.now_ms)) == ("joe", "ended")
        assert maintenance.listed(connection, world.clock.now_ms) == []
        with pytest.raises(NoSuchWindow, match="already ended"):
            maintenance.end(connection, number, "joe")
        for unknown in ("77", "x", "9" * 30):
            with pytest.raises(NoSuchWindow):
                maintenance.end(connection, unknown, "joe")
    assert world.batch(minutes=LOOK_EVERY_MS / MINUTE) == [f"i1:unmuted:{number}"]


def test_a_failed_commit_forgets_nothing(world: World) -> None:
    number = world.add()
    world.batch(incident())
    world.clock.now_ms += 60 * MINUTE
    with pytest.raises(AttributeError):
        world.store.commit(commit(world.epoch, world.at, world.at + 10, states={("c", "g"): None}))
    assert world.batch() == [f"i1:unmuted:{number}"]


# -- rights and audit --------------------------------------------------------------------------------------------------


@pytest.fixture
def as_operator(world: World, dsn: str, server: str) -> Iterator[Callable[[str], Any]]:
    """Statements as the role of docs/maintenance.md."""
    from tests.streaming.store.grants import operator_grants

    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("drop role if exists operator_jane")
        admin.execute("create role operator_jane login")
        for statement in operator_grants("operator_jane"):
            admin.execute(statement.encode())
    connection = psycopg.connect(dsn, autocommit=True, user="operator_jane")
    yield lambda sql: connection.execute(sql.encode())
    connection.close()
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("drop owned by operator_jane")
        admin.execute("drop role operator_jane")


ADD = (
    'insert into rebalance_monitor.maintenance (cluster, "groups", owner, reason, from_ms, until_ms, operator{more})'
    " values ('*', '*', 'jane', 'upgrade', {begin}, {end}, 'jane'{values})"
)


def test_the_writer_role_adds_and_ends_and_nothing_else(as_operator: Callable[[str], Any]) -> None:
    as_operator(ADD.format(begin=1, end=2, more="", values=""))
    row = as_operator("select added_by, ended_by from rebalance_monitor.maintenance").fetchone()
    assert row == ("operator_jane", None)
    as_operator("update rebalance_monitor.maintenance set ended_operator = 'jane'")
    row = as_operator("select ended_by, ended_at is not null from rebalance_monitor.maintenance").fetchone()
    assert row == ("operator_jane", True)
    for forbidden in (
        "delete from rebalance_monitor.maintenance",
        "update rebalance_monitor.maintenance set until_ms = 3",
        "update rebalance_monitor.maintenance set added_by = 'joe'",
        ADD.format(begin=1, end=2, more=", added_by", values=", 'joe'"),
        "select * from rebalance_monitor.states",
        "update rebalance_monitor.incidents set firing = false",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            as_operator(forbidden)


@pytest.mark.parametrize(("begin", "end"), [(1, 1), (2, 1), (0, MAX_WINDOW_MS + 1)])
def test_the_database_refuses_a_window_of_no_or_too_much_time(world: World, begin: int, end: int) -> None:
    with world.store.database.session() as connection, pytest.raises(psycopg.errors.CheckViolation):
        connection.execute(ADD.format(begin=begin, end=end, more="", values="").encode())


def test_not_even_the_owner_changes_a_window_or_its_audit(world: World) -> None:
    world.add()
    with world.store.database.session() as connection:
        for change in ("until_ms = until_ms + 1", "added_by = 'joe'", "\"groups\" = '*'"):
            with pytest.raises(psycopg.errors.RaiseException, match="only be ended"):
                connection.execute(f"update rebalance_monitor.maintenance set {change}".encode())


def test_ready_knows_the_windows_before_the_first_scrape(world: World) -> None:
    world.add()
    world.exporter.restore(world.store)
    world.exporter.start()
    text = local().get(f"{world.exporter.url}/metrics", timeout=PATIENCE_S).text
    assert 'rebalance_monitor_maintenance_end_timestamp_seconds{cluster="*",groups="connect-*",owner="jane"}' in text
