"""Range on three real brokers with racks, one of them killed: the leader knows of it long before the metadata sample.

Consumers of Kafka's own client hold the group; one of another client comes and goes, so that there are rebalances while
the leader's knowledge changes. What is sampled late is all that the judgement has.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import broker, jars, java, jvm
from lab.cluster.broker import Broker
from lab.cluster.java import Java
from lab.ports import free_ports
from lab.process import Child, Lab
from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription
from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, RawRecord, decode, replay
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP = "racked"
RACKS = ("a", "b", "c")
TOPICS = {"r0": 6, "r1": 4}
SHARED = {
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 3,
    "broker.session.timeout.ms": 3_000,
    "broker.heartbeat.interval.ms": 500,
}
SAMPLED_AFTER_S = 13.0


@dataclass(slots=True)
class Cluster:
    """Three brokers, each a rack of its own, and what is done to their group."""

    lab: Lab
    java: Java
    brokers: dict[int, Broker]
    samples: list[TopicMetadata]

    @property
    def address(self) -> str:
        return ",".join(one.address for one in self.brokers.values())

    def sample(self) -> None:
        """The topics' partitions with their replicas' racks, as a living broker tells them."""
        admin = AdminClient({"bootstrap.servers": self.brokers[1].address, "log_level": 0})
        # A broker knows new topics a moment after the controller that made them.
        self.lab.wait_for("the topics", lambda: TOPICS.keys() <= admin.list_topics(timeout=PATIENCE_S).topics.keys())
        known = admin.list_topics(timeout=PATIENCE_S)
        racks = {number: RACKS[number - 1] for number in known.brokers}
        topics = {
            name: tuple(
                frozenset(racks[one] for one in partition.replicas if one in racks)
                for _, partition in sorted(known.topics[name].partitions.items())
            )
            for name in TOPICS
        }
        self.samples.append(TopicMetadata(time.time_ns() // 1_000_000, topics))

    def create_topics(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        new = [
            NewTopic(name, count, replica_assignment=[[(at + of) % 3 + 1 for of in (0, 1)] for at in range(count)])
            for name, count in TOPICS.items()
        ]
        for done in admin.create_topics(new).values():
            done.result(PATIENCE_S)

    def consumer(self, rack: str) -> Child:
        """A member of Kafka's own client in this rack."""
        properties = {
            "client.rack": rack,
            "client.id": f"java-{rack}",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 500,
        }
        options = [word for item in properties.items() for word in ("--command-property", "=".join(map(str, item)))]
        folder = self.lab.folder / f"consumer-{rack}"
        command = jvm.command(
            self.java, folder, jars.fetch(self.java), 64, "org.apache.kafka.tools.consumer.ConsoleConsumer",
            "--bootstrap-server", self.address, "--include", "|".join(TOPICS), "--group", GROUP, *options,
        )  # fmt: skip
        return self.lab.start(f"consumer-{rack}", command, environment=self.java.environment())

    def disturb(self) -> None:
        """A member of another client joins the group, and leaves it once it has its share."""
        visitor = Consumer(
            {
                "bootstrap.servers": self.address, "group.id": GROUP, "client.id": "visitor", "client.rack": "b",
                "partition.assignment.strategy": "range", "session.timeout.ms": 6_000, "log_level": 0,
            }
        )  # fmt: skip
        with closing(visitor):
            visitor.subscribe(list(TOPICS))
            deadline = time.monotonic() + 120
            while not visitor.assignment() and time.monotonic() < deadline:
                visitor.poll(0.1)

    def offsets_leader(self) -> int:
        admin = AdminClient({"bootstrap.servers": self.brokers[1].address, "log_level": 0})
        return int(admin.list_topics(OFFSETS_TOPIC, timeout=PATIENCE_S).topics[OFFSETS_TOPIC].partitions[0].leader)

    def records(self) -> list[RawRecord]:
        """All of the coordinator's log."""
        reader = Consumer(
            {
                "bootstrap.servers": self.brokers[1].address, "group.id": "unused", "enable.auto.commit": False,
                "enable.partition.eof": True, "log_level": 0,
            }
        )  # fmt: skip
        found: list[RawRecord] = []
        with closing(reader):
            reader.assign([TopicPartition(OFFSETS_TOPIC, 0, OFFSET_BEGINNING)])
            while (message := reader.poll(30)) is not None and message.error() is None:
                found.append(
                    RawRecord(
                        topic=message.topic(),
                        partition=message.partition(),
                        offset=message.offset(),
                        timestamp_ms=message.timestamp()[1],
                        key=message.key(),
                        value=message.value(),
                    )
                )
        return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Lab(tmp_path) as lab:
        runtime = java.find()
        class_path = jars.fetch(runtime)
        controller_port, *ports = free_ports(4)
        first = {**SHARED, "broker.rack": RACKS[0]}
        brokers = {1: broker.start(lab, runtime, class_path, ports[0], controller_port, first)}
        for number in (2, 3):
            own = {**SHARED, "broker.rack": RACKS[number - 1]}
            brokers[number] = broker.start_beside(
                lab, runtime, class_path, ports[number - 1], controller_port, number, own
            )
        yield Cluster(lab, runtime, brokers, [])


def members(records: Sequence[RawRecord]) -> list[tuple[int, GroupGeneration]]:
    """The group's generations with members, each with its record's time."""
    rows = [decode(one, ClusterSettings(name="racks")) for one in records]
    return [
        (row.timestamp_ms, row.body)
        for row in rows
        if row is not None and row.group == GROUP and isinstance(row.body, GroupGeneration) and row.body.members
    ]


def test_no_generation_is_called_wrong_while_a_broker_with_its_rack_dies(cluster: Cluster) -> None:
    cluster.create_topics()
    cluster.sample()
    for rack in RACKS:
        cluster.consumer(rack)

    def complete() -> bool:
        found = members(cluster.records())
        return bool(found) and len(found[-1][1].members) == len(RACKS)

    cluster.lab.wait_for("three consumers in the group", complete, timeout_s=PATIENCE_S)
    cluster.disturb()
    dead = 2 if cluster.offsets_leader() == 3 else 3
    cluster.brokers.pop(dead).child.kill()
    killed_ms, until = time.time_ns() // 1_000_000, time.monotonic() + SAMPLED_AFTER_S
    while time.monotonic() < until:
        cluster.disturb()
    cluster.sample()
    cluster.disturb()
    cluster.sample()
    assert RACKS[dead - 1] not in {rack for racks in cluster.samples[-1].topics["r0"] for rack in racks}

    records = cluster.records()
    found = members(records)
    between = [at_ms for at_ms, _ in found if killed_ms < at_ms < cluster.samples[1].at_ms]
    assert between, "rebalances between the broker's death and the sample that shows it"
    racks = {one.subscription.rack for _, body in found for one in body.members
             if isinstance(one.subscription, ConsumerSubscription)}  # fmt: skip
    assert racks == set(RACKS)
    told = replay(records, ClusterSettings(name="racks"), knowledge=knowledge_of(cluster.samples))
    summary = told.objects[-1]
    judged = [one for one in told.objects if one["kind"] == "generation" and one["group"] == GROUP]
    print(f"\nthe broker died at {killed_ms}, samples at {[one.at_ms for one in cluster.samples]}")
    for generation in judged:
        verdict = generation["verdict"]
        print(
            f"{generation['at_ms']} generation {generation['generation']} {verdict['grade']} {verdict['reason'] or ''}"
        )
    by_first_sample = replay(records, ClusterSettings(name="racks"), knowledge=knowledge_of(cluster.samples[:1]))
    print(f"by the first sample alone: {by_first_sample.objects[-1]['grades']}")
    without_racks = [
        TopicMetadata(one.at_ms, {name: (frozenset[str](),) * len(of) for name, of in one.topics.items()})
        for one in cluster.samples
    ]
    by_counts = replay(records, ClusterSettings(name="racks"), knowledge=knowledge_of(without_racks))
    print(f"by the partition counts alone: {by_counts.objects[-1]['grades']}")
    assert by_counts.objects[-1]["grades"]["unexplained"] > 0, "the racks decide the answers"
    assert by_first_sample.objects[-1]["grades"]["unexplained"] == 0, "a dead broker's rack is looked for"
    assert summary["grades"]["unexplained"] == 0
    assert summary["grades"]["match"] > 0
    assert {one["verdict"]["grade"] for one in judged if one["at_ms"] in between} <= {"match", "explainable"}
