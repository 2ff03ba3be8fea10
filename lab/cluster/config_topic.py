"""Write a Connect config topic for a simulated group, the way a real leader does: connector, tasks, commit."""

import json
from collections.abc import Mapping, Sequence

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.errors import LabError
from rebalance_monitor.assignors.connect.model import ConfigSnapshot


def create(bootstrap: str, names: Mapping[str, int]) -> None:
    """Create compacted topics (name -> partitions) and wait until each exists."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = [
        NewTopic(name, num_partitions=partitions, replication_factor=1, config={"cleanup.policy": "compact"})
        for name, partitions in names.items()
    ]
    for name, created in admin.create_topics(topics).items():
        try:
            created.result(30)
        except KafkaException as error:
            raise LabError(f"topic {name} could not be created: {error.args[0].str()}") from None


def records(connectors: Mapping[str, int]) -> list[tuple[str, Mapping[str, object]]]:
    """Key and value of each record that configures these connectors (name -> number of tasks)."""
    found: list[tuple[str, Mapping[str, object]]] = []
    for name, tasks in connectors.items():
        connector_class = "org.apache.kafka.connect.file.FileStreamSinkConnector"
        properties = {"name": name, "connector.class": connector_class, "tasks.max": str(tasks)}
        found.append((f"connector-{name}", {"properties": properties}))
        found += [(f"task-{name}-{number}", {"properties": {"task.class": "idle"}}) for number in range(tasks)]
        found.append((f"commit-{name}", {"tasks": tasks}))
    return found


def write(bootstrap: str, topic: str, connectors: Mapping[str, int]) -> int:
    """Append the configuration; returns the offset that a worker states once it has read it all."""
    return _append(_producer(bootstrap), topic, records(connectors))


def _producer(bootstrap: str) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0, "linger.ms": 0})


def _append(producer: Producer, topic: str, changes: Sequence[tuple[str, Mapping[str, object] | None]]) -> int:
    offsets: list[int] = []
    for key, value in changes:
        producer.produce(
            topic,
            key=key.encode(),
            value=None if value is None else json.dumps(value).encode(),
            partition=0,
            on_delivery=lambda error, message: offsets.append(message.offset() if error is None else -1),
        )
    producer.flush(30)
    if len(offsets) < len(changes) or min(offsets) < 0:
        raise LabError(f"the configuration could not be written to topic {topic}")
    return max(offsets) + 1


class ConfigLog:
    """A group's config topic as its workers know it: what was written last, and the snapshot after it.

    All records of one change are written before `newest` moves, so no worker is ever seen between two of them.
    """

    def __init__(self, bootstrap: str, topic: str | None, newest: ConfigSnapshot | None = None) -> None:
        self.newest = newest or ConfigSnapshot(-1, {})
        self._topic = topic
        self._producer = _producer(bootstrap) if topic else None

    def create(self, name: str, tasks: int) -> None:
        """A connector with its tasks; also changes the number of tasks of one that exists."""
        self._append(records({name: tasks}), {**self.newest.connectors, name: tasks})

    def delete(self, name: str) -> None:
        """Tombstones of the connector and its target state, as REST's DELETE leaves them."""
        kept = {other: tasks for other, tasks in self.newest.connectors.items() if other != name}
        self._append([(f"connector-{name}", None), (f"target-state-{name}", None)], kept)

    def target(self, name: str, state: str) -> None:
        """STARTED or PAUSED; the job set stays."""
        self._append([(f"target-state-{name}", {"state": state, "state.v2": state})], self.newest.connectors)

    def restart(self, name: str) -> None:
        """The request to restart a connector with all its tasks, which REST hands on through the topic (KIP-745)."""
        request = {"include-tasks": True, "only-failed": False}
        self._append([(f"restart-connector-{name}", request)], self.newest.connectors)

    def _append(self, changes: Sequence[tuple[str, Mapping[str, object] | None]], after: Mapping[str, int]) -> None:
        if self._producer is None or self._topic is None:
            raise LabError("the configuration of this group was given once and for all")
        self.newest = ConfigSnapshot(_append(self._producer, self._topic, changes), dict(after))
