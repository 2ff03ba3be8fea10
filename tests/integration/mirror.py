"""A copy of the offsets topic that is kept up to date: what one monitor alone reads, so that it alone can lose it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.waiting import PATIENCE_S

OFFSETS = "__consumer_offsets"


@contextmanager
def mirrored(bootstrap: str, copy: str) -> Iterator[None]:
    """Every record of the offsets topic is in the topic `copy` too, at once, in the same partition and as old."""
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    partitions = admin.list_topics(OFFSETS, timeout=PATIENCE_S).topics[OFFSETS].partitions
    admin.create_topics([NewTopic(copy, len(partitions), 1)])[copy].result(PATIENCE_S)
    ending = threading.Event()

    def work() -> None:
        consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "mirror", "enable.auto.commit": False, "log_level": 0}
        )
        producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 0})
        consumer.assign([TopicPartition(OFFSETS, number, 0) for number in partitions])
        while not ending.is_set():
            record: Any = consumer.poll(0.1)
            if record is not None and record.error() is None:
                producer.produce(
                    copy, record.value(), record.key(), record.partition(), timestamp=record.timestamp()[1]
                )
            producer.poll(0)
        producer.flush(5)
        consumer.close()

    thread = threading.Thread(target=work, name="mirror", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(30)
