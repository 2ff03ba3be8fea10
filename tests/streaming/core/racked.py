"""The real group `j-range` of `java-classic` as it would be on three brokers with racks, some of them dead at times.

The capture's brokers have no racks. Here each member states one, each partition has two replicas, and the leader's
answer is Kafka's `range` for what this leader knows at that moment. Samples of the metadata come late.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from rebalance_monitor.assignors.consumer import range_assignor
from rebalance_monitor.assignors.consumer.model import ConsumerMember
from rebalance_monitor.schemas.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_monitor.streaming.cli.captures import metadata_of, records_of
from rebalance_monitor.streaming.core.cluster.topics import TopicHistory, TopicMetadata, history_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, decode
from tests.vector_files import GROUP_CAPTURES

CAPTURE = GROUP_CAPTURES / "java-classic"
GROUP = "j-range"
RACKS = ("a", "b", "c")
SAMPLED_AFTER_MS = (4_000, 13_000)
"""How long after a leader a sample showed a dead broker, at least and at most."""

CHANGE_MS = 9_000
"""A broker's session time-out: so long it takes at least from one change of a broker to the next."""


@dataclass(frozen=True, slots=True)
class Known:
    """From this time on leaders know these brokers to live."""

    at_ms: int
    alive: frozenset[str]


@dataclass(frozen=True, slots=True)
class Racked:
    """The group's generations as re-encoded, with the records they stand in, and the samples of the metadata."""

    generations: tuple[tuple[RawRecord, GroupGeneration], ...]
    metadata: tuple[TopicMetadata, ...]

    @property
    def history(self) -> TopicHistory:
        return history_of(self.metadata)


@cache
def racked(seed: int) -> Racked:
    """One story of deaths and returns of brokers."""
    dice = random.Random(seed)
    counts = metadata_of(CAPTURE)
    records = list(_records())
    first_ms, last_ms = records[0][0].timestamp_ms, records[-1][0].timestamp_ms
    lives = list(_lives(dice, first_ms, last_ms))
    samples = [TopicMetadata(counts[0].at_ms, _racks(counts[0], frozenset(RACKS)))]
    for life in lives[1:]:
        at_ms = life.at_ms + dice.randint(*SAMPLED_AFTER_MS)
        samples.append(TopicMetadata(at_ms, _racks(_sample(counts, at_ms), _alive(lives, at_ms))))
    samples += [TopicMetadata(one.at_ms, _racks(one, _alive(lives, one.at_ms - 13_000))) for one in counts[1:]]
    generations = tuple(
        (record, _answered(body, _racks(_sample(counts, record.timestamp_ms), _alive(lives, record.timestamp_ms))))
        for record, body in records
    )
    return Racked(generations, tuple(sorted(samples, key=lambda one: one.at_ms)))


def all_alive() -> TopicHistory:
    """Samples as they would be if all brokers lived whenever one was taken."""
    return history_of(TopicMetadata(one.at_ms, _racks(one, frozenset(RACKS))) for one in metadata_of(CAPTURE))


def _records() -> Iterator[tuple[RawRecord, GroupGeneration]]:
    settings = ClusterSettings(name="racked")
    for record in records_of(CAPTURE):
        row = decode(record, settings)
        if row is not None and row.group == GROUP and isinstance(row.body, GroupGeneration) and row.body.members:
            yield record, row.body


def _lives(dice: random.Random, first_ms: int, last_ms: int) -> Iterator[Known]:
    """Each broker dies now and then, sometimes while another is dead; to die or to come back takes it some time."""
    alive, at_ms = frozenset(RACKS), first_ms
    changed_ms = dict.fromkeys(RACKS, first_ms)
    yield Known(0, alive)
    while at_ms < last_ms:
        at_ms += dice.randint(3_000, 20_000)
        rack = dice.choice([one for one in RACKS if at_ms >= changed_ms[one] + CHANGE_MS] or RACKS)
        changed_ms[rack] = at_ms
        alive = alive - {rack} if rack in alive and len(alive) > 1 else alive | {rack}
        yield Known(at_ms, alive)


def _alive(lives: Sequence[Known], at_ms: int) -> frozenset[str]:
    return [one.alive for one in lives if one.at_ms <= max(at_ms, 0)][-1]


def _sample(counts: Sequence[TopicMetadata], at_ms: int) -> TopicMetadata:
    return [one for one in counts if one.at_ms <= at_ms][-1]


def _racks(sample: TopicMetadata, alive: frozenset[str]) -> dict[str, tuple[frozenset[str], ...]]:
    """Two replicas of each partition, on neighbouring brokers; of a dead broker nobody knows the rack."""
    return {
        topic: tuple(
            frozenset({RACKS[(number + shift) % 3], RACKS[(number + shift + 1) % 3]}) & alive
            for number in range(len(partitions))
        )
        for shift, (topic, partitions) in enumerate(sorted(sample.topics.items()))
    }


def _answered(body: GroupGeneration, topics: dict[str, tuple[frozenset[str], ...]]) -> GroupGeneration:
    """The generation with a rack in each subscription and the answer of a leader that knows these racks."""
    members = [_with_rack(member, RACKS[sum(member.client_id.encode()) % 3]) for member in body.members]
    shares = range_assignor.recompute(
        [
            ConsumerMember(id=one.member_id, instance_id=one.instance_id, topics=told.topics, rack=told.rack)
            for one, told in members
        ],
        topics,
    ).shares
    return replace(body, members=tuple(_given(one, shares[one.member_id]) for one, _ in members))


def _with_rack(member: MemberRow, rack: str) -> tuple[MemberRow, ConsumerSubscription]:
    assert isinstance(member.subscription, ConsumerSubscription)
    told = replace(member.subscription, version=3, rack=rack)
    return replace(member, subscription=told, subscription_bytes=encode_subscription(told)), told


def _given(member: MemberRow, partitions: tuple[tuple[str, int], ...]) -> MemberRow:
    assert isinstance(member.assignment, ConsumerAssignment)
    answer = replace(member.assignment, partitions=partitions)
    return replace(member, assignment=answer, assignment_bytes=encode_assignment(answer))
