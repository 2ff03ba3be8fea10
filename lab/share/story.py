"""What happens to the share groups: processes of members start, end and are killed, topics get
partitions or are created again.

Each step is drawn for each group from a seeded generator. A process holds one to three members. The broker removes a
member that falls silent after the short session time-out of `BROKER`.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import jvm
from lab.cluster.java import Java
from lab.foreign import captured, topics
from lab.oracle.program import compiled
from lab.process import Child, Lab

SOURCE = Path(__file__).with_name("ShareMembers.java")
BROKER = {
    "group.share.min.session.timeout.ms": 1000,
    "group.share.session.timeout.ms": 6000,
    "group.share.min.heartbeat.interval.ms": 500,
    "group.share.heartbeat.interval.ms": 1000,
}
MOST_PROCESSES = 3
MOST_MEMBERS = 3
STEP_S = (3.0, 8.0)


@dataclass(slots=True)
class Group:
    """One share group and those of its processes that live. `mixed`: its members subscribe to different topics."""

    name: str
    mixed: bool
    processes: dict[str, Child] = field(default_factory=dict)
    started: int = 0

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of its own, so that their changes concern no other group."""
        return tuple(f"{self.name}.t{number}" for number in range(3))

    def members(self, dice: random.Random) -> list[str]:
        """What the members of the next process subscribe to; of a mixed group, some change it later."""
        count = dice.randint(1, MOST_MEMBERS)
        if not self.mixed:
            return [",".join(self.topics[:2])] * count
        return [">".join(self._some(dice) for _ in range(1 + (dice.random() < 0.3))) for _ in range(count)]

    def _some(self, dice: random.Random) -> str:
        return ",".join(sorted(dice.sample(self.topics, dice.randint(1, len(self.topics)))))


_AS_KAFKA = str.maketrans("+/", "-_")
"""Kafka's text of a topic id has the alphabet of addresses."""
GROUPS = (("share-equal", False), ("share-mixed", True))


def start(
    lab: Lab, java: Java, class_path: str, bootstrap: str, name: str, *, group: str, members: Sequence[str]
) -> Child:
    """A process of members; each is told what it subscribes to, as `ShareMembers.java` says."""
    classes = f"{compiled(java, SOURCE, class_path)}:{class_path}"
    command = jvm.command(java, lab.folder / name, classes, 96, "ShareMembers", bootstrap, group, *members)
    return lab.start(name, command, environment=java.environment())


@dataclass(slots=True)
class Story:
    """Plays on one broker. `samples`: (time in ms, topic -> partitions, topic -> id), one before and after each
    change."""

    lab: Lab
    java: Java
    class_path: str
    bootstrap: str
    dice: random.Random
    samples: list[tuple[int, dict[str, int], dict[str, str]]] = field(default_factory=list)

    def play(self, steps: int) -> None:
        """All steps, then everybody leaves."""
        groups = [Group(name, mixed) for name, mixed in GROUPS]
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        wanted = [NewTopic(topic, self.dice.randint(1, 5), 1) for group in groups for topic in group.topics]
        topics.make(self.lab, admin, wanted)
        self.sample(admin)
        for group in groups:
            self.start(group)
        named = {group.name for group in groups}
        self.lab.wait_for("the first members", lambda: named <= captured.groups(self.bootstrap))
        for step in range(steps):
            time.sleep(self.dice.uniform(*STEP_S))
            self.lab.progress.say(f"step {step + 1} of {steps}")
            for group in groups:
                self.act(admin, group)
        self._end(groups)
        self.sample(admin)

    def _end(self, groups: Sequence[Group]) -> None:
        left = [child for group in groups for child in group.processes.values()]
        for child in left:
            child.terminate()
        for child in left:
            child.stop()

    def act(self, admin: AdminClient, group: Group) -> None:
        """One step of a group."""
        drawn = self.dice.random()
        if drawn < 0.05:
            self.renew(admin, self.dice.choice(group.topics))
        elif drawn < 0.2:
            self.grow(admin, self.dice.choice(group.topics))
        elif not group.processes or (drawn < 0.6 and len(group.processes) < MOST_PROCESSES):
            self.start(group)
        elif drawn < 0.85:
            group.processes.pop(self.dice.choice(sorted(group.processes))).terminate()
        else:
            group.processes.pop(self.dice.choice(sorted(group.processes))).kill()

    def start(self, group: Group) -> None:
        """One more process."""
        group.started += 1
        name = f"{group.name}-{group.started}"
        members = group.members(self.dice)
        group.processes[name] = start(
            self.lab, self.java, self.class_path, self.bootstrap, name, group=group.name, members=members
        )

    def grow(self, admin: AdminClient, topic: str) -> None:
        """The topic gets one or two more partitions."""
        self.sample(admin)
        topics.grow(admin, topic, self.dice)
        self.sample(admin)

    def renew(self, admin: AdminClient, topic: str) -> None:
        """The topic is deleted, and created again."""
        self.sample(admin)
        for gone in admin.delete_topics([topic]).values():
            gone.result(30)
        self.lab.wait_for("the topic to go", lambda: topic not in admin.list_topics(timeout=topics.ASK_S).topics)
        self.sample(admin)
        topics.make(self.lab, admin, [NewTopic(topic, self.dice.randint(1, 5), 1)])
        self.sample(admin)

    def sample(self, admin: AdminClient) -> None:
        """Ids and numbers of partitions that the topics have now."""
        names = [name for name in admin.list_topics(timeout=topics.ASK_S).topics if not name.startswith("__")]
        found = admin.describe_topics(TopicCollection(names), request_timeout=topics.ASK_S)
        described = {name: one.result(topics.ASK_S) for name, one in found.items()}
        counts = {name: len(one.partitions) for name, one in described.items()}
        ids = {name: str(one.topic_id).translate(_AS_KAFKA) for name, one in described.items()}
        self.samples.append((time.time_ns() // 1_000_000, counts, ids))
