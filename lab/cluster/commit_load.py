"""Offset commits at a given rate: records of the offsets topic that no judgement needs, as a busy cluster is full of.

Commits are those of clients that belong to no group: one request carries the offsets of many partitions, and each
becomes one record.
"""

import threading
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "committed"
PARTITIONS = 100
GROUPS = 10
STEP_S = 0.05


class Commits:
    """A thread that commits `per_s` offsets a second, spread evenly, until stopped. `done` counts them."""

    def __init__(self, bootstrap: str, per_s: float) -> None:
        self._bootstrap, self._per_s = bootstrap, per_s
        self._ending = threading.Event()
        self.done = 0
        self._thread = threading.Thread(target=self._run, name="commits", daemon=True)

    def __enter__(self) -> "Commits":
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        if TOPIC not in admin.list_topics(timeout=20).topics:
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(20)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(30)

    def _run(self) -> None:
        clients = [
            Consumer({"bootstrap.servers": self._bootstrap, "group.id": f"commits-{number}", "log_level": 0})
            for number in range(GROUPS if self._per_s else 0)
        ]
        began_s = time.monotonic()
        turn = 0
        while clients and not self._ending.wait(STEP_S):
            due = int((time.monotonic() - began_s) * self._per_s) - self.done
            while due > 0:
                count = min(due, PARTITIONS)
                places = [TopicPartition(TOPIC, number, 1 + turn) for number in range(count)]
                try:
                    clients[turn % len(clients)].commit(offsets=places, asynchronous=True)
                except KafkaException:
                    break  # the queue is full, or the broker away: the rest follows
                due, turn, self.done = due - count, turn + 1, self.done + count
            for client in clients:
                client.poll(0)
        for client in clients:
            client.close()
