"""Real Kafka Connect workers, and connectors made of Kafka's own FileStreamSink (it honours `tasks.max`)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from lab.asking import local
from lab.cluster import class_data, jvm
from lab.cluster.broker import Broker
from lab.cluster.java import Java
from lab.errors import LabError
from lab.ports import HOST
from lab.process import PATIENCE_S, Child, Lab

SINK_CLASS = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker; `address` (host:port) is what its group member is known by."""

    child: Child
    port: int

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def ready(self) -> bool:
        """REST answers 404 until the worker has started."""
        try:
            return local().get(f"{self.url}/", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False


def config_topic(group: str) -> str:
    return f"{group}-configs"


def status_topic(group: str) -> str:
    return f"{group}-status"


def _properties(broker: Broker, group: str, port: int, max_delay_ms: int, protocol: str) -> dict[str, object]:
    return {
        "bootstrap.servers": broker.address,
        "group.id": group,
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "config.storage.topic": config_topic(group),
        "status.storage.topic": status_topic(group),
        "offset.storage.topic": f"{group}-offsets",
        "config.storage.replication.factor": 1,
        "status.storage.replication.factor": 1,
        "offset.storage.replication.factor": 1,
        "status.storage.partitions": 3,
        "offset.storage.partitions": 2,
        "listeners": f"http://{HOST}:{port}",
        "rest.advertised.host.name": HOST,
        "scheduled.rebalance.max.delay.ms": max_delay_ms,
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 1500,
        "rebalance.timeout.ms": 20000,
        "plugin.discovery": "service_load",
        "connect.protocol": protocol,
    }


def start(
    lab: Lab,
    java: Java,
    class_path: str,
    broker: Broker,
    *,
    group: str,
    ports: Sequence[int],
    max_delay_ms: int,
    protocol: str = "sessioned",
    first_number: int = 1,
) -> list[Worker]:
    """Start one worker per port, all at once; wait until each answers. `protocol` is their `connect.protocol`."""
    workers = []
    for number, port in enumerate(ports, start=first_number):
        folder = lab.folder / f"worker-{number}"
        properties = jvm.write_properties(
            folder / "worker.properties", _properties(broker, group, port, max_delay_ms, protocol)
        )
        main = class_data.WORKER
        command = jvm.command(java, folder, class_path, 256, main, str(properties))
        # The file connectors resolve relative names here, so no path of this machine gets into the config topic.
        child = lab.start(f"worker-{number}", command, environment=java.environment(), cwd=folder)
        workers.append(Worker(child, port))
    for worker in workers:
        lab.wait_for(f"Connect worker {worker.address}", worker.ready, worker.child)
    return workers


def create_sink(
    worker: Worker, name: str, tasks: int, topic: str, timeout_s: float = PATIENCE_S, *, folder: str = ""
) -> None:
    """Create a connector with idle tasks; refused calls during a rebalance (409) are repeated. `folder`: where its file
    lies; where that does not exist, each task fails."""
    config = {
        "connector.class": SINK_CLASS,
        "tasks.max": str(tasks),
        "topics": topic,
        "file": f"{folder}{name}.txt",
    }
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            answer = local().put(f"{worker.url}/connectors/{name}/config", json=config, timeout=30)
            if answer.status_code in (200, 201):
                return
            refused = f"{answer.status_code} {answer.text[:200]}"
            if answer.status_code not in (409, 500):
                raise LabError(f"connector {name} was refused: {refused}")
        except httpx.HTTPError as error:
            refused = str(error)
        if time.monotonic() > deadline:
            raise LabError(f"connector {name} could not be created within {timeout_s:.0f} s: {refused}")
        time.sleep(0.5)
