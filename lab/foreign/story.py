"""What happens to the groups: members join, leave and are killed, topics get partitions, for each library in turn.

The groups of one library live at the same time, one for each of its assignors and subscriptions. Each step is drawn
for each group from a seeded generator, so a story can be told again; what a broker makes of it is its own.
"""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient, NewTopic

from lab.foreign import topics
from lab.foreign.library import ASSIGNORS, Membership, command
from lab.paths import ROOT
from lab.process import Child, Lab

MOST_MEMBERS = 5
STEP_S = (2.0, 7.0)
"""Between two steps: shorter and longer than a rebalance, so that some of them meet."""
SUBSCRIPTIONS = ("equal", "mixed", "static")


@dataclass(slots=True)
class Group:
    """One group of the story and those of its members that live."""

    library: str
    assignor: str
    subscription: str
    members: dict[str, Child] = field(default_factory=dict)
    joined: int = 0

    @property
    def name(self) -> str:
        return f"{self.library}.{self.assignor}.{self.subscription}"

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of its own, so that their changes concern no other group."""
        return tuple(f"{self.name}.t{number}" for number in range(3))

    def next_member(self, dice: random.Random) -> tuple[str, Membership]:
        """Who joins next. Half of the members of a static group are static; of a mixed one some read fewer topics."""
        self.joined += 1
        topics = self.topics
        if self.subscription == "mixed":
            topics = tuple(dice.sample(topics, dice.randint(1, len(topics))))
        static = self.subscription == "static" and self.joined % 2 == 0
        name = f"{self.name}-{self.joined}"
        instance = f"i{self.joined % MOST_MEMBERS}" if static else ""
        member = Membership(
            library=self.library, group=self.name, assignor=self.assignor, topics=topics, instance=instance,
            client="" if dice.random() < 0.5 else f"app-{self.joined}",
        )  # fmt: skip
        return name, member


def groups_of(libraries: Sequence[str]) -> Iterator[list[Group]]:
    """The groups that live at the same time."""
    for library in libraries:
        yield [Group(library, assignor, kind) for assignor in ASSIGNORS[library] for kind in SUBSCRIPTIONS]


@dataclass(slots=True)
class Story:
    """Plays on one broker. `samples`: (time in ms, topic -> partitions), one before and after each change."""

    lab: Lab
    bootstrap: str
    dice: random.Random
    samples: list[tuple[int, dict[str, int]]] = field(default_factory=list)

    def play(self, groups: Sequence[Group], steps: int) -> None:
        """All steps of these groups, then everybody leaves."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        wanted = [NewTopic(topic, self.dice.randint(1, 6), 1) for group in groups for topic in group.topics]
        topics.make(self.lab, admin, wanted)
        self.sample(admin)
        for group in groups:
            self.join(group)
        for step in range(steps):
            time.sleep(self.dice.uniform(*STEP_S))
            self.lab.progress.say(f"{groups[0].library}: step {step + 1} of {steps}")
            for group in groups:
                self.act(admin, group)
        for group in groups:
            for child in group.members.values():
                child.terminate()
        for group in groups:
            for child in group.members.values():
                child.stop()
        self.sample(admin)

    def act(self, admin: AdminClient, group: Group) -> None:
        """One step of a group."""
        drawn = self.dice.random()
        if drawn < 0.1:
            self.grow(admin, self.dice.choice(group.topics))
        elif not group.members or (drawn < 0.6 and len(group.members) < MOST_MEMBERS):
            self.join(group)
        elif drawn < 0.85:
            group.members.pop(self.dice.choice(sorted(group.members))).terminate()
        else:
            group.members.pop(self.dice.choice(sorted(group.members))).kill()

    def join(self, group: Group) -> None:
        """One more member."""
        name, member = group.next_member(self.dice)
        group.members[name] = self.lab.start(name, command(self.bootstrap, member), cwd=ROOT)

    def grow(self, admin: AdminClient, topic: str) -> None:
        """The topic gets one or two more partitions."""
        self.sample(admin)
        topics.grow(admin, topic, self.dice)
        self.sample(admin)

    def sample(self, admin: AdminClient) -> None:
        """How many partitions each topic has now."""
        found = admin.list_topics(timeout=topics.ASK_S).topics
        counts = {name: len(topic.partitions) for name, topic in found.items() if not name.startswith("__")}
        self.samples.append((time.time_ns() // 1_000_000, counts))
