"""Inputs and results of the consumer assignors: one snapshot of a group, as its leader saw it.

A snapshot is the members in the order in which the leader put them into its hash map (JoinGroup order) and what the
leader's metadata knew of the topics: for each partition the racks of all its replicas. Everything else that decides a
result - Java's hash order, the order of strings, the leader's release - is made explicit here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from rebalance_monitor.assignors.java_order import utf16_key
from rebalance_monitor.assignors.java_table import grouping_order, hash_map_order

TopicPartition: TypeAlias = tuple[str, int]
TopicRacks: TypeAlias = Mapping[str, Sequence[frozenset[str]]]
"""Topic -> for each partition, by number, the racks of its replicas (empty where none is known)."""


NOT_SAID = -1
"""Stands for the generation of a subscription that names none."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a member said it held before, and in which generation; None where it named none."""

    partitions: tuple[TopicPartition, ...] = ()
    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """One member's subscription. `instance_id` is the static id, `rack` the client's rack ("" counts as none).

    Only the sticky assignors look at the rest. `owned` and `generation` are fields of the subscription itself (since
    version 1 and 2). `claim` is what a leader reads in the user data, with the generation -1 where it cannot read
    them; of `cooperative-sticky` that is a generation alone. `claim_again` is what it finds when it reads on in the
    same bytes, as leaders 2.5 to 2.8 do.
    """

    id: str
    instance_id: str | None = None
    topics: tuple[str, ...] = ()
    rack: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NOT_SAID
    claim: Claim = Claim()
    claim_again: Claim = Claim()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerEra:
    """What a leader's release changes in `range` and `roundrobin`. Releases of one era give the same partitions."""

    name: str
    since: tuple[int, int]
    static_ids: bool
    racks: bool


ERAS: tuple[ConsumerEra, ...] = (
    ConsumerEra(name="up to 2.3", since=(0, 0), static_ids=False, racks=False),
    ConsumerEra(name="2.4 to 3.4", since=(2, 4), static_ids=True, racks=False),
    ConsumerEra(name="since 3.5", since=(3, 5), static_ids=True, racks=True),
)
NEWEST = ERAS[-1]


def release_of(release: str) -> tuple[int, int]:
    """Major and minor number of a release such as "3.4.1". Raises ValueError for anything else."""
    major, minor, *_ = release.split(".")
    return int(major), int(minor)


def era_of(release: str) -> ConsumerEra:
    """The era of a leader's release; releases after the newest known one count as that."""
    number = release_of(release)
    return max((era for era in ERAS if era.since <= number), key=lambda era: era.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerResult:
    """Partitions of each member in the order of the leader's lists.

    `order_unsure`: so many keys share a hash that Java keeps them in a tree; its order is followed, but rests on
    details of the JVM's library. The sets of `range` and `roundrobin` never depend on it, the order inside a list may.
    """

    shares: dict[str, tuple[TopicPartition, ...]]
    order_unsure: bool = False


def hash_ordered(names: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """Names in the iteration order of a default-capacity Java hash map that received them one by one, and the doubt."""
    return _hash_ordered(tuple(names))


@lru_cache(maxsize=256)
def _hash_ordered(names: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """A leader's answer is looked for among hundreds, and all of them order the same names."""
    order = hash_map_order(names)
    return tuple(order.keys()), order.unsure


def compute_ordered(calls: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """Names in the order of a default-capacity Java hash map filled by `computeIfAbsent`, and the doubt.

    `calls` are all calls, repeated names included: a call for a key that is present may make the table grow.
    """
    order, unsure = grouping_order(calls)
    return tuple(order), unsure


def member_order(members: Iterable[ConsumerMember], era: ConsumerEra) -> list[ConsumerMember]:
    """Members as `range` and `roundrobin` sort them: static ones first, by instance id, then the others by id."""

    def key(member: ConsumerMember) -> tuple[bool, bytes]:
        if era.static_ids and member.instance_id is not None:
            return False, utf16_key(member.instance_id)
        return True, utf16_key(member.id)

    return sorted(members, key=key)


def subscribed_topics(members: Sequence[ConsumerMember]) -> tuple[list[str], bool]:
    """All subscriptions as they reach a hash map: members in hash order, each member's topics in its own order."""
    by_id = {member.id: member for member in members}
    ids, unsure = hash_ordered(by_id)
    return [topic for name in ids for topic in by_id[name].topics], unsure
