"""Real Kafka brokers (KRaft) on loopback: one that is broker and controller in one, and others beside it."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from lab.cluster import class_data, jars, java, jvm
from lab.cluster.java import Java
from lab.errors import LabError
from lab.ports import HOST, accepts, free_ports
from lab.process import Child, Lab

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
OFFSETS_PARTITIONS = 5


@dataclass(frozen=True, slots=True)
class Broker:
    """A running broker."""

    child: Child
    port: int

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


def _properties(lab: Lab, port: int, controller_port: int) -> dict[str, object]:
    listeners = f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}"
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "listeners": listeners,
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.bootstrap.servers": f"{HOST}:{controller_port}",
        "log.dirs": lab.folder / "kafka",
        "offsets.topic.num.partitions": OFFSETS_PARTITIONS,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 2,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        # Every record of the compacted topics stays, so that an independent reader can count them all.
        "log.cleaner.enable": "false",
        # Those of captures are older than any retention: on a busy machine they would go before they are read.
        "log.retention.ms": -1,
        "group.initial.rebalance.delay.ms": 1000,
        # Simulated members must be able to vanish quickly.
        "group.min.session.timeout.ms": 1000,
        "num.network.threads": 2,
        "num.io.threads": 2,
    }


def start(
    lab: Lab,
    java: Java,
    class_path: str,
    port: int,
    controller_port: int,
    others: Mapping[str, object] | None = None,
    cluster_id: str = CLUSTER_ID,
) -> Broker:
    """Format, start, and wait until clients get an answer. `others`: properties that are added or replaced."""
    wanted = {**_properties(lab, port, controller_port), **(others or {})}
    return _start(lab, java, class_path, "broker", port, wanted, ("--standalone",), cluster_id, brokers=1)


def start_anywhere(lab: Lab) -> Broker:
    """On free ports, with the Java and the jars of this machine."""
    runtime = java.find()
    port, controller_port = free_ports(2)
    return start(lab, runtime, jars.fetch(runtime), port, controller_port)


def start_beside(
    lab: Lab,
    java: Java,
    class_path: str,
    port: int,
    controller_port: int,
    node_id: int,
    others: Mapping[str, object] | None = None,
) -> Broker:
    """One more broker, number `node_id` (2 and up, in order), in the cluster of this controller."""
    listener = f"PLAINTEXT://{HOST}:{port}"
    own = {
        "process.roles": "broker",
        "node.id": node_id,
        "listeners": listener,
        "advertised.listeners": listener,
        "log.dirs": lab.folder / f"kafka-{node_id}",
    }
    wanted = {**_properties(lab, port, controller_port), **own, **(others or {})}
    return _start(lab, java, class_path, f"broker-{node_id}", port, wanted, (), CLUSTER_ID, brokers=node_id)


def _start(
    lab: Lab,
    java: Java,
    class_path: str,
    name: str,
    port: int,
    wanted: Mapping[str, object],
    quorum: tuple[str, ...],
    cluster_id: str,
    *,
    brokers: int,
) -> Broker:
    folder = lab.folder / name
    properties = jvm.write_properties(folder / "server.properties", dict(wanted))
    format_command = jvm.command(
        java, folder, class_path, 128, "kafka.tools.StorageTool",
        "format", "-t", cluster_id, *quorum, "--ignore-formatted", "-c", str(properties),
    )  # fmt: skip
    done = subprocess.run(format_command, capture_output=True, text=True, env=java.environment(), check=False)
    if done.returncode != 0:
        raise LabError(f"the broker's storage could not be formatted: {(done.stderr or done.stdout).strip()[-400:]}")
    command = jvm.command(java, folder, class_path, 400, class_data.BROKER, str(properties))
    child = lab.start(name, command, environment=java.environment(), last=True)
    broker = Broker(child, port)
    lab.wait_for("Kafka broker", lambda: accepts(port) and _answers(broker.address, brokers), child)
    return broker


def _answers(address: str, brokers: int) -> bool:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": address, "log_level": 0, "socket.timeout.ms": 2000})
    try:
        return len(client.list_topics(timeout=2).brokers) == brokers
    except KafkaException:
        return False
