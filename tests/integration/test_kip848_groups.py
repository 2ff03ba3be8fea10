"""A real KIP-848 group under a real job: its targets are judged, and its state is shown in Kafka's words."""

from collections import Counter
from contextlib import ExitStack

import psycopg
import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.integration.watched import Live
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP, TOPIC, PARTITIONS = "kip848", "clicks", 6
SAID = (
    "select grade, coalesce(reason, '') from rebalance_monitor.generations"
    " where \"group\" = %s and lifecycle = 'consumer'"
)
STATE = 'select state from rebalance_monitor.groups where "group" = %s'


def test_targets_of_a_real_group_match(live: Live) -> None:
    watched, job = live
    admin = AdminClient({"bootstrap.servers": watched.broker.address, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE_S)
    settings = {
        "bootstrap.servers": watched.broker.address, "group.id": GROUP, "group.protocol": "consumer", "log_level": 0,
    }  # fmt: skip
    consumers: list[Consumer] = []

    def hold() -> bool:
        for consumer in consumers:
            consumer.poll(0.02)
        held = [len(one.assignment()) for one in consumers]
        return all(held) and sum(held) == PARTITIONS

    def said() -> list[tuple[str, str]]:
        with psycopg.connect(watched.postgres.dsn) as database:
            return [(str(grade), str(why)) for grade, why in database.execute(SAID, (GROUP,)).fetchall()]

    def state() -> str:
        hold()
        with psycopg.connect(watched.postgres.dsn) as database:
            row = database.execute(STATE, (GROUP,)).fetchone()
        return "" if row is None else str(row[0])

    with ExitStack() as ending:
        for size in (1, 2, 3):
            consumers.append(Consumer(settings))
            ending.callback(consumers[-1].close)
            consumers[-1].subscribe([TOPIC])
            watched.lab.wait_for(f"{size} members hold all", hold, job, PATIENCE_S)
        watched.lab.wait_for("targets judged", lambda: len(said()) >= 3, job, PATIENCE_S)
        watched.lab.wait_for("the group stable", lambda: state() == "Stable", job, PATIENCE_S)
        grades = Counter(grade for grade, _ in said())
        print(grades, said())
        assert grades.keys() <= {"match", "explainable"}, said()
        assert grades["match"] >= 2, said()
