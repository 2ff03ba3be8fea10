"""Random lives of groups whose assignor runs in the broker, as inputs of `broker-assign` cases.

Members join, leave and come back under their id, change their topics or drop all of them; topics grow, go and are made
anew under the same name; some names never have a topic; a few inputs are odd on purpose (targets that overlap or name
partitions that are gone). The previous targets of a round are Kafka's own answer to the round before, in the order in
which it gave them.
"""

from base64 import urlsafe_b64encode
from random import Random
from typing import Any

RACKS = ("a", "b", "c")
SIZES = (1, 2, 3, 5, 8, 12, 16, 20)
TOPICS = (1, 1, 2, 3, 5, 12, 16, 24)
PARTITIONS = (1, 2, 3, 6, 7, 12, 24, 50)
ODD_NAMES = ("é", "Ω-1", "\U0001f600", "\ue000", "日", "-", " ", "ﬀ", "x" * 80)
TWINS = ("Aa", "BB")
ROUNDS = (1, 4)
_ODD_TARGETS = 0.08
_WITHOUT_TOPIC = 0.4
_COPIED_APART = (12, 24)
"""Sizes of sets whose copies are walked differently since Java 19."""


def random_id(random: Random) -> str:
    """A topic or member id as Kafka makes them."""
    return urlsafe_b64encode(random.randbytes(16)).decode().rstrip("=")


class GroupLife:
    """A consumer or share group; `input` is its present state."""

    def __init__(self, random: Random, kind: str) -> None:
        self._random = random
        self._kind = kind
        self._style = random.choice(("random", "random", "twins", "odd"))
        self._same = random.random() < 0.5
        self._spread = random.choice(PARTITIONS)
        self._topics: dict[str, dict[str, Any]] = {}
        self._names = [f"t{number}" for number in range(random.choice(TOPICS))]
        self._members: list[dict[str, Any]] = []
        self._born = 0
        for name in self._names:
            self._make_topic(name)
        self._common = self._subscription()
        for _ in range(random.choice(SIZES)):
            self._join()

    @property
    def input(self) -> dict[str, Any]:
        members = [dict(one) for one in self._members]
        kind = len({frozenset(one["subscribed"]) for one in members}) <= 1
        return {
            "assignor": self._kind,
            "subscriptionType": "HOMOGENEOUS" if kind else "HETEROGENEOUS",
            "topics": {text: dict(topic) for text, topic in self._topics.items()},
            "members": members,
        }

    def follow(self, answer: dict[str, Any]) -> None:
        """Take over the new targets, then let something happen."""
        targets = answer.get("assignment", {})
        for member in self._members:
            share = targets.get(member["id"])
            if "error" not in answer:
                member["previous"] = [] if share is None else share["target"]
        for _ in range(self._random.randint(1, 4)):
            self._event()
        if self._random.random() < _ODD_TARGETS:
            self._make_odd()

    def _event(self) -> None:
        random = self._random
        match random.choice(("join", "leave", "topics", "grow", "gone", "shuffle")):
            case "join":
                self._join()
            case "leave" if len(self._members) > 1:
                self._members.remove(random.choice(self._members))
            case "topics" if self._same:
                self._common = self._subscription()
                for member in self._members:
                    member["subscribed"] = self._common
            case "topics":
                random.choice(self._members)["subscribed"] = self._subscription()
            case "grow" if self._topics:
                topic = random.choice(list(self._topics.values()))
                for _ in range(random.randint(1, 5)):
                    topic["partitions"] += 1
                    topic["racks"].append(self._replica_racks())
            case "gone" if self._topics:
                text = random.choice(list(self._topics))
                name = self._topics.pop(text)["name"]
                if random.random() < 0.5:
                    self._make_topic(name)
            case "shuffle":
                random.shuffle(self._members)
            case _:
                pass

    def _make_odd(self) -> None:
        member = self._random.choice(self._members)
        member["previous"] = [
            [text, self._random.sample(range(topic["partitions"] + 3), 3)] for text, topic in self._topics.items()
        ]

    def _join(self) -> None:
        random = self._random
        self._born += 1
        self._members.append(
            {
                "id": self._member_id(self._born),
                "instance": f"i{random.randint(0, 50)}-{self._born}" if random.random() < 0.3 else None,
                "rack": random.choice((None, "", *RACKS)),
                "subscribed": self._common if self._same else self._subscription(),
                "previous": [],
            }
        )

    def _member_id(self, number: int) -> str:
        match self._style:
            case "twins":
                bits = f"{number:06b}"
                return "".join(TWINS[bit == "1"] for bit in bits)
            case "odd":
                return f"{self._random.choice(ODD_NAMES)}{number}"
            case _:
                return random_id(self._random)

    def _subscription(self) -> list[str]:
        names = list(self._names)
        if self._random.random() < _WITHOUT_TOPIC:
            names += [f"no-such-topic-{number}" for number in range(self._random.randint(1, 3))]
        if self._random.random() < 0.05:
            return []
        some = self._random.choice((len(names), self._random.randint(1, len(names)), *_COPIED_APART))
        return self._random.sample(names, min(some, len(names)))

    def _make_topic(self, name: str) -> None:
        partitions = self._random.randint(1, self._spread)
        self._topics[random_id(self._random)] = {
            "name": name,
            "partitions": partitions,
            "racks": [self._replica_racks() for _ in range(partitions)],
        }

    def _replica_racks(self) -> list[str]:
        return sorted(self._random.sample(RACKS, self._random.randint(1, 2)))


class StreamsLife:
    """A Streams group; `input` is its present state."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._configs: dict[str, str] = {}
        if random.random() < 0.8:
            self._configs = {"num.standby.replicas": str(random.randint(0, 2))}
        self._subtopologies = {
            str(number): {"partitions": random.randint(1, random.choice(PARTITIONS)), "stateful": random.random() < 0.6}
            for number in range(random.choice(TOPICS))
        }
        self._processes = [random_id(random) for _ in range(random.choice(SIZES))]
        self._twins = random.random() < 0.2
        self._born = 0
        self._members: list[dict[str, Any]] = []
        for _ in range(random.choice(SIZES)):
            self._join()

    @property
    def input(self) -> dict[str, Any]:
        return {
            "assignor": "streams-sticky",
            "configs": dict(self._configs),
            "subtopologies": {name: dict(one) for name, one in self._subtopologies.items()},
            "members": [dict(one) for one in self._members],
        }

    def follow(self, answer: dict[str, Any]) -> None:
        """Take over the new targets, then let something happen."""
        for member in self._members:
            share = answer.get("assignment", {}).get(member["id"])
            if share is not None:
                member["active"], member["standby"] = share["active"], share["standby"]
        random = self._random
        for _ in range(random.randint(1, 4)):
            match random.choice(("join", "leave", "leave", "grow", "shuffle", "swap")):
                case "join":
                    self._join()
                case "leave" if len(self._members) > 1:
                    self._members.remove(random.choice(self._members))
                case "grow":
                    random.choice(list(self._subtopologies.values()))["partitions"] += random.randint(1, 5)
                case "shuffle":
                    random.shuffle(self._members)
                case "swap":
                    member = random.choice(self._members)
                    member["active"], member["standby"] = member["standby"], member["active"]
                case _:
                    pass

    def _join(self) -> None:
        self._born += 1
        bits = f"{self._born:06b}"
        self._members.append(
            {
                "id": "".join(TWINS[bit == "1"] for bit in bits) if self._twins else random_id(self._random),
                "processId": self._random.choice(self._processes),
                "active": [],
                "standby": [],
                "warmup": [],
            }
        )


def life(random: Random, kind: str) -> GroupLife | StreamsLife:
    """A random group for this assignor."""
    return StreamsLife(random) if kind == "streams-sticky" else GroupLife(random, kind)
