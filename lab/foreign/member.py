"""`python -m lab.foreign.member`: one member of a consumer group by librdkafka or kafka-python.

It joins, polls, and leaves when it is told to end (SIGTERM). A static member leaves nobody a word.
"""

import argparse
import signal
import threading
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import Consumer
from kafka import KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

POLL_S = 0.1
METADATA_MAX_AGE_MS = 5_000
HEARTBEAT_MS = 500
KAFKA_PYTHON = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


def librdkafka(asked: argparse.Namespace, ended: threading.Event) -> None:
    """Poll until the end, then leave."""
    properties = {
        "bootstrap.servers": asked.bootstrap,
        "group.id": asked.group,
        "partition.assignment.strategy": asked.assignor,
        "session.timeout.ms": asked.session_ms,
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "topic.metadata.refresh.interval.ms": METADATA_MAX_AGE_MS,
        "enable.auto.commit": False,
        **({"client.id": asked.client} if asked.client else {}),
        **({"group.instance.id": asked.instance} if asked.instance else {}),
    }
    consumer = Consumer(properties)
    try:
        consumer.subscribe(asked.topics)
        while not ended.is_set():
            consumer.poll(POLL_S)
    finally:
        consumer.close()


def kafka_python(asked: argparse.Namespace, ended: threading.Event) -> None:
    """Poll until the end, then leave."""
    properties = {
        **({"client_id": asked.client} if asked.client else {}),
        **({"group_instance_id": asked.instance} if asked.instance else {}),
    }
    consumer = KafkaConsumer(
        *asked.topics,
        bootstrap_servers=asked.bootstrap,
        group_id=asked.group,
        partition_assignment_strategy=[KAFKA_PYTHON[asked.assignor]],
        session_timeout_ms=asked.session_ms,
        heartbeat_interval_ms=HEARTBEAT_MS,
        metadata_max_age_ms=METADATA_MAX_AGE_MS,
        enable_auto_commit=False,
        **properties,
    )
    try:
        while not ended.is_set():
            consumer.poll(timeout_ms=int(POLL_S * 1000))
    finally:
        consumer.close(autocommit=False)


LIBRARIES: Mapping[str, Callable[[argparse.Namespace, threading.Event], None]] = {
    "librdkafka": librdkafka,
    "kafka-python": kafka_python,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Be a member until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m lab.foreign.member", description=__doc__)
    parser.add_argument("--library", choices=sorted(LIBRARIES), required=True)
    parser.add_argument("--bootstrap", required=True, help="host:port of a broker")
    parser.add_argument("--group", required=True)
    parser.add_argument("--assignor", choices=sorted(KAFKA_PYTHON), required=True)
    parser.add_argument("--topics", required=True, type=lambda text: text.split(","), help="separated by commas")
    parser.add_argument("--client", default="", help="client id; the library's own if there is none")
    parser.add_argument("--instance", default="", help="group instance id of a static member")
    parser.add_argument("--session-ms", type=int, default=6_000)
    asked = parser.parse_args(arguments)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    LIBRARIES[asked.library](asked, ended)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
