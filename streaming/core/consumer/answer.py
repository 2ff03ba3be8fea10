"""A leader's answer as the laws look at it: who subscribed to what, held what before, and was given what."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.consumer.model import NOT_SAID, ConsumerMember, TopicRacks
from rebalance_monitor.assignors.consumer.other_deals import ROUND_ROBIN_ASSIGNER
from rebalance_monitor.schemas.consumer_protocol import TopicPartition
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY, STICKY
from rebalance_monitor.streaming.core.model.derived import Derives, derived
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Evidence
from rebalance_monitor.streaming.core.model.settings import ClientLibrary
from .client_library import leaders_library
from .foreign_leaders import ForeignLeader, foreign_deals, foreign_leader, sorted_shares
from .members import ReadMembers, read_members

RANGE, ROUNDROBIN = "range", "roundrobin"
STICKY_ONES = (STICKY, COOPERATIVE_STICKY)
KNOWN = (RANGE, ROUNDROBIN, *STICKY_ONES, ROUND_ROBIN_ASSIGNER)
"""Assignors whose laws are known, by the name in the record; all others are somebody's own (`own_assignors`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Derives):
    """One answer of a leader.

    `given`: partitions by member id. `held`: what each member says to have held, empty under eager assignors without
    memory. `before`: the partitions of each member after the record before, by instance id or member id. `library`:
    that of the leader's client, None if nobody can tell. `foreign`: where it surely is none of Kafka's own classes.
    """

    group: str
    assignor: str
    members: tuple[ConsumerMember, ...]
    given: Mapping[str, tuple[TopicPartition, ...]]
    held: Mapping[str, frozenset[TopicPartition]]
    before: Mapping[str, frozenset[str]]
    library: ClientLibrary | None
    foreign: ForeignLeader | None
    evidence: Evidence

    @property
    def java(self) -> bool:
        """Whether Kafka's own client leads."""
        return self.library is ClientLibrary.JAVA

    @property
    def client_known(self) -> bool:
        return self.library is not None

    @property
    def dealt_to_all(self) -> bool:
        """Whether the leader's library deals partitions whatever members subscribe to, and this is such an answer."""
        if self.foreign is None or self.given_counts is None:
            return False
        return bool(self.foreign.fitting(self.given, self.given_counts))

    @property
    def as_foreign(self) -> bool:
        """Whether a library that nothing gives away answers just so (`foreign_deals`)."""
        counts = self.given_counts
        return counts is not None and any(
            sorted_shares(shares) == sorted_shares(self.given)
            for _, shares in foreign_deals(self.members, self.assignor, counts, self.given)
        )

    @property
    def given_counts(self) -> TopicRacks | None:
        """How many partitions topics have by this answer; None if it leaves some out or gives one twice."""
        counts: dict[str, int] = {}
        for topic, number in (one for share in self.given.values() for one in share):
            counts[topic] = max(counts.get(topic, 0), number + 1)
        if sum(counts.values()) != sum(map(len, self.given.values())):
            return None
        return {name: (frozenset[str](),) * count for name, count in counts.items()}

    @property
    def mixed_statics(self) -> bool:
        """Whether some members are static and others are not: libraries order such members each in its own way."""
        return len({member.instance_id is None for member in self.members}) > 1

    @property
    def equal(self) -> bool:
        return len({frozenset(member.topics) for member in self.members}) == 1

    @property
    def racks(self) -> bool:
        """Whether a member states a rack: then the leader may look at racks."""
        return any(member.rack for member in self.members)

    @property
    @derived
    def all_given(self) -> frozenset[TopicPartition]:
        """Every partition that somebody was given."""
        return frozenset(partition for share in self.given.values() for partition in share)

    @property
    @derived
    def unmoved(self) -> bool:
        """Whether each member was given just what it says to have held."""
        return all(self.held[name] == frozenset(share) for name, share in self.given.items())

    @derived
    def claims(self) -> Counter[TopicPartition]:
        return Counter(partition for share in self.held.values() for partition in share)


def answer_of(
    group: str,
    body: GroupGeneration,
    before: Mapping[str, tuple[str, ...]],
    evidence: Evidence,
    client_libraries: Mapping[str, ClientLibrary],
    read: ReadMembers | str | None = None,
) -> Answer | None:
    """The answer in a record; None where a member cannot be read. `read`: its members, where they were read before."""
    assignor = body.protocol or ""
    read = read_members(body) if read is None else read
    if isinstance(read, str):
        return None
    return Answer(
        group=group,
        assignor=assignor,
        members=read.members,
        given=read.given,
        held={member.id: frozenset(_held(member, assignor)) for member in read.members},
        before={name: frozenset(share) for name, share in before.items()},
        library=leaders_library(body, client_libraries),
        foreign=foreign_leader(body, read.members),
        evidence=evidence,
    )


def _held(member: ConsumerMember, assignor: str) -> tuple[TopicPartition, ...]:
    if assignor == STICKY:
        return member.claim.partitions
    return member.owned if assignor == COOPERATIVE_STICKY else ()


def sole_owners(members: Sequence[ConsumerMember]) -> dict[TopicPartition, str]:
    """Who surely owns a partition still, under `cooperative-sticky`: one member alone reports it, in the newest
    generation that any member reports, and subscribes to the topic. A report of an older generation may count for
    nothing: its member was out of the group meanwhile (docs/protocol/consumer.md, section 5)."""
    claims = Counter(partition for member in members for partition in set(member.owned))
    newest = max(map(_reported_in, members), default=NOT_SAID)
    return {
        partition: member.id
        for member in members
        if _reported_in(member) == newest
        for partition in member.owned
        if claims[partition] == 1 and partition[0] in member.topics
    }


def _reported_in(member: ConsumerMember) -> int:
    """The generation of a member's report under `cooperative-sticky`: clients before 3.4 say it in the user data."""
    if member.generation != NOT_SAID or member.claim.generation is None:
        return member.generation
    return member.claim.generation


def shown(partition: TopicPartition) -> str:
    """`topic-number`, as Kafka writes it."""
    return f"{partition[0]}-{partition[1]}"
