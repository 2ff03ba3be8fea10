"""Every command of the runbooks that speaks to Kafka does what its page says, on a real broker and a real worker."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from lab.asking import local
from lab.cluster import broker, class_data, config_topic, jars, java, jvm, offsets_reader, workers
from lab.foreign import captured
from lab.ports import HOST, free_ports
from lab.share import story as sharers
from lab.streams import application
from rebalance_monitor.dashboards.alerts import alerts
from rebalance_monitor.streaming.core.catalogue import RULES
from tests.integration.watched import own_lab
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP, READERS, SHARERS, COUNTERS, CONNECTOR = "runbooks", "readers", "sharers", "counters", "orders"

TOOLS = {
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions.sh": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups.sh": "org.apache.kafka.tools.GroupsCommand",
    "kafka-jmx.sh": "org.apache.kafka.tools.JmxTool",
    "kafka-share-groups.sh": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-groups.sh": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}
"""What the scripts of Kafka's `bin` folder run."""

ALL = {check.run for rule in RULES for check in rule.confirm} | {
    check.run for alert in alerts() for check in alert.own.confirm
}
COMMANDS = sorted(one for one in ALL if one.startswith(("kafka", "grep")) or "$WORKER" in one)
"""Those that ask Kafka; the others ask the monitor, its database, Prometheus or Alertmanager."""
SHOWN = {
    "kafka-share-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --st": r"(?m)^sharers\s.*\sStable\s",
    "kafka-share-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --mem": r"(?m)^sharers\s.*orders",
    "kafka-streams-groups": r"(?m)^counters\s.*(\sStable\s|\sACTIVE: 0:\[)",
    "got assignment": r"Joined group at generation \d+ .*connectorIds=\[orders\]",
    "connector-task-metrics": r"connector=orders.*:status",
    "$CONNECTOR/status": r'"worker_id":"127\.0\.0\.1:\d+"',
    "expand=status": r'"orders":\{"status".*"worker_id"',
    "$CONFIG_TOPIC": r"(?m)^Offset:\d+\tconnector-orders",
    "GroupMetadataMessageFormatter": r'"generation":\d+,"protocol":"sessioned","leader":"connect-',
    "--max-time 5 http://$WORKER/connectors": r'\["orders"\]',
    "$WORKER/": r'"version":"4\.\d',
    "kafka-groups.sh --bootstrap-server $BROKERS --list | wc": r"(?m)^\s*[3-9]$",
    "kafka-groups": r"(?m)^runbooks\s+Classic\s+connect",
    "Preparing to rebalance": r"Preparing to rebalance group runbooks in state",
    "--state --verbose": r"(?m)^readers\s.*\sStable\s",
    "--list --state": r"(?m)^GROUP\s+STATE\s*$",
    "--members --verbose": r"(?m)^readers\s+rdkafka-.*orders",
    "kafka-consumer-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP": r"(?m)^readers\s+orders\s+0\s",
    "$STATUS_TOPIC": r"CreateTime:\d+\tstatus-task-orders-\d\t.*RUNNING",
    "kafka-broker-api-versions": r"127\.0\.0\.1:\d+ \(id: 1 ",
    "__consumer_offsets --time -1": r"(?m)^__consumer_offsets:0:\d+$",
    "--time -2": r"(?m)^orders:0:0$",
    "--describe --topic __consumer_offsets": r"Topic: __consumer_offsets\s",
    "--describe --topic": r"Topic: orders\s",
    "kafka-acls": r"User:monitor.*operation=READ",
    "--max-messages 1": r"Processed a total of 1 messages",
}
"""By a part of the command, the most telling first: what is seen where all is well."""
SILENT = {"is now empty": (1, ""), '"state":"FAILED"': (1, "0"), "--under-min-isr-partitions": (0, "")}
"""The same of commands that find nothing where all is well, with their exit code: `grep` then ends with 1."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where an engineer sits: logs at hand, Kafka's tools on the path, the variables filled in."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder, env={**self.environment, **more}, capture_output=True, text=True, check=False,
            timeout=PATIENCE_S,
        )  # fmt: skip


def _tools(folder: Path, runtime: java.Java, class_path: str) -> Path:
    folder.mkdir()
    for name, main in TOOLS.items():
        script = folder / name
        flags = " ".join(("-Xmx128m", *jvm.FLAGS, *class_data.flags(runtime, class_path, main)))
        script.write_text(f'#!/bin/sh\nexec "{runtime.command}" {flags} -cp "{class_path}" {main} "$@"\n')
        script.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    plain, controller, rest, jmx = free_ports(4)
    with own_lab("runbook-commands") as lab, pytest.MonkeyPatch.context() as patch:
        runtime = java.find()
        class_path = jars.fetch(runtime)
        acls = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        server = broker.start(lab, runtime, class_path, plain, controller, acls)
        remote = "com.sun.management.jmxremote"
        options = (
            f"-D{remote}.port={jmx} -D{remote}.rmi.port={jmx} -D{remote}.host={HOST} -Djava.rmi.server.hostname={HOST}"
        )
        patch.setenv("JAVA_TOOL_OPTIONS", f"{options} -D{remote}.authenticate=false -D{remote}.ssl=false")
        (worker,) = workers.start(lab, runtime, class_path, server, group=GROUP, ports=[rest], max_delay_ms=1_000)
        patch.delenv("JAVA_TOOL_OPTIONS")
        reader = Consumer({"bootstrap.servers": server.address, "group.id": READERS, "log_level": 0})
        config_topic.create(server.address, {CONNECTOR: 1})  # before the sink, whose consumers would make it
        workers.create_sink(worker, CONNECTOR, 2, CONNECTOR)
        _grant(server.address)
        producer = Producer({"bootstrap.servers": server.address})
        # The topic is compacted, so a key is needed; the sink fails on a record that is no JSON text with a schema.
        record = b'{"schema":{"type":"string"},"payload":"a record"}'
        producer.produce(CONNECTOR, record, record)
        producer.flush(PATIENCE_S)
        lab.wait_for("the tasks", lambda: _running(worker))
        sharers.start(lab, runtime, class_path, server.address, SHARERS, group=SHARERS, members=[CONNECTOR])
        application.start(lab, runtime, server.address, COUNTERS, application=COUNTERS, topics=[CONNECTOR])
        reader.subscribe([CONNECTOR])
        lab.wait_for("the reader", lambda: reader.poll(0.1) is None and bool(reader.assignment()))
        lab.wait_for("the sharer", lambda: SHARERS in captured.groups(server.address))
        lab.wait_for("the application", lambda: f"{COUNTERS}-KSTREAM" in " ".join(_topics(server.address)))
        folder = lab.folder / "desk"
        folder.mkdir()
        (folder / "connect.log").symlink_to(worker.child.log)
        (folder / "server.log").symlink_to(server.child.log)
        (folder / "monitor.properties").write_text("")
        bin_folder = _tools(lab.folder / "bin", runtime, class_path)
        made = Desk(
            folder,
            {
                "PATH": f"{bin_folder}:{os.environ['PATH']}",
                "BROKERS": server.address, "WORKER": worker.address, "CONNECTOR": CONNECTOR, "GROUP": GROUP,
                "CONFIG_TOPIC": workers.config_topic(GROUP), "STATUS_TOPIC": workers.status_topic(GROUP),
                "TOPIC": CONNECTOR, "HOST": HOST, "JMX_PORT": str(jmx), "PARTITION": "0", "OFFSET": "0",
            },
        )  # fmt: skip
        yield made
        reader.close()


def _running(worker: workers.Worker) -> bool:
    tasks = local().get(f"{worker.url}/connectors/{CONNECTOR}/status", timeout=PATIENCE_S).json().get("tasks", [])
    return [one["state"] for one in tasks] == ["RUNNING"] * 2


def _topics(bootstrap: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    return set(admin.list_topics(timeout=PATIENCE_S).topics)


def _grant(bootstrap: str) -> None:
    rules = [
        AclBinding(
            ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:monitor", "*",
            AclOperation.READ, AclPermissionType.ALLOW,
        )
        for topic in (CONNECTOR, "__consumer_offsets")
    ]  # fmt: skip
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for answer in admin.create_acls(rules).values():
        answer.result(PATIENCE_S)


def filled_in(desk: Desk, command: str) -> dict[str, str]:
    """What stands for this command alone: the evidence's coordinates, a consumer group."""
    if "__consumer_offsets --partition" in command:
        of_group = [one for one in offsets_reader.read(desk.environment["BROKERS"]) if one.group == GROUP]
        last = max((one.at for one in of_group if one.members), key=lambda at: at.offset)
        return {"PARTITION": str(last.partition), "OFFSET": str(last.offset)}
    if "kafka-share-groups" in command:
        return {"GROUP": SHARERS}
    if "kafka-streams-groups" in command:
        return {"GROUP": COUNTERS}
    return {"GROUP": READERS} if "kafka-consumer-groups" in command else {}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_runbooks_shows_what_its_page_says(desk: Desk, command: str) -> None:
    done = desk.run(command, **filled_in(desk, command))
    nothing = next((said for part, said in SILENT.items() if part in command), None)
    if nothing is not None:
        assert (done.returncode, done.stdout.strip()) == nothing, done.stderr[-3000:]
        return
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    wanted = next(pattern for part, pattern in SHOWN.items() if part in command)
    assert re.search(wanted, done.stdout + done.stderr), f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def test_a_connect_group_is_refused_by_the_consumer_groups_tool(desk: Desk) -> None:
    """What the page says of it."""
    (command,) = [one for one in COMMANDS if "kafka-consumer-groups" in one and "--members" in one]
    assert "is not a consumer group" in desk.run(command).stdout + desk.run(command).stderr
