"""Consumer groups of the classic protocol, led by Kafka's own client."""

from base64 import b64encode
from typing import Any

from lab.bench.generations.played import RIGHT, Place, PlayedGroup, Rules, Size
from lab.errors import LabError
from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.schemas.sticky_user_data import (
    COOPERATIVE_STICKY,
    STICKY,
    StickyUserData,
    encode_sticky_user_data,
)
from rebalance_monitor.streaming.calculator import consumer
from rebalance_monitor.streaming.core.consumer.catalogue import TAKEN_EARLY, TWO_OWNERS, UNSUBSCRIBED

RELEASE = "4.3.1"
TOPICS = 2
FOLLOWS_MS = 300
Share = tuple[TopicPartition, ...]


class ConsumerGroup(PlayedGroup):
    """One group; each member has what it was given last, and reports it as its assignor asks for."""

    assignor: str
    doubled: Rules = frozenset({TWO_OWNERS.code})
    """What a partition with two owners breaks; none where that depends on which one it is."""

    def __init__(self, name: str, place: Place, size: Size) -> None:
        super().__init__(name, place, size)
        self._held: dict[str, Share | None] = {}
        self._since: dict[str, int] = {}
        self._follows = False
        each = max(size.partitions // TOPICS, 1)
        self.topics = {f"{name}.t{number}": each for number in range(TOPICS)}

    def begin(self) -> None:
        for _ in range(self.size.members):
            self._held[self.member_id(self.name)] = None

    def change(self) -> None:
        if self.comes(len(self._held)):
            self._held[self.member_id(self.name)] = None
        else:
            del self._held[self.dice.choice(list(self._held))]

    def follows_ms(self) -> int | None:
        return FOLLOWS_MS if self._follows else None

    def round(self, *, wrong: bool) -> Rules:
        self.generation += 1
        subscriptions = {name: self._subscription(name) for name in self._held}
        right = self._answer(subscriptions)
        broken, given = self._spoiled(right) if wrong else (RIGHT, right)
        blobs = {
            name: (subscriptions[name], encode_assignment(ConsumerAssignment(version=3, partitions=given[name])))
            for name in self._held
        }
        self.write_generation("consumer", self.assignor, next(iter(self._held)), blobs)
        cooperative = self.assignor == COOPERATIVE_STICKY
        self._follows = bool(broken) or (
            cooperative and any(set(held or ()) - set(given[name]) for name, held in self._held.items())
        )
        for name in self._held:  # nobody reads a topic that it does not subscribe to
            self._held[name] = tuple(one for one in given[name] if one[0] in self.topics)
            self._since[name] = self.generation
        return broken

    def _answer(self, subscriptions: dict[str, bytes]) -> dict[str, Share]:
        given: dict[str, Any] = {
            "topics": {topic: [[number % 3] for number in range(count)] for topic, count in self.topics.items()},
            "brokers": {},
            "members": [
                {"id": name, "instance": None, "subscription": b64encode(blob).decode()}
                for name, blob in subscriptions.items()
            ],
        }
        told = consumer.solve({"kind": self.assignor, "release": RELEASE, "input": given})
        if "assignment" not in told:
            raise LabError(f"{self.name}: {told['error']}")
        return {
            name: consumer.wire_order(tuple((topic, number) for topic, number in share["partitions"]), RELEASE)[0]
            for name, share in told["assignment"].items()
        }

    def _spoiled(self, right: dict[str, Share]) -> tuple[Rules, dict[str, Share]]:
        """A partition more for whom has least: one of another member, or of a topic that nobody subscribes to."""
        least = min(right, key=lambda name: len(right[name]))
        others = [one for name, share in right.items() if name != least for one in share]
        if self.doubled and others and self.dice.random() < 0.5:
            return self.doubled, {**right, least: (*right[least], self.dice.choice(others))}
        return frozenset({UNSUBSCRIBED.code}), {**right, least: (*right[least], ("of-others", 0))}

    def _subscription(self, name: str) -> bytes:
        held, keeps = self._held[name], self.assignor == COOPERATIVE_STICKY
        user_data = None
        if held is not None and self.assignor in (COOPERATIVE_STICKY, STICKY):
            data = StickyUserData(held, self._since[name])
            user_data = encode_sticky_user_data(data, cooperative=keeps)
        return encode_subscription(
            ConsumerSubscription(
                version=3,
                topics=tuple(self.topics),
                user_data=user_data,
                owned=(held or ()) if keeps else (),
                generation=self._since.get(name, -1),
            )
        )


class RangeGroup(ConsumerGroup):
    kind = assignor = "range"
    doubled = RIGHT


class RoundRobinGroup(ConsumerGroup):
    kind = assignor = "roundrobin"


class CooperativeGroup(ConsumerGroup):
    kind = assignor = COOPERATIVE_STICKY
    doubled = frozenset({TWO_OWNERS.code, TAKEN_EARLY.code})


class StickyGroup(ConsumerGroup):
    kind = assignor = STICKY
