"""Write a Connect config topic for a simulated group, the way a real leader does: connector, tasks, commit."""

import json
from collections.abc import Mapping

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.errors import LabError


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


def records(connectors: Mapping[str, int]) -> list[tuple[str, dict[str, object]]]:
    """Key and value of each record that configures these connectors (name -> number of tasks)."""
    found: list[tuple[str, dict[str, object]]] = []
    for name, tasks in connectors.items():
        connector_class = "org.apache.kafka.connect.file.FileStreamSinkConnector"
        properties = {"name": name, "connector.class": connector_class, "tasks.max": str(tasks)}
        found.append((f"connector-{name}", {"properties": properties}))
        found += [(f"task-{name}-{number}", {"properties": {"task.class": "idle"}}) for number in range(tasks)]
        found.append((f"commit-{name}", {"tasks": tasks}))
    return found


def write(bootstrap: str, topic: str, connectors: Mapping[str, int]) -> int:
    """Append the configuration; returns the offset that a worker states once it has read it all."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    offsets: list[int] = []
    for key, value in records(connectors):
        producer.produce(
            topic,
            key=key.encode(),
            value=json.dumps(value).encode(),
            partition=0,
            on_delivery=lambda error, message: offsets.append(message.offset() if error is None else -1),
        )
    producer.flush(30)
    if not offsets or min(offsets) < 0:
        raise LabError(f"the configuration could not be written to topic {topic}")
    return max(offsets) + 1
