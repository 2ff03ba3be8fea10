"""The benchmark's stage: the demo's without its Connect workers, and with other settings where a figure needs them."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lab.bench import topic
from lab.cluster import broker, jars, java, postgres
from lab.demo.checker import scrape
from lab.demo.stage import Ports, Stage
from lab.errors import LabError
from lab.ports import free_ports
from lab.process import Lab


def create_topic(bootstrap: str) -> None:
    """Kafka creates the topic when a group asks for its coordinator, with the broker's number of partitions."""
    deadline = time.monotonic() + 60
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": "asks-for-its-coordinator", "log_level": 0})
    try:
        while topic.TOPIC not in AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).topics:
            if time.monotonic() > deadline:
                raise LabError(f"the broker did not create {topic.TOPIC} within 60 s")
            with suppress(KafkaException):
                client.committed([TopicPartition("nothing", 0)], timeout=5)
        topic.wait_for_leaders(AdminClient({"bootstrap.servers": bootstrap}), (topic.TOPIC,))
    finally:
        client.close()


class BenchStage(Stage):
    """Broker, PostgreSQL and alert receiver run after `prepare`; the job is started by whoever measures it."""

    def __init__(
        self,
        lab: Lab,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        broker_properties: Mapping[str, object] | None = None,
        cluster: Mapping[str, Any] | None = None,
    ) -> None:
        """`cluster`: what the job is told of the cluster, where that differs."""
        super().__init__(lab, Ports.of(free_ports(5)))
        self._settings, self._cluster = settings or {}, cluster or {}
        self._broker_properties = broker_properties

    def prepare(self) -> None:
        """Everything the job needs."""
        self.java = java.find()
        class_path = jars.fetch(self.java)
        self.postgres = postgres.start(self.lab)
        ports = (self.ports.broker, self.ports.controller)
        self.broker = broker.start(self.lab, self.java, class_path, *ports, self._broker_properties)
        create_topic(self.broker.address)
        self._start_receiver()

    def configuration(self) -> dict[str, object]:
        """The demo's, with the settings of this run laid over its sections."""
        given = super().configuration()
        for name, section in self._settings.items():
            before = given.get(name, {})
            assert isinstance(before, dict)
            given[name] = {**before, **section}
        clusters = given["clusters"]
        assert isinstance(clusters, list)
        given["clusters"] = [{**one, **self._cluster} for one in clusters]
        return given

    def listening(self) -> bool:
        """Whether the job answers at /metrics: its schema is there by then."""
        try:
            return bool(scrape(self.addresses.metrics))
        except LabError:
            return False
