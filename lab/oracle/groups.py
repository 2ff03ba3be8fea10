"""Random lives of a consumer group, as inputs of `consumer-assign` cases: what happens to it, and what members say.

Members join, vanish, move to another rack, change what they subscribe to, miss an assignment and so claim an older one,
forget what they held, claim what another holds, name a partition twice; topics come, grow, shrink and go; a broker's
rack is unknown for a while; clients write subscriptions of any version, and user data that are cut off, too long or
damaged. The answers that drive the story are ours: one that differs from Kafka's shows where it was given.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rebalance_monitor.assignors.consumer.model import TopicPartition
from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription, encode_subscription
from rebalance_monitor.schemas.sticky_user_data import (
    COOPERATIVE_STICKY,
    STICKY,
    StickyUserData,
    encode_sticky_user_data,
)
from rebalance_monitor.streaming.calculator import consumer

ASSIGNORS = ("range", "roundrobin", STICKY, STICKY, COOPERATIVE_STICKY, COOPERATIVE_STICKY)
COOPERATIVE_SINCE = (2, 4)
TWINS = ("Aa", "BB")
ODD_NAMES = ("wé", "Ω", "😀", "\ue000", "日", "-", " ", "a-1", "ﬀ", "𝄞𝄞")
STYLES = ("plain", "plain", "plain", "twins", "odd", "crowd")
"""What things are called: plain; many of one hash; outside ASCII; so many of one hash that buckets grow trees."""
MEMBERS = (1, 2, 3, 3, 5, 8, 13, 30)
TOPICS = (1, 2, 3, 5, 9, 20)
PARTITIONS = (0, 1, 2, 3, 4, 5, 7, 12, 40)
RACKS = ("a", "b", "c", "")
BROKERS = 6


@dataclass(slots=True)
class Client:
    """One consumer: what it subscribes to and what it believes to hold."""

    instance: str | None
    rack: str | None
    version: int
    topics: list[str]
    held: list[TopicPartition] = field(default_factory=list)
    generation: int = -1
    odd: bool = False


@dataclass(slots=True)
class Life:
    """One group and the topics of its cluster."""

    random: Random
    assignor: str
    style: str
    racked: bool
    equal: bool
    topics: dict[str, list[list[int]]] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)
    brokers: dict[str, str | None] = field(default_factory=dict)
    born: int = 0
    generation: int = 0

    def name(self, prefix: str, number: int) -> str:
        """An id or a topic in the style of this life."""
        match self.style:
            case "twins":
                return "".join(self.random.choice(TWINS) for _ in range(3)) + f"{prefix}{number}"
            case "crowd":
                rest, bits = divmod(number, 16)
                return "".join(TWINS[bits >> bit & 1] for bit in range(4)) + prefix * (rest + 1)
            case "odd":
                return f"{self.random.choice(ODD_NAMES)}{prefix}{number}"
            case _:
                return f"{prefix}{number}-{self.random.getrandbits(32):08x}"

    def join(self) -> None:
        """A new member."""
        self.born += 1
        self.clients[self.name("m", self.born)] = Client(
            instance=f"i{self.born}" if self.random.random() < 0.2 else None,
            rack=self.random.choice(RACKS) if self.racked and self.random.random() < 0.8 else None,
            version=self.random.choice((0, 1, 2, 3, 3, 3)),
            topics=self.some_topics(),
        )

    def some_topics(self) -> list[str]:
        """What a member subscribes to: the same as all others, or a part, now and then one topic twice or unknown."""
        names = sorted(self.topics)
        if self.equal and self.clients:
            return list(next(iter(self.clients.values())).topics)
        chosen = self.random.sample(names, self.random.randint(0 if not self.equal else 1, len(names)))
        if self.random.random() < 0.04:
            chosen.append("unknown")
        if chosen and self.random.random() < 0.04:
            chosen.append(chosen[0])
        return chosen

    def create(self) -> None:
        """A new topic."""
        self.topics[self.name("t", len(self.topics))] = self.replicas(self.random.choice(PARTITIONS))

    def replicas(self, count: int) -> list[list[int]]:
        """Brokers of so many new partitions."""
        return [self.random.sample(range(BROKERS), self.random.choice((1, 1, 2, 3))) for _ in range(count)]

    def disturb(self) -> None:
        """One thing happens, mostly to a member."""
        if self.random.random() < 0.2:
            self.change_cluster()
        else:
            self.change_member(self.clients[self.random.choice(sorted(self.clients))])

    def change_member(self, pick: Client) -> None:
        """One thing happens to the members; nothing where nobody is there for it."""
        random = self.random
        match random.choices(
            ("join", "vanish", "subscribe", "forget", "claim", "repeat", "odd", "move", "shuffle"),
            (6, 5, 3, 1, 2, 0.5, 1.5, 0.5, 1),
        )[0]:
            case "join":
                self.join()
            case "vanish" if len(self.clients) > 1:
                del self.clients[random.choice(sorted(self.clients))]
            case "subscribe" if not self.equal or random.random() < 0.1:
                pick.topics = random.sample(sorted(self.topics), random.randint(0, len(self.topics)))
            case "forget":
                pick.held, pick.generation = [], -1
            case "claim":
                other = self.clients[random.choice(sorted(self.clients))]
                pick.held = pick.held + random.sample(other.held, random.randint(0, len(other.held)))
                pick.generation = random.choice((pick.generation, other.generation))
            case "repeat" if pick.held:
                pick.held = [*pick.held, random.choice(pick.held)]
            case "odd":
                pick.odd = True
            case "move" if self.racked:
                pick.rack = random.choice(RACKS)
            case "shuffle":
                random.shuffle(pick.held)
            case "vanish" | "subscribe" | "repeat" | "move":
                pass  # nobody is there for it

    def change_cluster(self) -> None:
        """One thing happens to the topics or the brokers."""
        topic = self.random.choice(sorted(self.topics))
        match self.random.choice(("grow", "shrink", "go", "come", "broker")):
            case "grow":
                self.topics[topic] = self.topics[topic] + self.replicas(self.random.randint(1, 5))
            case "shrink":
                self.topics[topic] = self.topics[topic][: self.random.randint(0, len(self.topics[topic]))]
            case "go" if len(self.topics) > 1:
                del self.topics[topic]
            case "come":
                self.create()
            case "broker" if self.racked:
                self.brokers[str(self.random.randrange(BROKERS))] = self.random.choice((None, *RACKS[:3]))
            case "go" | "broker":
                pass  # nothing is there for it

    def given(self) -> dict[str, Any]:
        """The `input` of the next case."""
        ids = list(self.clients)
        if self.random.random() < 0.5:
            self.random.shuffle(ids)
        members = [
            {
                "id": name,
                "instance": self.clients[name].instance,
                "subscription": b64encode(self.subscription(self.clients[name])).decode(),
            }
            for name in ids
        ]
        return {"topics": self.topics, "brokers": self.brokers, "members": members}

    def subscription(self, client: Client) -> bytes:
        """What the member sends."""
        cooperative = self.assignor == COOPERATIVE_STICKY
        user_data = None
        said = client.generation if self.random.random() < 0.97 else None
        if cooperative:
            user_data = encode_sticky_user_data(StickyUserData((), said), cooperative=True)
        elif self.assignor == STICKY and (client.held or client.generation >= 0):
            user_data = encode_sticky_user_data(StickyUserData(tuple(client.held), said))
        if client.odd:
            user_data, client.odd = self.damaged(user_data), False
        eager_owner = self.random.random() < 0.03
        return encode_subscription(
            ConsumerSubscription(
                version=client.version,
                topics=tuple(client.topics),
                user_data=user_data,
                owned=tuple(client.held) if cooperative or eager_owner else (),
                generation=client.generation,
                rack=client.rack,
            )
        )

    def damaged(self, user_data: bytes | None) -> bytes | None:
        """Nothing, part of it, more of it, or one byte changed."""
        random = self.random
        raw = user_data or b""
        match random.randrange(5):
            case 0:
                return None
            case 1:
                return raw[: random.randint(0, len(raw))]
            case 2:
                return raw + random.randbytes(random.randint(1, 6))
            case 3:
                return raw + raw
            case _ if raw:
                # The last byte of a number: it stays a number that Kafka's sorting can subtract.
                at = random.randrange(len(raw))
                return raw[:at] + bytes([raw[at] ^ 1 << random.randrange(4)]) + raw[at + 1 :]
            case _:
                return raw

    def apply(self, expected: Mapping[str, Any]) -> None:
        """Members take what they were given; some miss it."""
        self.generation += self.random.choice((1, 1, 1, 2))
        for name, client in self.clients.items():
            if self.random.random() < 0.9 and "assignment" in expected:
                client.held = [(topic, number) for topic, number in expected["assignment"][name]["partitions"]]
                client.generation = self.generation


def random_life(random: Random, release: str) -> Life:
    """A group before its first generation."""
    old = tuple(int(part) for part in release.split(".")[:2]) < COOPERATIVE_SINCE
    assignor = random.choice([one for one in ASSIGNORS if not old or one != COOPERATIVE_STICKY])
    life = Life(random, assignor, random.choice(STYLES), racked=random.random() < 0.4, equal=random.random() < 0.55)
    for number in range(BROKERS):
        life.brokers[str(number)] = RACKS[number % 3] if life.racked else None
    for _ in range(random.choice(TOPICS)):
        life.create()
    for _ in range(random.choice(MEMBERS)):
        life.join()
    return life


def cases(random: Random, release: str, name: str) -> Iterator[dict[str, Any]]:
    """The cases of one life, each after ours was applied to it."""
    life = random_life(random, release)
    for number in range(random.randint(2, 8)):
        for _ in range(random.choice((0, 1, 1, 2, 3)) if number else 0):
            life.disturb()
        case: dict[str, Any] = {
            "id": f"{name}-{number}",
            "kind": life.assignor,
            "release": release,
            "input": life.given(),
        }
        case["expected"] = consumer.solve(case)
        yield case
        life.apply(case["expected"])
