"""Two jobs overlap on one database: only the one with the latest epoch notifies, and each key is sent once."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.notify.alertmanager import Alertmanager
from rebalance_monitor.streaming.notify.alerts import AlertStyle
from rebalance_monitor.streaming.notify.delivery import Delivery, Receiver
from rebalance_monitor.streaming.notify.webhook import Webhook
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.outbox import Notification, waiting_count
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.writer import TurnTaken, Writer, turn
from tests.streaming.builders import PARTITION, apart, commit, incident
from tests.streaming.notify.receiver import receiving
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.postgres
STYLE = AlertStyle(generator_url="http://127.0.0.1:9470/metrics")


@contextmanager
def delivering(dsn: str, epoch: int, *receivers: Receiver) -> Iterator[Delivery]:
    delivery = Delivery(dsn, receivers)
    delivery.start([epoch])
    try:
        yield delivery
    finally:
        delivery.stop()


def running(name: str) -> int:
    """How many delivery threads of this receiver run."""
    return sum(thread.name == name for thread in threading.enumerate())


def left(store: PostgresStore) -> int:
    with store.database.session() as connection:
        return waiting_count(connection, ["c"])


def test_the_job_before_goes_on_until_the_epoch_is_claimed_and_then_ends(
    store: PostgresStore, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving("/hook") as program:

        def webhook() -> Webhook:
            return Webhook("chat", f"{program.url}/hook", {})

        first = store.claim()
        with delivering(dsn, first, webhook()):
            store.commit(commit(first, 0, 10, incident(incident_id="i1")))
            program.wait_for(1)
            second = store.claim()
            until(lambda: "another job has taken over" in caplog.text)
            store.commit(commit(second, 10, 20, apart("i2")))
            with delivering(dsn, second, webhook()):
                program.wait_for(2)
                until(lambda: left(store) == 0)
    assert [key for key, _ in program.requests] == ["i1:fired", "i2:fired"]
    assert caplog.text.count("another job has taken over; webhook:chat gets no more notifications from this one") == 1


def test_a_deposed_job_sends_nothing_of_what_waits(
    store: PostgresStore, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = store.claim()
    store.commit(commit(first, 0, 10, incident()))
    second = store.claim()
    with receiving("/hook") as program, receiving() as manager:
        old = (Webhook("chat", f"{program.url}/hook", {}), Alertmanager(manager.url, STYLE))
        with delivering(dsn, first, *old):
            until(lambda: caplog.text.count("another job has taken over") == 2)
        assert (program.requests, manager.requests) == ([], [])
        with delivering(dsn, second, Webhook("chat", f"{program.url}/hook", {})):
            program.wait_for(1)


class Slow(Webhook):
    """Waits with the answer in hand, as when the machine stalls between the receiver's answer and the mark."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(name, url, {})
        self.sent, self.go_on = threading.Event(), threading.Event()

    def send(self, notification: Notification) -> None:
        super().send(notification)
        self.sent.set()
        assert self.go_on.wait(PATIENCE_S)


def test_a_claim_between_sending_and_marking_repeats_nothing(store: PostgresStore, dsn: str) -> None:
    first = store.claim()
    store.commit(commit(first, 0, 10, incident(), incident("resolved")))
    with receiving("/hook") as program:
        slow = Slow("chat", f"{program.url}/hook")
        with delivering(dsn, first, slow):
            assert slow.sent.wait(PATIENCE_S)
            second = store.claim()
            with delivering(dsn, second, Webhook("chat", f"{program.url}/hook", {})):
                # A batch of the new writer does not wait for the old one's turn.
                store.commit(commit(second, 10, 20, apart("i2")))
                assert len(program.requests) == 1
                slow.go_on.set()
                program.wait_for(3)
                until(lambda: left(store) == 0)
    assert [key for key, _ in program.requests] == ["i1:fired", "i1:resolved", "i2:fired"]


def test_many_claims_in_a_row_under_load_send_each_key_once(store: PostgresStore, dsn: str) -> None:
    deliveries: list[Delivery] = []
    count = 60
    with receiving("/hook") as program, receiving("/other") as other:
        for number in range(count):
            if number % 5 == 0:
                epoch = store.claim()
                receivers = [Webhook("chat", f"{program.url}/hook", {}), Webhook("other", f"{other.url}/other", {})]
                deliveries.append(Delivery(dsn, receivers))
                deliveries[-1].start([epoch])
            store.commit(commit(epoch, number, number + 1, apart(f"i{number}")))
        until(lambda: left(store) == 0)
        for delivery in deliveries:
            delivery.stop()
    for receiver in (program, other):
        assert Counter(key for key, _ in receiver.requests) == Counter(f"i{number}:fired" for number in range(count))
    assert running("webhook:chat") == 0


def test_a_frozen_job_keeps_its_turn_for_a_bounded_time(store: PostgresStore, dsn: str) -> None:
    first = store.claim()
    frozen, other = Database(dsn), Database(dsn)
    with other.session() as mine:
        assert mine.execute("show idle_in_transaction_session_timeout").fetchone() == ("10s",), "of any transaction"
        with turn(mine, "webhook:chat", [first]):
            assert mine.execute("show idle_in_transaction_session_timeout").fetchone() == ("1min",)

    def next_turn(epoch: int) -> bool:
        with other.session() as mine:
            try:
                with turn(mine, "webhook:chat", [epoch]):
                    return True
            except TurnTaken:
                return False

    def stand_still() -> None:
        with frozen.session() as connection, turn(connection, "webhook:chat", [first], frozen_after_ms=300):
            second = store.claim()
            assert not next_turn(second)
            until(lambda: next_turn(second))
            connection.execute("select 'the mark'")

    with pytest.raises(DatabaseUnreachable, match="idle-in-transaction timeout"):
        stand_still()
    with pytest.raises(Deposed):
        next_turn(first)
    frozen.close()
    other.close()


def test_who_leads_is_known_by_the_epoch_and_by_nothing_else(store: PostgresStore, dsn: str) -> None:
    first = Writer(dsn, [store.claim()])
    assert first.leads()
    second = Writer(dsn, [store.claim()])
    assert (first.leads(), second.leads()) == (False, True)
    nowhere = Writer("postgresql://monitor@127.0.0.1:9/none", [1])
    assert not nowhere.leads()
    for job in (first, second, nowhere):
        job.close()


def test_a_job_that_was_deposed_everywhere_notifies_of_what_it_claims_next(
    store: PostgresStore, dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = PostgresStore(dsn, "d")
    epochs = {store.claim(): "c"}
    store.claim()
    with receiving("/hook") as program:
        sending = Delivery(dsn, [Webhook("chat", f"{program.url}/hook", {})])
        sending.start(epochs)
        until(lambda: "another job has taken over" in caplog.text)
        epoch = other.claim()
        epochs[epoch] = "d"
        of_other = replace(incident("fired", incident_id="i2"), cluster="d")
        other.commit(commit(epoch, 0, 10, of_other, key=PARTITION._replace(cluster_id="k2")))
        program.wait_for(1)
        sending.stop()
    other.close()
