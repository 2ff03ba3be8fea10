"""The pusher with a real database and a real HTTP server: at least once, in order, each receiver on its own."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from rebalance_monitor.streaming.notify.alertmanager import Alertmanager
from rebalance_monitor.streaming.notify.alerts import AlertStyle
from rebalance_monitor.streaming.notify.delivery import Delivery
from rebalance_monitor.streaming.notify.webhook import Webhook
from rebalance_monitor.streaming.store.outbox import Notification
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import apart, commit, incident, writer_epoch
from tests.streaming.notify.counts import Counts
from tests.streaming.notify.receiver import receiving
from tests.waiting import until

pytestmark = pytest.mark.postgres

STYLE = AlertStyle(generator_url="http://127.0.0.1:9470/metrics")


@contextmanager
def pushing(dsn: str, urls: list[str], **more: object) -> Iterator[Counts]:
    told = Counts()
    pusher = Delivery(dsn, [Alertmanager(url, STYLE, **more) for url in urls], told)  # type: ignore[arg-type]
    pusher.start([writer_epoch(dsn)])
    try:
        yield told
    finally:
        pusher.stop()


def not_done(store: PostgresStore) -> int:
    with store.database.session() as connection:
        row = connection.execute("select count(*) from rebalance_monitor.outbox where not done").fetchone()
    assert row is not None
    return int(row[0])


def test_firing_and_resolved_arrive_with_stable_keys_and_equal_labels(store: PostgresStore, dsn: str) -> None:
    epoch = store.claim()
    with receiving() as receiver, pushing(dsn, [receiver.url]):
        store.commit(commit(epoch, 0, 10, incident()))
        receiver.wait_for(1)
        store.commit(commit(epoch, 10, 20, incident("resolved")))
        (opened, (firing,)), (closed, (resolved,)) = receiver.wait_for(2)
    assert (opened, closed) == ("i1:fired", "i1:resolved")
    assert firing["labels"] == resolved["labels"]
    assert firing["annotations"]["transition"] == "fired"
    assert resolved["endsAt"] == "1970-01-01T00:00:09.000Z"


def test_a_receiver_that_fails_gets_everything_in_order_later(store: PostgresStore, dsn: str) -> None:
    epoch = store.claim()
    with receiving() as receiver:
        receiver.answers += [500, 503, 429]
        store.commit(commit(epoch, 0, 10, incident(), incident("resolved")))
        with pushing(dsn, [receiver.url]) as told:
            keys = [key for key, _ in receiver.wait_for(5)]
    assert keys == ["i1:fired"] * 4 + ["i1:resolved"]
    assert told["failed"] == 3


def test_a_dead_receiver_holds_up_nobody_else_and_nothing_is_done_without_it(store: PostgresStore, dsn: str) -> None:
    epoch = store.claim()
    with receiving() as alive:
        with pushing(dsn, ["http://127.0.0.1:9", alive.url]):
            store.commit(commit(epoch, 0, 10, incident(), incident("resolved")))
            alive.wait_for(2)
        assert not_done(store) == 2
        with receiving() as other, pushing(dsn, [other.url, alive.url]):
            assert [key for key, _ in other.wait_for(2)] == ["i1:fired", "i1:resolved"]
        assert len(alive.requests) == 2
    assert not_done(store) == 0


def test_what_was_sent_is_not_sent_again_after_a_restart_except_what_fires(store: PostgresStore, dsn: str) -> None:
    epoch = store.claim()
    with receiving() as receiver:
        store.commit(commit(epoch, 0, 10, incident(), incident("resolved"), apart("i2")))
        with pushing(dsn, [receiver.url], resend_ms=3_600_000):
            receiver.wait_for(3)
        with pushing(dsn, [receiver.url], resend_ms=3_600_000):
            keys = [key.split(":")[0] for key, _ in receiver.wait_for(4)]
    assert keys == ["i1", "i1", "i2", "again"]
    assert [one["labels"]["incident_id"] for one in receiver.requests[-1][1]] == ["i2"]


def test_a_firing_alert_is_pushed_again_before_it_ends(store: PostgresStore, dsn: str) -> None:
    epoch = store.claim()
    store.commit(commit(epoch, 0, 10, incident()))
    with receiving() as receiver, pushing(dsn, [receiver.url], resend_ms=1):
        requests = receiver.wait_for(3)
    ends = [alerts[0]["endsAt"] for _, alerts in requests]
    assert ends == sorted(ends)
    assert len({key for key, _ in requests}) == 3


def test_content_the_receiver_never_accepts_does_not_block_the_rest(store: PostgresStore, dsn: str) -> None:
    epoch = store.claim()
    with receiving() as receiver:
        receiver.answers.append(400)
        store.commit(commit(epoch, 0, 10, incident(), incident("resolved")))
        with pushing(dsn, [receiver.url]) as told:
            receiver.wait_for(2)
            until(lambda: told["sent"] == 1)
    assert (told["refused"], told["failed"]) == (1, 0)  # an alert of its own tells of it
    with store.database.session() as connection:
        query = "select key from rebalance_monitor.outbox_sent where refused is not null"
        refused = connection.execute(query).fetchall()
    assert refused == [("i1:fired",)]


def test_historic_incidents_are_never_pushed(store: PostgresStore, dsn: str) -> None:
    epoch = store.claim()
    with receiving() as receiver, pushing(dsn, [receiver.url], resend_ms=1):
        store.commit(commit(epoch, 0, 10, incident(historic=True), incident(incident_id="i2")))
        receiver.wait_for(3)
        assert all(one["labels"]["incident_id"] == "i2" for _, alerts in receiver.requests for one in alerts)


def test_what_waits_is_counted_while_the_only_receiver_is_dead(store: PostgresStore, dsn: str) -> None:
    """Else the alert about stuck notifications could never fire where there is one receiver."""
    epoch = store.claim()
    with pushing(dsn, ["http://127.0.0.1:9"]) as told:
        until(lambda: told.waiting == 0)
        store.commit(commit(epoch, 0, 10, incident(), incident("resolved")))
        until(lambda: told["failed"] >= 1)
        until(lambda: told.waiting == 2)


def test_alerts_are_pushed_again_at_once_when_the_clock_was_set_back(store: PostgresStore, dsn: str) -> None:
    """Else nothing would be pushed until the clock is where it was, and Alertmanager would take the alert for over."""
    clock = [2_000_000_000_000]
    epoch = store.claim()
    with receiving() as receiver, pushing(dsn, [receiver.url], clock_ms=lambda: clock[0]):
        store.commit(commit(epoch, 0, 10, incident()))
        receiver.wait_for(1)
        clock[0] -= 3_600_000
        (key, (again,)) = receiver.wait_for(2)[1]
        assert (key.split(":")[0], again["endsAt"]) == ("again", "2033-05-18T02:53:20.000Z")
        clock[0] += 7_200_000
        (key, (again,)) = receiver.wait_for(3)[2]
        assert (key.split(":")[0], again["endsAt"]) == ("again", "2033-05-18T04:53:20.000Z")


def test_one_alert_that_is_refused_takes_no_other_with_it(store: PostgresStore, dsn: str) -> None:
    store.commit(commit(store.claim(), 0, 10, *(apart(f"i{n}") for n in range(3))))
    with receiving() as receiver:
        with pushing(dsn, [receiver.url], resend_ms=3_600_000):
            receiver.wait_for(3)
        receiver.answers += [400, 400]
        with pushing(dsn, [receiver.url], resend_ms=3_600_000):
            requests = receiver.wait_for(7)[3:]
    assert [len(alerts) for _, alerts in requests] == [3, 1, 1, 1]
    assert len({key for key, _ in requests}) == 4


def test_a_mark_that_is_lost_means_the_same_notification_again(store: PostgresStore, dsn: str) -> None:
    """The connection dies between the receiver's yes and the mark."""
    end = (
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )

    class Cut(Webhook):
        times = 0

        def send(self, notification: Notification) -> None:
            super().send(notification)
            self.times += 1
            if self.times <= 2:
                with psycopg.connect(dsn, autocommit=True) as admin:
                    admin.execute(end)

    with receiving("/hook") as receiver:
        store.commit(commit(store.claim(), 0, 10, incident(), incident("resolved")))
        store.database.close()  # it would be cut as well
        delivery = Delivery(dsn, [Cut("chat", f"{receiver.url}/hook", {})])
        delivery.start([writer_epoch(dsn)])
        requests = receiver.wait_for(4)
        until(lambda: not_done(store) == 0)
        delivery.stop()
    assert [key for key, _ in requests] == ["i1:fired"] * 3 + ["i1:resolved"]
    assert requests[0] == requests[1] == requests[2]


def test_an_error_of_ours_is_counted_and_tried_again_with_pauses(
    store: PostgresStore, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Webhook):
        tries = 0

        def send(self, notification: Notification) -> None:
            self.tries += 1
            if self.tries < 3:
                raise KeyError(notification.key)
            super().send(notification)

    told = Counts()
    with receiving("/hook") as receiver:
        store.commit(commit(store.claim(), 0, 10, incident()))
        delivery = Delivery(dsn, [Broken("chat", f"{receiver.url}/hook", {})], told)
        delivery.start([writer_epoch(dsn)])
        receiver.wait_for(1)
        until(lambda: told["sent"] == 1)
        delivery.stop()
    assert told["failed"] == 2
    assert caplog.text.count("Traceback") == 1
    assert "an error of the monitor itself, KeyError" in caplog.text
