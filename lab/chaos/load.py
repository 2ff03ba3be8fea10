"""Generations at the pace of the clock, written by a producer that outlasts an outage of the broker."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from lab.bench.generations.connect import STATUS_PARTITIONS
from lab.bench.generations.load import Load
from lab.bench.generations.played import Size
from lab.bench.prepared import create_topics
from lab.errors import LabError
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord

LOG_TOPIC = "offsets-log"
"""Stands for the coordinator's log: after a broker's restart its coordinator would write to its own."""
KINDS = ("range", "cooperative-sticky", "connect", "sticky", "roundrobin")
LOG_PARTITIONS = 4
COPIES = LOG_PARTITIONS
"""The partition after those of the load: records of real groups (`copied_group`)."""
OUTAGE_MS = 600_000
READ_S = 60.0
Place = tuple[str, int]
"""Topic and partition."""


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def producer(bootstrap: str) -> Producer:
    """Outlasts an outage of the broker, and then writes each record once and in order."""
    return Producer(
        {
            "bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0, "linger.ms": 5,
            "message.timeout.ms": OUTAGE_MS, "reconnect.backoff.max.ms": 500,
        }
    )  # fmt: skip


@dataclass(slots=True)
class PacedLoad:
    """Groups that go on until `stop`. `ends`: how many records the broker has taken of each partition."""

    bootstrap: str
    seed: int
    groups: int = 20
    every_ms: int = 4_000
    load: Load = field(init=False)
    ends: dict[Place, int] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    _size: Size = field(init=False)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        size = Size(
            generations=10**9, groups=self.groups, members=3, partitions=8, log_partitions=LOG_PARTITIONS,
            every_ms=self.every_ms, seed=self.seed,
        )  # fmt: skip
        self._size = size
        self.load = Load(size, KINDS)
        self._thread = threading.Thread(target=self._write, name="load", daemon=True)

    def topics(self) -> dict[str, int]:
        """Partitions of the topics that are written and read."""
        told = self.load.settings.connect.values()
        own = {one.config_topic: 1 for one in told if one.config_topic is not None}
        own |= {one.status_topic: STATUS_PARTITIONS for one in told if one.status_topic is not None}
        return {LOG_TOPIC: LOG_PARTITIONS + 1, **own}

    def prepare(self) -> None:
        """Creates all topics. Who reads them is to know them before the first record."""
        counts, _ = self.load.topics()
        create_topics(self.bootstrap, {**counts, **self.topics()})

    def start(self) -> None:
        """Begins to write; the first records are of now."""
        self.load = Load(self._size, KINDS, now_ms())
        self._thread.start()

    def stop(self) -> None:
        """Ends; what was produced is written. LabError where the broker has refused a record."""
        self._stop.set()
        self._thread.join()
        if self.refused:
            raise LabError(f"the broker refused {len(self.refused)} records: {self.refused[0]}")

    def over(self) -> bool:
        """Whether it was stopped."""
        return self._stop.is_set()

    def _write(self) -> None:
        writer = producer(self.bootstrap)
        for record in self.load.records():
            while not self._stop.is_set() and record.timestamp_ms > now_ms():
                writer.poll(0.05)
            if self._stop.is_set():
                break
            topic = LOG_TOPIC if record.topic == OFFSETS_TOPIC else record.topic
            writer.produce(
                topic, value=record.value, key=record.key, partition=record.partition,
                timestamp=record.timestamp_ms, on_delivery=self.delivered,
            )  # fmt: skip
        if left := writer.flush(OUTAGE_MS / 1000):
            self.refused.append(f"{left} were not taken in time")

    def delivered(self, error: KafkaError | None, message: object) -> None:
        """The broker took a record of the log, or refused it."""
        if error is not None:
            self.refused.append(error.str())
            return
        place = (str(message.topic()), int(message.partition()))  # type: ignore[attr-defined]
        self.ends[place] = int(message.offset()) + 1  # type: ignore[attr-defined]

    def read(self) -> Iterator[RawRecord]:
        """All records, read from the broker, in the order of their times within what one partition allows."""
        consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "none", "enable.auto.commit": False, "log_level": 0}
        )
        wanted = dict(self.ends)
        consumer.assign([TopicPartition(*place, 0) for place in wanted])
        found: list[RawRecord] = []
        try:
            while wanted:
                message = consumer.poll(READ_S)
                if message is None or message.error() is not None:
                    raise LabError(f"the topics could not be read to their ends: {message and message.error()}")
                place = (str(message.topic()), int(message.partition() or 0))
                offset, topic = int(message.offset() or 0), place[0]
                if place in wanted and offset + 1 >= wanted[place]:
                    del wanted[place]
                found.append(
                    RawRecord(
                        topic=OFFSETS_TOPIC if topic == LOG_TOPIC else topic,
                        partition=place[1],
                        offset=offset,
                        timestamp_ms=message.timestamp()[1],
                        key=message.key(),
                        value=message.value(),
                    )
                )
        except KafkaException as why:
            raise LabError(f"the topics could not be read: {why}") from why
        finally:
            consumer.close()
        yield from sorted(found, key=lambda one: (one.timestamp_ms, one.topic, one.partition, one.offset))
