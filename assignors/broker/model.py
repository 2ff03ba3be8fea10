"""What the coordinator hands to a broker-side assignor of a consumer or share group, and what it gets back.

A topic id is the 16 bytes of Kafka's `Uuid`. All orders that reach a result are Java's hash orders, so sequences here
keep the order of the records: members as the coordinator's map received them, previous targets as the type-7 (share
groups: type-13) record lists them.

Releases: an assignor's *era* is a range of broker releases with equal results. `release_of` reads "4.1.1" as (4, 1);
no release known so far changed a result between two patch releases.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, permutations, product
from typing import Protocol, TypeAlias, TypeVar

from rebalance_monitor.assignors.java_order import uuid_hash
from rebalance_monitor.assignors.java_table import (
    JavaTable,
    copied_set,
    copied_set_capacity,
    hash_map_order,
    hash_order,
    rests_on_java,
)

TopicId: TypeAlias = bytes
TopicPartition: TypeAlias = tuple[TopicId, int]
"""The 16 bytes of a topic id."""
Release: TypeAlias = tuple[int, int]
"""Major and minor number of the coordinator's release."""
Target: TypeAlias = tuple[tuple[TopicId, tuple[int, ...]], ...]
"""Topics and partition numbers of one member, in the order of its record."""
Share: TypeAlias = dict[TopicId, set[int]]
"""Partitions of one member by topic. Every topic has at least one partition."""

K = TypeVar("K", bound=Hashable)

NEWEST: Release = (4, 3)
JAVAS = (21, 17)
"""Java releases that walk copies of 12, 24, 48, ... elements differently; either may run the broker."""
JAVA = JAVAS[0]
"""Java release of the broker where none is given: that of the image `apache/kafka`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerMember:
    """One member as its records describe it.

    `names` are the subscribed topic names in record order, resolved regular expressions included. `previous` is the
    target of the member's latest record. `rack` is "" or None for none. `pattern` is its regular expression; `mixed`:
    it names topics beside that.
    """

    id: str
    names: tuple[str, ...] = ()
    previous: Target = ()
    instance_id: str | None = None
    rack: str | None = None
    pattern: str | None = None
    mixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerTopic:
    """One existing topic. `racks`: racks of each partition's replicas; empty where not known (from 4.0 always)."""

    id: TopicId
    partitions: int
    racks: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerGroup:
    """The input of one assignment: members in the order of the coordinator's map, existing topics by name. `alike`:
    what the coordinator takes the subscriptions for, where it does not compare them."""

    members: tuple[BrokerMember, ...]
    topics: Mapping[str, BrokerTopic]
    alike: bool | None = None

    @property
    def homogeneous(self) -> bool:
        """Whether the coordinator calls the subscriptions equal: the same names, of which those without a topic count;
        or one regular expression and no names beside it. Others are not compared by the topics that they stand for."""
        if self.alike is not None:
            return self.alike
        patterns = {member.pattern for member in self.members}
        if patterns <= {None}:
            return len({frozenset(member.names) for member in self.members}) <= 1
        return len(patterns) == 1 and not any(member.mixed for member in self.members)

    def counts(self) -> dict[TopicId, int]:
        """Number of partitions of every existing topic."""
        return {topic.id: topic.partitions for topic in self.topics.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerResult:
    """The new targets. None stands for a member that the assignor left out, which the coordinator reads as empty.

    `unsure`: Java's order could not be followed for certain. Either a bucket became a tree of keys that have no order
    of their own, or the release walks a set of objects in the order of their addresses.
    """

    shares: dict[str, Share | None]
    unsure: bool = False

    def target(self, member_id: str) -> dict[TopicId, frozenset[int]]:
        """Partitions of one member by topic; empty for a member without an entry."""
        return {topic: frozenset(numbers) for topic, numbers in (self.shares.get(member_id) or {}).items()}


@dataclass(frozen=True, slots=True)
class AssignorFailed:
    """The release's assignor throws on this input: the coordinator keeps the old targets. `error` is Java's class."""

    error: str


Outcome: TypeAlias = BrokerResult | AssignorFailed


def javas_of(group: BrokerGroup) -> tuple[int, ...]:
    """The releases of Java that may compute other targets of this group, the likeliest first: one of them alone where
    no copied set is walked in another order."""
    copies = [len(set(member.names)) for member in group.members]
    copies += [len(numbers) for member in group.members for _, numbers in member.previous]
    copies.append(sum(topic.partitions for topic in group.topics.values()))
    return JAVAS if rests_on_java(copies) else (JAVA,)


def release_of(text: str) -> Release:
    """Major and minor number of a release such as "4.1.1". Raises ValueError for anything else."""
    major, minor, *_ = text.split(".")
    return int(major), int(minor)


class Orders:
    """The hash orders that the assignors of a group share; `unsure` once one of them could not be followed."""

    def __init__(self, group: BrokerGroup, java_version: int = JAVA) -> None:
        self.group = group
        self.unsure = False
        self._java_version = java_version

    def members(self) -> list[BrokerMember]:
        """Members in the order of a default-capacity hash map that received them one by one."""
        by_id = {member.id: member for member in self.group.members}
        return [by_id[name] for name in self._walk(hash_map_order(by_id))]

    def topics_of(self, member: BrokerMember) -> list[TopicId]:
        """Existing subscribed topics in the order of the member's set of names."""
        names: Sequence[str] = member.names
        if len(names) > 1:
            names = self._walk(copied_set(names, self._java_version))
        topics = self.group.topics
        return [topics[name].id for name in names if name in topics]

    def topic_set(self, member: BrokerMember) -> list[TopicId]:
        """The same topics in the order of a hash set copied from that collection, whose size counts all names."""
        capacity = copied_set_capacity(len(set(member.names)), self._java_version)
        order: JavaTable[TopicId] = JavaTable(uuid_hash, capacity)
        for topic in self.topics_of(member):
            order.add(topic)
        return self._walk(order)

    def previous(self, member: BrokerMember) -> list[tuple[TopicId, list[int]]]:
        """The previous target as the coordinator walks it: topics in hash order, numbers in that of a copied set."""
        target = dict(member.previous)
        return [(topic, self._numbers(target[topic])) for topic in self._walk(hash_order(target))]

    def _numbers(self, numbers: tuple[int, ...]) -> list[int]:
        capacity = copied_set_capacity(len(numbers), self._java_version)
        if not numbers or max(numbers) < capacity:
            return sorted(set(numbers))  # every number has a bucket of its own
        return self._walk(copied_set(numbers, self._java_version))

    def _walk(self, order: JavaTable[K]) -> list[K]:
        self.unsure |= order.unsure
        return order.keys()


class HasId(Protocol):
    @property
    def id(self) -> str: ...


M = TypeVar("M", bound=HasId)


def member_orders(members: Sequence[M]) -> Iterator[tuple[M, ...]]:
    """All orders of members that a default-capacity hash map can walk differently; the given one comes first.

    Only members that share a bucket of the table can change places.
    """
    by_id = {member.id: member for member in members}
    walk = hash_map_order(by_id)
    groups = [list(of) for _, of in groupby(walk.keys(), key=walk.bucket_of)]
    for chosen in product(*(permutations(of) for of in groups)):
        yield tuple(by_id[name] for of in chosen for name in of)


def shares_of(members: Iterable[str], shares: Mapping[str, Share]) -> dict[str, Share | None]:
    """The share of every member, empty where it has none, without empty topics."""
    return {name: {topic: of for topic, of in shares.get(name, {}).items() if of} for name in members}
