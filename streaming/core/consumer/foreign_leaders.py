"""Was this answer that of a library that deals in its own way? (consumer.md 11)

kafkajs' `RoundRobinAssigner` is recomputed exactly. Under the names `range` and `roundrobin`, a leader that reads
subscriptions which end behind their user data is kafka-go or @platformatic/kafka, never Kafka's own class.

sarama, ruby-kafka and kafka-node deal in ways of their own, too, and write assignments in version 0 (`foreign_deals`).

Other clients put members in other orders before they deal partitions (`foreign_orders`). Java sorts static members by
their instance id, and the others after them by member id. Where a group mixes both kinds, other clients give other
shares by the same assignor, and their leaders are right all the same. Seen on real groups:

    librdkafka         by member id; a static member's begins with its instance id, so it mixes with the others.
                       Clients that know no instance ids do the same, also where all members are static: of the
                       instances `app` and `app-1` any may come first
    kafka-python 3.0   static before others, but of several runs of one kind in the join order only the last counts;
                       members of the runs before get nothing (`range`: for each topic on its own)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TypeAlias

from rebalance_monitor.assignors.consumer import other_deals
from rebalance_monitor.assignors.consumer.model import ConsumerMember, TopicRacks
from rebalance_monitor.assignors.consumer.other_deals import ROUND_ROBIN_ASSIGNER, Deal, Dealt, Names
from rebalance_monitor.schemas.consumer_protocol import TopicPartition
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import ConsumerShare, ExpectedShare, Grade, Verdict
from .client_library import reads_short_ones

KAFKAJS = "kafkajs"
GivenShares: TypeAlias = Mapping[str, tuple[TopicPartition, ...]]
OTHER_TOPICS = "the topics' partitions as the leader knew them then"


@dataclass(frozen=True, slots=True)
class ForeignLeader:
    """Who may have led under this assignor, and what there was to deal. `leaders`: topics of the leader in the order of
    its subscription; those of all members where the record names no leader."""

    assignor: str
    members: tuple[ConsumerMember, ...]
    leaders: tuple[Names, ...]

    def answers(self, topics: TopicRacks) -> Iterator[tuple[str, Dealt]]:
        """Each library that may lead, with its answer."""
        members, deal = self.members, other_deals.blocks if self.assignor == "range" else other_deals.circle
        if self.assignor != ROUND_ROBIN_ASSIGNER:
            split = other_deals.blocks if self.assignor == "range" else other_deals.by_number
            yield "kafka-go", other_deals.kafka_go(members, topics, split)
        for names in self.leaders:
            if self.assignor == ROUND_ROBIN_ASSIGNER:
                yield KAFKAJS, other_deals.kafkajs(members, names, topics)
                yield "kafkajs before 1.13", other_deals.kafkajs_before_1_13(members, names, topics)
            else:
                for ordered in (False, True):
                    shares = other_deals.platformatic(members, names, topics, deal, ordered=ordered)
                    yield "@platformatic/kafka", shares

    def fitting(self, observed: GivenShares, topics: TopicRacks) -> dict[str, Dealt]:
        """The libraries that give every member these partitions, with their answers."""
        return {
            library: shares
            for library, shares in self.answers(topics)
            if sorted_shares(shares) == sorted_shares(observed)
        }

    def judge(self, observed: GivenShares, current: TopicRacks, others: Iterable[TopicRacks]) -> Verdict:
        """Whether one of them answers so. A match is what the newest kafkajs answers, to the order of the bytes."""
        for view in chain((current,), others):
            found = self.fitting(observed, view)
            if found.get(KAFKAJS) == observed and view is current and len(self.leaders) == 1:
                return self._verdict(Grade.MATCH, None, found[KAFKAJS])
            if found:
                more = "" if view is current else f"; {OTHER_TOPICS}"
                reason = Reason(ReasonKind.FOREIGN_CLIENT, f"as {' or '.join(found)} answers{more}")
                return self._verdict(Grade.EXPLAINABLE, reason, next(iter(found.values())))
        expected = next(iter(self.answers(current)))[1]
        other = next(one for one, share in observed.items() if sorted(expected[one]) != sorted(share))
        reason = Reason(ReasonKind.OTHER_ANSWER, f"{other} was given other partitions than expected")
        return self._verdict(Grade.UNEXPLAINED, reason, expected)

    def _verdict(self, grade: Grade, reason: Reason | None, shares: Dealt) -> Verdict:
        expected = {member: ExpectedShare(assigned=ConsumerShare(share)) for member, share in shares.items()}
        return Verdict(grade=grade, assignor=self.assignor, reason=reason, expected=expected)


def sorted_shares(shares: GivenShares) -> dict[str, list[TopicPartition]]:
    """Without the order of the bytes."""
    return {member: sorted(share) for member, share in shares.items()}


def foreign_leader(body: GroupGeneration, members: tuple[ConsumerMember, ...]) -> ForeignLeader | None:
    """Who led a generation of an assignor that keeps nothing, if not Kafka's own class; None where that is not sure."""
    assignor = body.protocol or ""
    if assignor != ROUND_ROBIN_ASSIGNER and not reads_short_ones(body):
        return None
    led = tuple(one.topics for one in members if one.id == body.leader) or tuple(one.topics for one in members)
    return ForeignLeader(assignor, members, tuple(dict.fromkeys(led)))


def foreign_deals(
    members: Sequence[ConsumerMember], assignor: str, topics: TopicRacks, observed: GivenShares
) -> Iterator[tuple[str, Dealt]]:
    """Libraries that deal otherwise than Kafka's class in any order of the members, with their answers. Nothing in a
    record gives their leaders away."""
    if assignor == "range":
        yield from _hashed("sarama before 1.34.1", members, topics, other_deals.rounded, observed)
    else:
        yield "sarama", other_deals.sarama_circle(members, topics)
        yield "ruby-kafka", other_deals.ruby_kafka(members, topics)
        yield "ruby-kafka before 1.4", other_deals.ruby_kafka_before_1_4(members, topics)
        yield "kafka-node", other_deals.kafka_node(members, topics)
        yield from _hashed("sarama before 1.28", members, topics, other_deals.by_number, observed)


def _hashed(
    library: str, members: Sequence[ConsumerMember], topics: TopicRacks, deal: Deal, observed: GivenShares
) -> Iterator[tuple[str, Dealt]]:
    """Nothing where the shares of one topic differ already: a hash for each topic and member takes its time."""
    some = next((name for member in members for name in member.topics if name in topics), None)
    if some is None:
        return
    alone = other_deals.sarama_by_hash(members, {some: topics[some]}, deal)
    given = {member: tuple(one for one in share if one[0] == some) for member, share in observed.items()}
    if sorted_shares(alone) == sorted_shares(given):
        yield library, other_deals.sarama_by_hash(members, topics, deal)


Members = tuple[ConsumerMember, ...]


def foreign_orders(members: Sequence[ConsumerMember], assignor: str) -> Iterator[tuple[str, Members]]:
    """Clients and the members as they see them, each in a form that Kafka's own assignor deals alike.

    Nothing where none is static: then all clients agree.
    """
    static = {member.instance_id is not None for member in members}
    if True in static:
        client = "librdkafka" if False in static else "sarama or aiokafka"
        yield client, tuple(replace(member, instance_id=None) for member in members)
    if len(static) > 1:
        yield "kafka-python", _kafka_python(members, assignor)


def _kafka_python(members: Sequence[ConsumerMember], assignor: str) -> Members:
    if assignor != "range":
        return _numbered(_last_runs(members))
    topics: dict[str, list[str]] = {member.id: [] for member in members}
    for topic in dict.fromkeys(topic for member in members for topic in member.topics):
        for member in _last_runs([one for one in members if topic in one.topics]):
            topics[member.id].append(topic)
    return _numbered([replace(member, topics=tuple(topics[member.id])) for member in sorted(members, key=_place)])


def _last_runs(members: Sequence[ConsumerMember]) -> list[ConsumerMember]:
    """Static ones first; neighbours of one kind make a run, and a later run of a kind replaces the one before."""
    runs = {static: list(run) for static, run in groupby(members, lambda one: one.instance_id is not None)}
    return [member for kind in (True, False) for member in sorted(runs.get(kind, ()), key=_place)]


def _place(member: ConsumerMember) -> tuple[bool, str, str]:
    return (member.instance_id is None, member.instance_id or "", member.id)


def _numbered(members: Sequence[ConsumerMember]) -> Members:
    """As static members whose instance ids sort as they stand."""
    return tuple(replace(member, instance_id=f"{number:06}") for number, member in enumerate(members))
