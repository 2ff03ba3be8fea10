"""Notifications of groups that rebalanced at once are one: from a real outbox to a real receiver."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from rebalance_monitor.streaming.cli.telling import events_in
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident, Subject
from rebalance_monitor.streaming.notify.alertmanager import Alertmanager
from rebalance_monitor.streaming.notify.alerts import AlertStyle
from rebalance_monitor.streaming.notify.delivery import Delivery, DeliveryCounts, Receiver
from rebalance_monitor.streaming.notify.joining import HOLD_S, Joining
from rebalance_monitor.streaming.notify.webhook import Webhook
from rebalance_monitor.streaming.store.outbox import waiting_count
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, incident
from tests.streaming.notify.counts import Counts
from tests.streaming.notify.receiver import Receiver as Program
from tests.streaming.notify.receiver import receiving
from tests.streaming.stories.fleets import THEN_MS, fleet
from tests.waiting import until
from tests.web.filled import put

pytestmark = pytest.mark.postgres
SHARING, OTHERS = 12, 30
SAYS = "a member on host 10.0.3.4 came or went; 0 of the 30 other groups have one there"


class World:
    """One job on a cluster where 12 groups lost a member on one host."""

    def __init__(self, dsn: str) -> None:
        self.dsn, self.store, self.end = dsn, PostgresStore(dsn, "k", undecodable_kept=3), 0
        self.store.migrate()
        put(self.store, *fleet(SHARING, OTHERS))
        self.epoch = self.store.claim()

    def commit(self, *results: Any) -> None:
        self.store.commit(commit(self.epoch, self.end, self.end + 100, *results))
        self.end += 100

    @contextmanager
    def delivering(
        self, *receivers: Receiver, joining: Joining | None = None, told: DeliveryCounts | None = None
    ) -> Iterator[None]:
        sending = Delivery(self.dsn, receivers, told, joining=joining or Joining(events_in(self.dsn)))
        sending.start([self.epoch])
        try:
            yield
        finally:
            sending.stop()

    def later(self) -> None:
        """What waits has waited long enough."""
        self.run("update rebalance_monitor.outbox set created_at = created_at - %s * interval '1 s'", HOLD_S)

    def run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn) as connection:
            done = connection.execute(statement.encode(), values)
            return done.fetchall() if done.description else []

    def left(self) -> int:
        with self.store.database.session() as connection:
            return waiting_count(connection, ["k"])

    def undecided(self) -> int:
        ((count,),) = self.run("select count(*) from rebalance_monitor.outbox where joined is null")
        return int(count)


@pytest.fixture
def world(dsn: str) -> Iterator[World]:
    made = World(dsn)
    yield made
    made.store.close()


def broken(number: int, transition: str = "fired", **more: Any) -> Incident:
    """An incident that opened with the rebalance of this group."""
    group = f"group-{number:03}"
    given: dict[str, Any] = {
        "cluster": "k", "group": group, "opened_generation": 2 if number < SHARING else 1,
        "opened_at_ms": THEN_MS + 60_000, "subjects": (Subject("partition", f"{group}-0"),),
        "resolved_at_ms": None if transition != "resolved" else THEN_MS + 90_000, **more,
    }  # fmt: skip
    return incident(transition, f"i{number}", **given)


def webhook(program: Program, name: str = "chat") -> Webhook:
    return Webhook(name, f"{program.url}/hook", {})


def keys(program: Program) -> list[str]:
    return [key for key, _ in program.requests]


def test_forty_groups_on_one_host_are_one_notification_that_names_each(world: World) -> None:
    world.commit(*(broken(number) for number in range(6)))
    world.commit(*(broken(number, alert=AlertSeverity.WARNING) for number in range(6, SHARING)))
    world.later()
    with receiving("/hook") as program, world.delivering(webhook(program)):
        until(lambda: world.left() == 0)
    ((key, told),) = program.requests
    assert key == told["key"]
    assert key.startswith("joined:")
    assert (told["transition"], told["incident"]["alert"]) == ("fired", "critical")
    assert told["joined"]["groups"] == [f"group-{number:03}" for number in range(SHARING)]
    assert [one["key"] for one in told["joined"]["incidents"]] == [f"i{number}:fired" for number in range(SHARING)]
    assert SAYS in told["summary"]
    assert told["joined"]["event"]["evidence"][0]["generation"] == 2
    assert told["joined"]["event_url"].startswith("http://127.0.0.1:9471/api/v1/at_once?cluster=k&since_ms=")


def test_only_what_opened_with_the_event_waits_and_only_so_long(world: World) -> None:
    world.commit(broken(0), broken(SHARING), broken(SHARING + 1, opened_generation=7))
    with receiving("/hook") as program, world.delivering(webhook(program)):
        program.wait_for(2)
        world.commit(broken(1))
        until(lambda: world.undecided() == 2)
        assert keys(program) == ["i12:fired", "i13:fired"]
        world.later()
        program.wait_for(3)
        until(lambda: world.left() == 0)
    assert [one["group"] for one in program.requests[2][1]["joined"]["incidents"]] == ["group-000", "group-001"]


def test_one_that_waited_for_nobody_is_told_by_itself(world: World) -> None:
    world.commit(broken(0))
    world.later()
    with receiving("/hook") as program, world.delivering(webhook(program)):
        ((key, told),) = program.wait_for(1)
    assert (key, "joined" in told) == ("i0:fired", False)


def test_ends_are_told_together_and_how_many_are_still_open(world: World) -> None:
    world.commit(*(broken(number) for number in range(4)))
    world.later()
    with receiving("/hook") as program, world.delivering(webhook(program)):
        program.wait_for(1)
        world.commit(broken(0, "resolved"), broken(1, "resolved"))
        until(lambda: world.undecided() == 2)
        world.later()
        program.wait_for(2)
        # The last ones need not wait: nobody is left to wait for.
        world.commit(broken(2, "resolved"), broken(3, "resolved"))
        program.wait_for(3)
        until(lambda: world.left() == 0)
    some, rest = (told for _, told in program.requests[1:])
    assert [(one["transition"], one["joined"]["open"]) for one in (some, rest)] == [("resolved", 2), ("resolved", 0)]
    assert some["joined"]["groups"] == ["group-000", "group-001"]
    assert some["summary"].startswith("Over in 2 groups, 2 incidents of the same notification still open: ")
    assert rest["summary"].startswith("Over in 2 groups, no incident of the same notification still open: ")


def test_what_follows_an_incident_that_waits_comes_after_it(world: World) -> None:
    world.commit(broken(0, alert=AlertSeverity.WARNING), broken(1))
    with receiving("/hook") as program, world.delivering(webhook(program)):
        until(lambda: world.undecided() == 2)
        world.commit(broken(0, "updated"))
        until(lambda: world.undecided() == 2)
        assert keys(program) == []
        world.later()
        program.wait_for(2)
    fired, updated = program.requests
    assert fired[0].startswith("joined:")
    assert updated[0].startswith("i0:updated")


def test_a_kill_between_sending_and_marking_repeats_it_under_the_same_key(world: World) -> None:
    """Also where the next job finds more of the event, which would have been told with it."""
    world.commit(*(broken(number) for number in range(3)))
    world.later()
    with receiving("/hook") as program:
        program.answers += [503]
        with world.delivering(webhook(program)):
            program.wait_for(1)
        world.run("delete from rebalance_monitor.outbox_sent")  # whatever was marked: as if it never had been
        world.run("update rebalance_monitor.outbox set done = false")
        world.commit(*(broken(number) for number in range(3, 6)))
        world.later()
        with world.delivering(webhook(program)):
            until(lambda: world.left() == 0)
    told = program.requests
    first = [body for key, body in told if key == told[0][0]]
    assert len(first) >= 2
    assert all(body == first[0] for body in first)
    assert [one["key"] for one in told[-1][1]["joined"]["incidents"]] == ["i3:fired", "i4:fired", "i5:fired"]


def test_each_receiver_gets_the_same_and_alertmanager_each_alert_at_once(world: World) -> None:
    world.commit(*(broken(number) for number in range(3)))
    manager_style = AlertStyle(generator_url="http://a")
    with receiving("/hook") as one, receiving("/hook") as other, receiving() as manager:
        program, second = webhook(one), webhook(other, "pager")
        with world.delivering(program, second, Alertmanager(manager.url, manager_style)):
            manager.wait_for(3)
            assert (one.requests, other.requests) == ([], [])
            world.later()
            until(lambda: world.left() == 0)
    assert keys(one) == keys(other)
    assert len(keys(one)) == 1
    assert sorted(keys(manager)[:3]) == ["i0:fired", "i1:fired", "i2:fired"]


def test_what_is_refused_together_is_told_one_by_one(world: World) -> None:
    world.commit(*(broken(number) for number in range(3)))
    world.later()
    with receiving("/hook") as program:
        program.answers += [413]
        with world.delivering(webhook(program), told=(counts := Counts())):
            until(lambda: world.left() == 0)
    assert keys(program)[1:] == ["i0:fired", "i1:fired", "i2:fired"]
    assert (counts["refused"], counts["sent"]) == (0, 3), "everybody was told of everything"
    assert world.run("select refused from rebalance_monitor.outbox_sent where refused is not null") == []


def test_what_maintenance_withdrew_is_not_told_with_the_others(world: World) -> None:
    world.commit(*(broken(number) for number in range(3)))
    world.later()
    with receiving("/hook") as program:
        program.answers += [503] * 4
        with world.delivering(webhook(program)):
            program.wait_for(1)
            world.run("update rebalance_monitor.outbox set done = true where key = 'i1:fired' and not done")
            until(lambda: world.left() == 0)
    last_key, last = program.requests[-1]
    assert (last_key, last["joined"]["groups"]) == (program.requests[0][0], ["group-000", "group-002"])


@pytest.mark.parametrize("found", [[], [{"cluster": "k", "from_ms": 0, "until_ms": 2**40, "groups": ["group-000"]}]])
def test_who_is_in_no_event_waits_for_nobody(world: World, found: Sequence[Any]) -> None:
    world.commit(broken(5), broken(6))
    with receiving("/hook") as program, world.delivering(webhook(program), joining=Joining(lambda *_: found)):
        program.wait_for(2)
    assert keys(program) == ["i5:fired", "i6:fired"]


def test_more_rebalances_than_are_looked_at_are_no_event(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    found = events_in(world.dsn)
    assert [len(one["groups"]) for one in found("k", THEN_MS, THEN_MS + 60_000)] == [SHARING]
    monkeypatch.setattr("rebalance_monitor.streaming.cli.telling.MOST_REBALANCES", SHARING - 1)
    assert found("k", THEN_MS, THEN_MS + 60_000) == []


def test_events_that_cannot_be_computed_hold_up_no_notification(world: World) -> None:
    def fails(*_: Any) -> Sequence[Any]:
        raise KeyError("a document without this field")

    world.commit(broken(0), broken(1))
    with receiving("/hook") as program, world.delivering(webhook(program), joining=Joining(fails)):
        program.wait_for(2)
    assert keys(program) == ["i0:fired", "i1:fired"]


def test_events_that_take_long_cost_no_session(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL ends a session that stands still in a transaction for FROZEN_AFTER_S."""
    monkeypatch.setattr("rebalance_monitor.streaming.store.database.FROZEN_AFTER_S", 1)

    def slow(*_: Any) -> Sequence[Any]:
        world.run("select pg_sleep(2)")
        return []

    world.commit(broken(0), broken(1))
    with receiving("/hook") as program, world.delivering(webhook(program), joining=Joining(slow)):
        program.wait_for(2)
    assert keys(program) == ["i0:fired", "i1:fired"]


def test_a_database_that_takes_too_long_is_asked_nothing_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rebalance_monitor.streaming.cli.telling.HOLD_S", 0.0)
    assert events_in(world.dsn)("k", THEN_MS, THEN_MS + 60_000) == []


def test_incidents_behind_a_full_page_wait_for_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rebalance_monitor.streaming.store.joining.AT_ONCE", 3)
    monkeypatch.setattr("rebalance_monitor.streaming.notify.joining.AT_ONCE", 3)
    world.commit(*(broken(number) for number in range(4)), broken(SHARING))
    with receiving("/hook") as program, world.delivering(webhook(program)):
        program.wait_for(2)
        until(lambda: world.undecided() == 1)
    assert [len(told["joined"]["groups"]) if "joined" in told else key for key, told in program.requests] == [
        3,
        "i12:fired",
    ]


def test_two_jobs_on_one_database_decide_of_their_own_clusters(world: World) -> None:
    """Whoever has the lock keeps it only while decisions are written."""
    world.commit(broken(0), broken(1))
    world.later()
    other, asked = Joining(events_in(world.dsn)), list[int]()

    def meanwhile(*given: Any) -> Sequence[Any]:
        with world.store.database.session() as own:
            other.decide(own, ["k"])
        asked.append(world.undecided())
        return events_in(world.dsn)(*given)

    with receiving("/hook") as program, world.delivering(webhook(program), joining=Joining(meanwhile)):
        until(lambda: world.left() == 0)
    assert asked == [0]
    assert [told["joined"]["groups"] for _, told in program.requests] == [["group-000", "group-001"]]
