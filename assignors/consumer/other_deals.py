"""How libraries for other languages deal partitions where they do not answer as Kafka's classes do.

Own wording of what their sources do (docs/protocol/consumer.md 11). Nothing is kept from generation to generation, and
racks do not count.

    circle      partitions of all topics in one circle over the members: topics in the order given, the circle goes on
                from topic to topic
    by number   of each topic, partition p goes to member p modulo the number of members
    blocks      of each topic, member i of n has the partitions from floor(i * count / n) to floor((i + 1) * count / n)
    rounded     blocks whose limits are rounded, not cut off

kafkajs and @platformatic/kafka deal the topics of the leader alone, to all members, whatever these subscribe to.
kafka-go and sarama deal each topic to its subscribers. sarama knows no static members. Its `range` of 1.34.1 and later
is Kafka's over members by id.

    leader {a,b}, a:3 b:1; m1, m2      circle: a-0 m1, a-1 m2, a-2 m1, b-0 m2
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import floor
from typing import TypeAlias

from rebalance_monitor.assignors.java_order import utf16_key
from .model import NEWEST, ConsumerMember, TopicPartition, TopicRacks, member_order

ROUND_ROBIN_ASSIGNER = "RoundRobinAssigner"
"""The name under which kafkajs deals."""

Names: TypeAlias = Sequence[str]
Dealt: TypeAlias = dict[str, tuple[TopicPartition, ...]]
Deal: TypeAlias = Callable[[Names, Names, TopicRacks], Iterator[tuple[str, TopicPartition]]]


def circle(members: Names, names: Names, topics: TopicRacks) -> Iterator[tuple[str, TopicPartition]]:
    """Each partition of these topics, with the member that gets it."""
    dealt = [(name, number) for name in names for number in range(len(topics.get(name, ())))]
    for at, partition in enumerate(dealt):
        yield members[at % len(members)], partition


def by_number(members: Names, names: Names, topics: TopicRacks) -> Iterator[tuple[str, TopicPartition]]:
    """Likewise."""
    for name in names:
        for number in range(len(topics.get(name, ()))):
            yield members[number % len(members)], (name, number)


def blocks(members: Names, names: Names, topics: TopicRacks) -> Iterator[tuple[str, TopicPartition]]:
    """Likewise."""
    for name in names:
        count = len(topics.get(name, ()))
        for at, member in enumerate(members):
            for number in range(at * count // len(members), (at + 1) * count // len(members)):
                yield member, (name, number)


def rounded(members: Names, names: Names, topics: TopicRacks) -> Iterator[tuple[str, TopicPartition]]:
    """Likewise."""
    for name in names:
        count = len(topics.get(name, ()))
        step = count / len(members)
        for at, member in enumerate(members):
            for number in range(floor(at * step + 0.5), floor((at + 1) * step + 0.5)):
                yield member, (name, number)


def kafkajs(members: Sequence[ConsumerMember], leaders: Names, topics: TopicRacks) -> Dealt:
    """The answer of kafkajs 1.13 and later. `leaders`: the leader's topics in the order in which it subscribes."""
    return _shares(members, circle(_by_id(members), leaders, topics))


def kafkajs_before_1_13(members: Sequence[ConsumerMember], leaders: Names, topics: TopicRacks) -> Dealt:
    """The answer of kafkajs up to 1.12."""
    return _shares(members, by_number(_by_id(members), leaders, topics))


def kafka_go(members: Sequence[ConsumerMember], topics: TopicRacks, deal: Deal) -> Dealt:
    """The answer of kafka-go: `by_number` under `roundrobin`, `blocks` under `range`."""
    names = sorted({name for member in members for name in member.topics})
    ordered = sorted(members, key=lambda one: one.id)  # Go compares bytes, which in UTF-8 sort like code points
    return _shares(
        members,
        (dealt for name in names for dealt in deal([one.id for one in ordered if name in one.topics], (name,), topics)),
    )


def platformatic(
    members: Sequence[ConsumerMember], leaders: Names, topics: TopicRacks, deal: Deal, *, ordered: bool
) -> Dealt:
    """The answer of @platformatic/kafka: `circle` under `roundrobin`, `blocks` under `range`. `ordered`: members by id,
    as later releases do; earlier ones took them as the coordinator lists them."""
    return _shares(members, deal(_by_id(members) if ordered else [one.id for one in members], leaders, topics))


def sarama_circle(members: Sequence[ConsumerMember], topics: TopicRacks) -> Dealt:
    """The answer of `roundrobin` of sarama 1.28 and later: partitions are sorted as text, so t-10 comes before t-2."""
    ordered = sorted(_of_all(members, topics), key=lambda one: f"{one[0]}-{one[1]}")
    return _shares(members, _passing_circle(sorted(members, key=lambda one: one.id), ordered))


def ruby_kafka(members: Sequence[ConsumerMember], topics: TopicRacks) -> Dealt:
    """The answer of `roundrobin` of ruby-kafka 1.4 and later: members as the coordinator lists them."""
    return _shares(members, _passing_circle(members, sorted(_of_all(members, topics))))


def ruby_kafka_before_1_4(members: Sequence[ConsumerMember], topics: TopicRacks) -> Dealt:
    """The answer of earlier releases: topics as they are subscribed to."""
    return _shares(members, _passing_circle(members, _of_all(members, topics)))


def kafka_node(members: Sequence[ConsumerMember], topics: TopicRacks) -> Dealt:
    """The answer of `roundrobin` of kafka-node: members by id, topics as they are subscribed to."""
    by_id = sorted(members, key=lambda one: utf16_key(one.id))
    return _shares(members, _passing_circle(by_id, _of_all(members, topics)))


def _passing_circle(
    members: Sequence[ConsumerMember], partitions: Iterable[TopicPartition]
) -> Iterator[tuple[str, TopicPartition]]:
    """One circle in which a member that does not subscribe to the topic is passed over."""
    subscribed, at = [frozenset(member.topics) for member in members], 0
    for partition in partitions:
        while partition[0] not in subscribed[at % len(members)]:
            at += 1
        yield members[at % len(members)].id, partition
        at += 1


def sarama_by_hash(members: Sequence[ConsumerMember], topics: TopicRacks, deal: Deal) -> Dealt:
    """The answer of `roundrobin` before 1.28 (`by_number`) and of `range` before 1.34.1 (`rounded`): the subscribers of
    each topic stand in the order of a hash of topic and member."""
    return _shares(
        members,
        (
            dealt
            for name in dict.fromkeys(name for member in members for name in member.topics if name in topics)
            for dealt in deal(_by_hash(name, [one.id for one in members if name in one.topics]), (name,), topics)
        ),
    )


def may_be_franz_gos(
    members: Sequence[ConsumerMember], topics: TopicRacks, given: Mapping[str, Sequence[TopicPartition]]
) -> bool:
    """Whether `range` of franz-go 1.21 and later may give this. Each member has its quota, as in Kafka's class. Members
    take partitions that are led in their rack first, and the rest follow in order. Leaders are not known: any replica
    may be one.

    m1 (rack x), m2; t-0 [y], t-1 [x y]     m1 t-1, m2 t-0 if t-1 is led in x, m1 t-0, m2 t-1 if not
    """
    names = {name for member in members for name in member.topics}
    return all(topic in names for share in given.values() for topic, _ in share) and all(
        _may_be_franz_gos(
            [one for one in member_order(members, NEWEST) if name in one.topics],
            topics.get(name, ()),
            {member: [number for topic, number in share if topic == name] for member, share in given.items()},
        )
        for name in names
    )


def _may_be_franz_gos(
    subscribers: Sequence[ConsumerMember], racks: Sequence[frozenset[str]], given: Mapping[str, Sequence[int]]
) -> bool:
    each, more = divmod(len(racks), len(subscribers))
    if [len(given[one.id]) for one in subscribers] != [each + (at < more) for at in range(len(subscribers))]:
        return False
    if sorted(number for share in given.values() for number in share) != list(range(len(racks))):
        return False
    rest = [sorted(one for one in given[member.id] if member.rack not in racks[one]) for member in subscribers]
    in_order = [number for share in rest for number in share]
    return in_order == sorted(in_order)


def _of_all(members: Sequence[ConsumerMember], topics: TopicRacks) -> Iterator[TopicPartition]:
    for name in dict.fromkeys(name for member in members for name in member.topics):
        yield from ((name, number) for number in range(len(topics.get(name, ()))))


def _by_hash(topic: str, members: Names) -> Names:
    def fnv(member: str) -> int:
        value = 2166136261
        for letter in topic + member:  # as sarama does, not by byte
            value = (value ^ ord(letter)) * 16777619 & 0xFFFFFFFF
        return value

    return sorted(members, key=fnv)


def _by_id(members: Sequence[ConsumerMember]) -> Names:
    return sorted((one.id for one in members), key=utf16_key)


def _shares(members: Sequence[ConsumerMember], dealt: Iterator[tuple[str, TopicPartition]]) -> Dealt:
    found: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
    for member, partition in dealt:
        found[member].append(partition)
    return {member: tuple(share) for member, share in found.items()}
