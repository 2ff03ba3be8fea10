"""The comings and goings: the same ones for each setting, on one broker.

Connect     three workers, the first leads; the third is killed, and a new process takes its place eight seconds later
consumers   one member, whose assignment is the same under each assignor; three more join, one by one, then one leaves
bounced     three members; the second ends in order and is started again at once, then a fourth joins
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import httpx
from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from lab.asking import local
from lab.cluster import jvm, workers
from lab.cluster.broker import Broker
from lab.cluster.java import Java
from lab.cluster.workers import Worker
from lab.foreign import topics
from lab.ports import HOST, free_ports
from lab.process import Child, Lab

Seen = TypeVar("Seen")
TOPICS = {"r0": 6, "r1": 4}
CONNECTORS = {"orders": 2, "payments": 2, "returns": 2}
"""As many connectors and tasks for each of three workers, so that the killed one has the same number in each run."""
JAVA_ASSIGNORS = {"range": "RangeAssignor", "cooperative-sticky": "CooperativeStickyAssignor"}
AWAY_S = 8.0
LONGEST_DELAY_S = 15.0
SESSION_S = 6.0
"""The workers' session time-out: a killed one is noticed so much later."""
CALM_S = 4.0
"""A group that did not change for so long has no rebalance to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """A setting of workers. `protocol`: their `connect.protocol`."""

    delay_ms: int
    protocol: str = "sessioned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumers:
    """A setting of consumers. `bounced`: which of the two scripts. `targets`: the protocol of KIP-848, and the assignor
    is one of the broker."""

    assignor: str = "range"
    static: bool = False
    bounced: bool = False
    targets: bool = False

    @property
    def properties(self) -> Mapping[str, object]:
        """Of each client."""
        if self.targets:
            return {"group.protocol": "consumer", "group.remote.assignor": self.assignor}
        return {
            "partition.assignment.strategy": f"org.apache.kafka.clients.consumer.{JAVA_ASSIGNORS[self.assignor]}",
            "session.timeout.ms": 45_000,
            "heartbeat.interval.ms": 500,
        }


@dataclass(slots=True)
class Stage:
    """The broker, and what is started on it. `taken`: numbers of worker processes, each with a folder of its own."""

    lab: Lab
    java: Java
    class_path: str
    broker: Broker
    taken: int = 0
    admin: AdminClient = field(init=False)

    def __post_init__(self) -> None:
        self.admin = AdminClient({"bootstrap.servers": self.broker.address, "log_level": 0})

    def begin(self) -> None:
        """The topics that consumers read."""
        topics.make(self.lab, self.admin, [NewTopic(name, count, 1) for name, count in TOPICS.items()])

    def play(self, group: str, setting: Connect | Consumers) -> int:
        """Play the script of this setting; the time at which comings and goings began."""
        before = len(self.lab.children)
        if isinstance(setting, Connect):
            begun_ms = self._connect(group, setting)
        else:
            begun_ms = (self._bounced if setting.bounced else self._consumers)(group, setting)
        for child in self.lab.children[before:]:
            child.terminate()
        for child in self.lab.children[before:]:
            child.stop()
        return begun_ms

    def _connect(self, group: str, setting: Connect) -> int:
        ports = free_ports(3)
        first, *_ = self._workers(group, setting, ports[:1])
        _, third = self._workers(group, setting, ports[1:])
        for name, tasks in CONNECTORS.items():
            workers.create_sink(first, name, tasks, "r0")
        self._settled(first, ports)
        begun_ms = _now_ms()
        killed_s = time.monotonic()
        third.child.kill()
        time.sleep(AWAY_S)
        self._workers(group, setting, ports[2:])
        time.sleep(max(0.0, killed_s + SESSION_S + LONGEST_DELAY_S + CALM_S - time.monotonic()))
        self._settled(first, ports)
        return begun_ms

    def _settled(self, first: Worker, ports: Sequence[int]) -> None:
        """Wait until all tasks run, on all workers, and have not moved for a while."""
        everywhere = {f"{HOST}:{port}" for port in ports}
        self._unchanged("the tasks", partial(_tasks, first), lambda found: set(found.values()) == everywhere)

    def _workers(self, group: str, setting: Connect, ports: Sequence[int]) -> list[Worker]:
        number, self.taken = self.taken + 1, self.taken + len(ports)
        return workers.start(
            self.lab, self.java, self.class_path, self.broker, group=group, ports=ports,
            max_delay_ms=setting.delay_ms, protocol=setting.protocol, first_number=number,
        )  # fmt: skip

    def _consumers(self, group: str, setting: Consumers) -> int:
        self._member(group, setting, "a")
        self._calm(group, 1)
        begun_ms = _now_ms()
        for count, client in enumerate("bcd", start=2):
            last = self._member(group, setting, client)
            self._calm(group, count)
        last.stop()
        self._calm(group, 3)
        return begun_ms

    def _bounced(self, group: str, setting: Consumers) -> int:
        _, second, _ = (self._member(group, setting, client) for client in "abc")
        self._calm(group, 3)
        begun_ms, known = _now_ms(), self._members(group)
        second.stop()
        self._member(group, setting, "b")
        self._calm(group, 3, known)
        self._member(group, setting, "d")
        self._calm(group, 4)
        return begun_ms

    def _member(self, group: str, setting: Consumers, client: str) -> Child:
        """One of Kafka's own clients."""
        properties: Mapping[str, object] = {
            "client.id": client,
            **setting.properties,
            **({"group.instance.id": client} if setting.static else {}),
        }
        options = [word for item in properties.items() for word in ("--command-property", "=".join(map(str, item)))]
        name = f"{group}-{client}"
        command = jvm.command(
            self.java, self.lab.folder / name, self.class_path, 64, "org.apache.kafka.tools.consumer.ConsoleConsumer",
            "--bootstrap-server", self.broker.address, "--include", "|".join(TOPICS), "--group", group, *options,
        )  # fmt: skip
        return self.lab.start(name, command, environment=self.java.environment())

    def _calm(self, group: str, count: int, gone: Collection[str] = ()) -> None:
        """Wait until the group has so many members for a while, and not exactly those that are `gone`."""
        self._unchanged(
            f"{count} members of {group}",
            partial(self._members, group),
            lambda found: len(found) == count and found != gone,
        )

    def _unchanged(self, what: str, look: Callable[[], Seen], right: Callable[[Seen], bool]) -> None:
        """Wait until the same is seen for a while, and is right."""
        seen, since_s = look(), time.monotonic()

        def calm() -> bool:
            nonlocal seen, since_s
            before, seen = seen, look()
            if seen != before or not right(seen):
                since_s = time.monotonic()
            return time.monotonic() - since_s > CALM_S

        self.lab.wait_for(what, calm)

    def _members(self, group: str) -> frozenset[str]:
        """Their ids; nobody while the group rebalances."""
        try:
            found = self.admin.describe_consumer_groups([group], request_timeout=topics.ASK_S)[group].result()
        except KafkaException:
            return frozenset()
        return frozenset(one.member_id for one in found.members if found.state == ConsumerGroupState.STABLE)


def _tasks(worker: Worker) -> dict[str, str]:
    """Where each configured task runs, by the worker's REST interface; nothing unless all do."""
    try:
        told = local().get(f"{worker.url}/connectors?expand=status", timeout=5).json()
    except (httpx.HTTPError, ValueError):
        return {}
    running = {
        f"{name}-{task['id']}": task["worker_id"]
        for name, one in told.items()
        for task in one.get("status", {}).get("tasks", ())
        if task["state"] == "RUNNING"
    }
    return running if len(running) == sum(CONNECTORS.values()) else {}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
