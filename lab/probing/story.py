"""What happens to the applications: one process has all tasks and their state, a second one joins and restores copies.

write rate of a partition    25 records a second
`never`, copies restore      10 records a second: they fall behind for ever
`slowly`, copies restore     60 records a second: they catch up one after another, each in many probing rebalances
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from lab.cluster import jars, jvm
from lab.cluster.java import Java
from lab.foreign import captured
from lab.oracle.program import compiled
from lab.oracle.streams_runner import class_path
from lab.process import Child, Lab

SOURCE = Path(__file__).with_name("StreamsProbing.java")
NEVER, SLOWLY = "never", "slowly"
RESTORED_PER_S: Mapping[str, int] = {NEVER: 10, SLOWLY: 60}
WRITTEN_PER_S = 25
"""In each partition."""
PARTITIONS = 4
AHEAD = 2000
"""Records in each partition before the second process joins."""
INTERVAL_MS = 4000
CONFIG: Mapping[str, object] = {
    "num.stream.threads": 1,
    "num.standby.replicas": 0,
    "max.warmup.replicas": 1,
    "acceptable.recovery.lag": 100,
    "probing.rebalance.interval.ms": INTERVAL_MS,
    "statestore.cache.max.bytes": 0,
    "restore.consumer.max.poll.records": 10,
    "restore.consumer.max.partition.fetch.bytes": 4096,
    "main.consumer.session.timeout.ms": 10_000,
    "main.consumer.heartbeat.interval.ms": 500,
    "replication.factor": 1,
}
_KINDS: Mapping[str, str] = {
    "default.key.serde": "org.apache.kafka.common.serialization.Serdes$ByteArraySerde",
    "default.value.serde": "org.apache.kafka.common.serialization.Serdes$ByteArraySerde",
    "dsl.store.suppliers.class": "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers",
}
_NOT_YET = frozenset(
    {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.UNKNOWN_TOPIC_OR_PART}
)
"""What a broker says of a topic that was made a moment ago."""
ASK_S = 10.0
TICK_S = 0.1
SAMPLE_S = 2.0


@dataclass(slots=True)
class Story:
    """Plays on one broker. `restored_per_s`: the applications, with what their copies restore. `samples`: (time in ms,
    topic -> partitions); `ends`: where the changelogs end, each second; `topologies`: the text of each application."""

    lab: Lab
    java: Java
    bootstrap: str
    restored_per_s: Mapping[str, int] = field(default_factory=lambda: RESTORED_PER_S)
    partitions: int = PARTITIONS
    samples: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    ends: list[dict[str, object]] = field(default_factory=list)
    topologies: dict[str, str] = field(default_factory=dict)

    def play(self, seconds: float) -> None:
        """All applications at once; the second processes live so long."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        self.begin(admin)
        self._sample(admin)
        with self.joined():
            until_s = time.monotonic() + seconds
            while time.monotonic() < until_s:
                self._ends(admin)
                time.sleep(SAMPLE_S)
        self._sample(admin)

    def begin(self, admin: AdminClient) -> None:
        """One process of each application has all tasks, and its changelog holds everything that was written ahead."""
        topics = [NewTopic(_topic(name), self.partitions, 1) for name in self.restored_per_s]
        for made in admin.create_topics(topics).values():
            made.result(30)
        producer = self._producer()
        self._write(producer, AHEAD)
        producer.flush(30)
        first = {name: self._start(name, 1) for name in self.restored_per_s}
        for name, child in first.items():
            self.lab.wait_for(f"the state of {name}", partial(self._counted, admin, name), child)
            self.topologies[name] = _topology(child.log.read_text())

    @contextmanager
    def joined(self) -> Iterator[None]:
        """The second processes join, and records are written as long as the block lasts."""
        with self._writing(self._producer()):
            for name in self.restored_per_s:
                self._start(name, 2)
            yield

    def _producer(self) -> Producer:
        return Producer({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def _counted(self, admin: AdminClient, application: str) -> bool:
        """Whether everything that was written ahead is in the changelog."""
        try:
            return sum(_ends(admin, application).values()) >= AHEAD * self.partitions
        except KafkaException as why:
            if why.args[0].code() in _NOT_YET:
                return False
            raise

    def _start(self, application: str, number: int) -> Child:
        name = f"{application}-{number}"
        libraries = class_path(self.java, jars.kafka_release())
        own = {
            "bootstrap.servers": self.bootstrap,
            "application.id": application,
            "state.dir": self.lab.folder / name / "state",
        }
        told = [f"{key}={value}" for key, value in {**CONFIG, **_KINDS, **own}.items()]
        command = jvm.command(
            self.java,
            self.lab.folder / name,
            f"{compiled(self.java, SOURCE, libraries)}:{libraries}",
            96,
            SOURCE.stem,
            _topic(application),
            str(self.restored_per_s[application]),
            *told,
        )
        return self.lab.start(name, command, environment=self.java.environment())

    def _write(self, producer: Producer, count: int) -> None:
        for application in self.restored_per_s:
            for partition in range(self.partitions):
                for number in range(count):
                    producer.produce(_topic(application), key=bytes([number % 5]), value=b"", partition=partition)
                producer.poll(0)

    @contextmanager
    def _writing(self, producer: Producer) -> Iterator[None]:
        over = threading.Event()

        def write() -> None:
            begun_s, written = time.monotonic(), 0
            while not over.wait(TICK_S):
                due = int((time.monotonic() - begun_s) * WRITTEN_PER_S)
                self._write(producer, due - written)
                written = due

        thread = threading.Thread(target=write, name="writing")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            producer.flush(30)

    def _ends(self, admin: AdminClient) -> None:
        for group in self.restored_per_s:
            asked_ms = _now_ms()
            told = _ends(admin, group)
            self.ends.append({"group": group, "asked_ms": asked_ms, "answered_ms": _now_ms(), "ends": told})

    def _sample(self, admin: AdminClient) -> None:
        topics = admin.list_topics(timeout=ASK_S).topics
        counts = {name: len(one.partitions) for name, one in topics.items() if not name.startswith("__")}
        self.samples.append((_now_ms(), counts))


def about(story: Story) -> dict[str, object]:
    """What the capture tells of the applications."""
    groups = {
        name: {
            "library": "kafka-streams (Java)",
            "release": jars.kafka_release(),
            "protocol": "classic",
            "config": dict(CONFIG),
            "topology": story.topologies[name],
        }
        for name in story.restored_per_s
    }
    return {"capture": "streams-probing", "broker_release": jars.kafka_release(), "groups": groups}


def sampled(story: Story) -> list[dict[str, object]]:
    """The lines of the capture's metadata."""
    return [captured.sample(*one) for one in story.samples]


def _ends(admin: AdminClient, application: str) -> dict[str, int]:
    """By partition (`topic-number`) of the application's changelogs."""
    topics = admin.list_topics(timeout=ASK_S).topics
    wanted = {
        TopicPartition(name, number): OffsetSpec.latest()
        for name, one in topics.items()
        if name.startswith(f"{application}-") and name.endswith("-changelog")
        for number in one.partitions
    }
    if not wanted:
        return {}
    asked = admin.list_offsets(wanted, request_timeout=ASK_S)
    return {f"{one.topic}-{one.partition}": answer.result(ASK_S).offset for one, answer in asked.items()}


def _topology(log: str) -> str:
    """The text that the process printed, between a logger's lines and an empty one."""
    return log[log.index("Topologies:") :].split("\n\n")[0] + "\n\n"


def _topic(application: str) -> str:
    return f"{application}-in"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
