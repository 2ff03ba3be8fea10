"""The topic of alerts on a real broker: a principal of its own, one key per transition, and a stream it never stops."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from lab.cluster import config_topic
from rebalance_monitor.streaming.config.alerting import AlertingSection
from tests.integration.secured import Secured, client, secured
from tests.integration.told import fired, heal, kill, sections, simulated, spoil, topics, wait_told
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP, ALERTS = "told-by-topic", "rebalance-alerts"
# Without Write on any topic, the broker refuses an idempotent producer as such.
REFUSED = re.compile(rf"kafka:{ALERTS} accepts no notification \((TOPIC|CLUSTER)_AUTHORIZATION_FAILED\)")
USERS = {"monitor": "read only 1", "alerts": "write only 1"}


@pytest.fixture(scope="module")
def stage() -> Iterator[Secured]:
    with secured("alerts-topic", USERS) as made:
        for topic in ("__consumer_offsets", *topics(GROUP).values()):
            made.grant("monitor", topic, "read")
        config_topic.create(made.watched.broker.address, {ALERTS: 1})
        yield made


def told_to(stage: Secured) -> dict[str, Any]:
    kafka = {"bootstrap_servers": stage.address, "topic": ALERTS, "client": client("alerts", USERS["alerts"])}
    told = sections(stage.watched, GROUP, {"path": "prometheus", "kafka": kafka})
    as_monitor = {"bootstrap_servers": stage.address, "client": client("monitor", USERS["monitor"])}
    return {**told, "clusters": [{**told["clusters"][0], **as_monitor}]}


def records(stage: Secured) -> list[tuple[str, dict[str, Any]]]:
    """(key, value) of everything in the topic, in order."""
    consumer = Consumer({"bootstrap.servers": stage.watched.broker.address, "group.id": "reader", "log_level": 0})
    try:
        place = TopicPartition(ALERTS, 0, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=PATIENCE_S)
        consumer.assign([place])
        found = consumer.consume(end, PATIENCE_S) if end else []
    finally:
        consumer.close()
    return [((one.key() or b"").decode(), json.loads(one.value() or b"")) for one in found]


def keys(stage: Secured, statement: str) -> set[str]:
    with psycopg.connect(stage.watched.postgres.dsn) as database:
        return {row[0] for row in database.execute(statement).fetchall()}


def written(stage: Secured) -> set[str]:
    return keys(stage, "select key from rebalance_monitor.outbox")


def marked(stage: Secured) -> set[str]:
    return keys(stage, f"select key from rebalance_monitor.outbox_sent where url = 'kafka:{ALERTS}'")


@contextmanager
def no_marks(stage: Secured) -> Iterator[None]:
    """What is sent meanwhile can't be marked as sent."""
    with psycopg.connect(stage.watched.postgres.dsn) as database:
        database.execute("lock table rebalance_monitor.outbox_sent in share mode")
        yield


def refused(stage: Secured, user: str, topic: str) -> str:
    """What the broker answers to a user who writes to a topic."""
    said: list[str] = []
    producer = Producer({"bootstrap.servers": stage.address, **client(user, USERS[user]), "log_level": 0})
    producer.produce(topic, value=b"", on_delivery=lambda error, _: said.append(error.name() if error else "accepted"))
    producer.flush(PATIENCE_S)
    return said[0]


def test_off_by_default() -> None:
    assert AlertingSection().kafka is None


def test_every_transition_under_its_key_whatever_happens_in_between(stage: Secured) -> None:
    watched = stage.watched
    with simulated(watched, GROUP) as members:
        with watched.job("topic-1", **told_to(stage)) as job:
            watched.wait_ready(job)
            spoil(watched, members)
            wait_told(watched, "a refusal in the log", lambda: bool(REFUSED.search(job.log.read_text())), job)
            wait_told(watched, "incidents", lambda: bool(fired(watched, GROUP)), job)
            # The stream goes on: another group's rebalance is read, judged and stored.
            watched.rebalance("meanwhile")
            watched.wait_for_group("meanwhile", job)
            watched.wait_ready(job)
            assert records(stage) == []
            with no_marks(stage):
                stage.grant("alerts", ALERTS, "write")
                wait_told(watched, "a first record", lambda: bool(records(stage)), job)
                kill(job)
        ((unmarked, _),) = records(stage)
        assert marked(stage) == set(), "killed between sending and marking"
        with watched.job("topic-2", **told_to(stage)) as job:
            watched.wait_ready(job)
            wait_told(watched, "a repetition", lambda: [key for key, _ in records(stage)].count(unmarked) > 1, job)
            heal(watched, members)
            wait_told(watched, "the end of all", lambda: _over(stage), job)
    for number in (1, 2):
        assert "Traceback" not in (watched.lab.folder / "logs" / f"topic-{number}.log").read_text()
    found = records(stage)
    assert {key for key, times in Counter(key for key, _ in found).items() if times > 1} == {unmarked}
    assert {key for key, _ in found} == written(stage)
    course: dict[str, list[str]] = {}
    for key, value in dict(found).items():
        assert (value["key"], value["transition"]) == (key, key.split(":")[1])
        course.setdefault(value["incident"]["incident_id"], []).append(value["transition"])
    assert set(course) == set(fired(watched, GROUP))
    assert all(steps[0] == "fired" and steps[-1] in ("resolved", "ended") for steps in course.values()), course
    print(f"\n{len(course)} incidents, {len(dict(found))} keys, {len(found)} records")


def _over(stage: Secured) -> bool:
    """Whether every incident that was told has its end in the outbox, and all of that is sent."""
    ended = keys(stage, "select incident_id from rebalance_monitor.outbox where transition in ('resolved', 'ended')")
    return set(fired(stage.watched, GROUP)) == ended and marked(stage) == written(stage)


def test_neither_principal_can_do_the_others_work(stage: Secured) -> None:
    assert refused(stage, "monitor", ALERTS) == "TOPIC_AUTHORIZATION_FAILED"
    assert refused(stage, "alerts", "__consumer_offsets") == "TOPIC_AUTHORIZATION_FAILED"
    admin = AdminClient({"bootstrap.servers": stage.address, **client("alerts", USERS["alerts"]), "log_level": 0})
    try:
        seen = set(admin.list_topics(timeout=PATIENCE_S).topics)
    except KafkaException:
        seen = set()
    assert seen <= {ALERTS}
