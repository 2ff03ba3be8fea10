"""A Connect group of real workers. The job does not read the coordinator's own log (`load.LOG_TOPIC`), so the group's
records there are copied, with their times, to a partition of the log that the job reads."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from lab.chaos.load import COPIES, LOG_TOPIC, PacedLoad, producer
from lab.cluster import jars, offsets_reader, workers
from lab.cluster.broker import OFFSETS_PARTITIONS, Broker
from lab.cluster.java import Java
from lab.cluster.offsets_reader import Coordinates, parse
from lab.ports import free_ports
from lab.process import Lab
from rebalance_monitor.streaming.core.model.settings import ConnectSettings

GROUP = "real-workers"
CONNECTORS = {"orders": 3, "invoices": 2}
WORKERS = 2
MAX_DELAY_MS = 8_000
POLL_S, ASKED_WITHIN_S = 0.2, 30.0


class CopiedGroup:
    """Runs from `start` to `stop`. `members`: how many the last generation that was copied has."""

    def __init__(self, lab: Lab, java: Java, broker: Broker, load: PacedLoad) -> None:
        self._lab, self._java, self._broker, self._load = lab, java, broker, load
        self._ports = free_ports(WORKERS)
        self._ends: dict[int, int] = {}
        """Where the partitions of the coordinator's log ended when the group had."""
        self._copied: list[tuple[int, int]] = []
        self.members = 0
        self.settings = ConnectSettings(
            config_topic=workers.config_topic(GROUP),
            status_topic=workers.status_topic(GROUP),
            max_delay_ms=MAX_DELAY_MS,
            release=jars.kafka_release(),
            java_version=java.version,
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._copy, name="copies", daemon=True)

    def start(self) -> None:
        self.workers = self._started(self._ports, 1)
        for name, tasks in CONNECTORS.items():
            workers.create_sink(self.workers[0], name, tasks, name)
        self._thread.start()

    def stop(self) -> None:
        """No worker runs, all records are copied, and the load's `ends` have the group's own topics too."""
        for one in self.workers:
            one.child.stop()
        self._ended.set()
        self._thread.join()
        with _reading(self._broker) as consumer:
            for topic in (workers.config_topic(GROUP), workers.status_topic(GROUP)):
                for partition in consumer.list_topics(topic, ASKED_WITHIN_S).topics[topic].partitions:
                    if end := _end(consumer, TopicPartition(topic, partition)):
                        self._load.ends[topic, partition] = end

    def whole(self) -> bool:
        """Whether all workers are in the last generation."""
        return self.members == WORKERS

    def kill_a_worker(self) -> None:
        self.workers[0].child.kill()

    def start_it_again(self) -> None:
        self.workers[:1] = self._started(self._ports[:1], 1)

    def signal_a_worker(self, number: signal.Signals) -> None:
        self.workers[-1].child.process.send_signal(number)

    def uncopied(self) -> list[str]:
        """Generations that the coordinator's log has and the copies do not, or the other way round."""
        found = [
            (one.generation, one.members)
            for one in offsets_reader.read(self._broker.address)
            if one.group == GROUP and one.at.offset < self._ends.get(one.at.partition, sys.maxsize)
        ]
        return [f"generation {one} of {GROUP} with {size} members" for one, size in {*found} ^ {*self._copied}]

    def _started(self, ports: list[int], first_number: int) -> list[workers.Worker]:
        return workers.start(
            self._lab, self._java, jars.fetch(self._java), self._broker, group=GROUP, ports=ports,
            max_delay_ms=MAX_DELAY_MS, first_number=first_number,
        )  # fmt: skip

    def _copy(self) -> None:
        """Until the group has ended and all that the log holds then is copied; waits out an outage of the broker."""
        writer, read = producer(self._broker.address), dict[int, int]()
        with _reading(self._broker) as consumer:
            places = [TopicPartition(offsets_reader.TOPIC, number, 0) for number in range(OFFSETS_PARTITIONS)]
            consumer.assign(places)
            while not self._ends or any(read.get(number, 0) < end for number, end in self._ends.items()):
                if not self._ends and self._ended.is_set():
                    self._ends = {one.partition: _end(consumer, one) for one in places}
                message = consumer.poll(POLL_S)
                writer.poll(0)
                if message is not None and message.error() is None:
                    self._take(message, writer)
                    read[int(message.partition() or 0)] = int(message.offset() or 0) + 1
        if writer.flush(ASKED_WITHIN_S):
            self._load.refused.append("copies were not taken in time")

    def _take(self, message: Message, writer: Producer) -> None:
        place = Coordinates(offsets_reader.TOPIC, int(message.partition() or 0), int(message.offset() or 0))
        found = parse(place, message.key(), message.value())
        if found is None or found.group != GROUP:
            return
        self.members = found.members
        self._copied.append((found.generation, found.members))
        writer.produce(
            LOG_TOPIC, value=message.value(), key=message.key(), partition=COPIES, timestamp=message.timestamp()[1],
            on_delivery=self._load.delivered,
        )  # fmt: skip


def _end(consumer: Consumer, place: TopicPartition) -> int:
    _, end = consumer.get_watermark_offsets(place, ASKED_WITHIN_S)
    return int(end)


@contextmanager
def _reading(broker: Broker) -> Iterator[Consumer]:
    consumer = Consumer(
        {"bootstrap.servers": broker.address, "group.id": "none", "enable.auto.commit": False, "log_level": 0}
    )
    try:
        yield consumer
    finally:
        consumer.close()
