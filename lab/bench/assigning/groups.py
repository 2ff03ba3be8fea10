"""Groups for timing the sticky assignors: as many members and partitions as asked, in a few situations.

Equal subscriptions: everybody subscribes to all topics. Different ones: each to half of them, so that the general
algorithm runs. Before the timed generation the group has settled: rounds are played until nothing changes.
"""

from base64 import b64encode
from typing import Any

from rebalance_monitor.assignors.consumer.model import TopicPartition
from rebalance_monitor.schemas.consumer_protocol import ConsumerSubscription, encode_subscription
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY, StickyUserData, encode_sticky_user_data
from rebalance_monitor.streaming.calculator import consumer

TOPICS = 40
EVENTS = ("steady", "a member lost", "a member joins", "a topic grows", "all new")
SETTLING_ROUNDS = 12

Held = dict[str, tuple[TopicPartition, ...]]


def group(assignor: str, event: str, *, members: int, partitions: int, equal: bool) -> dict[str, Any]:
    """The `input` of the case that is timed."""
    counts = {f"topic-{number:02}": partitions // TOPICS for number in range(TOPICS)}
    names = [f"consumer-{number}-{number * 2_654_435_761 % 2**32:08x}" for number in range(members)]
    held: Held = {}
    if event != "all new":
        held = _settled(assignor, names, counts, equal)
    match event:
        case "a member lost":
            names = names[1:]
        case "a member joins":
            names = [*names, "consumer-new"]
        case "a topic grows":
            counts["topic-07"] += partitions // TOPICS
        case _:
            pass  # steady, and all new, which holds nothing
    return _given(assignor, names, counts, held, equal)


def _settled(assignor: str, names: list[str], counts: dict[str, int], equal: bool) -> Held:
    held: Held = {}
    for _ in range(SETTLING_ROUNDS):
        given = _given(assignor, names, counts, held, equal)
        answer = consumer.solve({"kind": assignor, "release": "4.3.1", "input": given})
        after = {
            name: tuple((topic, number) for topic, number in share["partitions"])
            for name, share in answer["assignment"].items()
        }
        if after == held:
            break
        held = after
    return held


def _given(assignor: str, names: list[str], counts: dict[str, int], held: Held, equal: bool) -> dict[str, Any]:
    topics = list(counts)
    members = []
    for at, name in enumerate(names):
        mine = topics if equal else [topic for number, topic in enumerate(topics) if (number + at) % 4 < 2]
        own = held.get(name, ())
        generation = 9 if name in held else -1
        cooperative = assignor == COOPERATIVE_STICKY
        user_data = None
        if cooperative or own:
            user_data = encode_sticky_user_data(StickyUserData(own, generation), cooperative=cooperative)
        subscription = ConsumerSubscription(
            version=3,
            topics=tuple(mine),
            user_data=user_data,
            owned=own if cooperative else (),
            generation=generation,
        )
        members.append(
            {"id": name, "instance": None, "subscription": b64encode(encode_subscription(subscription)).decode()}
        )
    return {
        "topics": {topic: [[number % 3] for number in range(count)] for topic, count in counts.items()},
        "brokers": {str(number): None for number in range(3)},
        "members": members,
    }
