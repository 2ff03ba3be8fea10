"""Webhooks and the topic of alerts get every transition under one stable key, each receiver on its own."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from rebalance_monitor.streaming.notify import delivery
from rebalance_monitor.streaming.notify.alertmanager import Alertmanager
from rebalance_monitor.streaming.notify.alerts import AlertStyle
from rebalance_monitor.streaming.notify.alerts_topic import AlertsTopic, ProducerRefused
from rebalance_monitor.streaming.notify.delivery import Delivery, NotAccepted, Receiver
from rebalance_monitor.streaming.notify.webhook import Webhook
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.outbox import Notification, waiting_count
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.builders import commit, incident, writer_epoch
from tests.streaming.notify.receiver import receiving
from tests.waiting import PATIENCE_S

SECRET = "planted-secret"
KEYS = ["i1:fired", "i1:resolved"]


@contextmanager
def delivering(dsn: str, *receivers: Receiver) -> Iterator[None]:
    sending = Delivery(dsn, receivers)
    sending.start([writer_epoch(dsn)])
    try:
        yield
    finally:
        sending.stop()


def fire_and_resolve(store: PostgresStore) -> None:
    store.commit(commit(store.claim(), 0, 10, incident(), incident("resolved")))


def left(store: PostgresStore) -> int:
    with store.database.session() as connection:
        return waiting_count(connection, ["c"])


@pytest.mark.postgres
def test_a_webhook_gets_one_object_per_transition_with_its_headers(store: PostgresStore, dsn: str) -> None:
    fire_and_resolve(store)
    with receiving(f"/{SECRET}") as program:
        webhook = Webhook("chat", f"{program.url}/{SECRET}", {"Authorization": f"Bearer {SECRET}"})
        with delivering(dsn, webhook):
            (_, fired), (_, resolved) = program.wait_for(2)
    assert [key for key, _ in program.requests] == KEYS
    assert {headers["Authorization"] for _, headers in program.seen} == {f"Bearer {SECRET}"}
    assert (fired["key"], fired["transition"], fired["incident"]["firing"]) == ("i1:fired", "fired", True)
    assert (resolved["transition"], resolved["incident"]["resolved_at_ms"]) == ("resolved", 9_000)
    assert fired["incident"]["kind"] == "violation"
    assert fired["summary"] == "Two workers hold the same connector or task, or both may run it."
    assert fired["next_step"]
    assert fired["group_url"] == "http://127.0.0.1:9471/group?cluster=c&group=connect-1"
    assert fired["runbook_url"] == "http://127.0.0.1:9471/runbook?rule=duplicate_active"


@pytest.mark.postgres
def test_a_repeat_is_the_same_bytes_under_the_same_key(store: PostgresStore, dsn: str) -> None:
    fire_and_resolve(store)
    with receiving("/hook") as program:
        program.answers += [503, 500]
        with delivering(dsn, Webhook("chat", f"{program.url}/hook", {})):
            sent = program.wait_for(4)
    assert [key for key, _ in sent] == [KEYS[0]] * 3 + [KEYS[1]]
    assert sent[0] == sent[1] == sent[2]


@pytest.mark.postgres
def test_no_secret_is_stored_or_logged(store: PostgresStore, dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="rebalance_monitor")
    fire_and_resolve(store)
    with receiving(f"/{SECRET}") as program:
        program.answers += [500, 400]
        hook = Webhook("chat", f"{program.url}/{SECRET}", {"X-Token": SECRET})
        dead = Webhook("dead", f"http://127.0.0.1:9/{SECRET}", {"X-Token": SECRET})
        manager = Alertmanager(f"http://jane:{SECRET}@127.0.0.1:9", AlertStyle(generator_url="http://a"))
        with delivering(dsn, hook, dead, manager):
            program.wait_for(3)
    assert "webhook:chat accepts no notification (it answers 500 Internal Server Error)" in caplog.text
    assert SECRET not in caplog.text
    with store.database.session() as connection:
        rows = connection.execute("select url, refused from rebalance_monitor.outbox_sent order by 1, 2").fetchall()
    assert rows == [("webhook:chat", "400"), ("webhook:chat", None)]


@pytest.mark.postgres
def test_a_dead_webhook_holds_up_nobody_and_one_taken_away_leaves_nothing_behind(
    store: PostgresStore, dsn: str
) -> None:
    fire_and_resolve(store)
    with receiving("/hook") as program:
        chat = Webhook("chat", f"{program.url}/hook", {})
        with delivering(dsn, chat, Webhook("dead", "http://127.0.0.1:9/", {})):
            program.wait_for(2)
        assert left(store) == 2
        store.commit(commit(store.claim(), 10, 20, incident(incident_id="i2")))
        with delivering(dsn, Webhook("chat", f"{program.url}/hook", {})):
            program.wait_for(3)
    assert [key for key, _ in program.requests] == [*KEYS, "i2:fired"]
    assert left(store) == 0


@pytest.mark.postgres
def test_a_database_that_is_away_is_logged_once_and_its_return_too(
    store: PostgresStore, dsn: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked for every second: a night without it must not fill the log."""
    fire_and_resolve(store)
    epoch, away, session = writer_epoch(dsn), iter(range(5)), Database.session

    def sometimes(database: Database) -> Any:
        if next(away, None) is not None:
            raise DatabaseUnreachable("PostgreSQL at x can't be used")
        return session(database)

    monkeypatch.setattr(delivery, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(Database, "session", sometimes)
    with receiving("/hook") as program, caplog.at_level(logging.WARNING, "rebalance_monitor.delivery"):
        sending = Delivery(dsn, [Webhook("chat", f"{program.url}/hook", {})])
        sending.start([epoch])
        program.wait_for(2)
        sending.stop()
    said = [one.getMessage() for one in caplog.records if one.name == "rebalance_monitor.delivery"]
    assert said == ["PostgreSQL at x can't be used", "PostgreSQL answers again; webhook:chat gets what waited"]


@pytest.fixture
def broker() -> Iterator[str]:
    """librdkafka's own broker in memory: it speaks the protocol, idempotent producers included."""
    owner = Producer({"bootstrap.servers": "", "test.mock.num.brokers": "1", "log_level": "0"})
    # The address is known to the producer that runs it.
    metadata = owner.list_topics(timeout=PATIENCE_S)
    (only,) = metadata.brokers.values()
    yield f"{only.host}:{only.port}"
    owner.flush(0)


def records(broker: str, topic: str, count: int) -> Sequence[tuple[bytes | None, bytes | None]]:
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "reader", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[Any] = []
    while len(found) < count:
        record = consumer.poll(20)
        assert record is not None, f"only {len(found)} records came"
        if record.error() is None:
            found.append((record.key(), record.value()))
    consumer.close()
    return found


@pytest.mark.postgres
def test_the_topic_gets_every_transition_under_its_key(store: PostgresStore, dsn: str, broker: str) -> None:
    fire_and_resolve(store)
    topic = AlertsTopic("rebalance-alerts", {"bootstrap.servers": broker})
    with delivering(dsn, topic):
        found = records(broker, "rebalance-alerts", 2)
    assert [key for key, _ in found] == [key.encode() for key in KEYS]
    assert [json.loads(value or b"")["transition"] for _, value in found] == ["fired", "resolved"]


def test_a_property_that_librdkafka_does_not_know_is_one_sentence() -> None:
    with pytest.raises(ProducerRefused, match="No such configuration property"):
        AlertsTopic("t", {"bootstrap.servers": "127.0.0.1:9", "sasl.pasword": SECRET})


def test_a_broker_that_does_not_answer_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rebalance_monitor.streaming.notify.alerts_topic.SEND_WITHIN_S", 0.2)
    topic = AlertsTopic("t", {"bootstrap.servers": "127.0.0.1:9"})
    document = {"rule": "imbalance", "cluster": "c", "group": "g"}
    send: Callable[[], None] = lambda: topic.send(Notification("k", "fired", document, None))  # noqa: E731
    for _ in range(2):
        with pytest.raises(NotAccepted, match="no answer within"):
            send()
    topic.close()
