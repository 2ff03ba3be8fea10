"""The members of a consumer group's record as the assignors take them, and what each was given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription, TopicPartition
from rebalance_monitor.schemas.faust_user_data import FAUST, decode_changelogs
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.outcomes import Decoded, Outcome
from rebalance_monitor.schemas.sticky_user_data import (
    COOPERATIVE_STICKY,
    GENERATION_BYTES,
    STICKY,
    UNREADABLE_GENERATION,
    StickyUserData,
    decode_sticky_user_data,
    decode_what_is_left,
)
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from .assignors import ASSIGNORS, KEEPING
from .subscriptions import subscription_of


def as_member(
    member_id: str, instance_id: str | None, subscription: ConsumerSubscription, assignor: str, *, again: bool = False
) -> ConsumerMember:
    """The member, with what a leader reads in its user data if the assignor is a sticky one.

    `again`: what a second reading finds is wanted too (`StickyEra.rereads`).
    """
    cooperative = assignor == COOPERATIVE_STICKY
    user_data = subscription.user_data if assignor in (STICKY, COOPERATIVE_STICKY) else None
    return ConsumerMember(
        id=member_id,
        instance_id=instance_id,
        topics=subscription.topics,
        rack=subscription.rack,
        owned=subscription.owned,
        generation=subscription.generation,
        claim=Claim() if user_data is None else _claim(decode_sticky_user_data(user_data, cooperative=cooperative)),
        claim_again=_again(user_data, cooperative=cooperative) if again else Claim(),
    )


_UNREADABLE = Claim((), UNREADABLE_GENERATION)


def _again(user_data: bytes | None, *, cooperative: bool) -> Claim:
    """What a second reading finds; nothing is left behind the one number that `cooperative-sticky` sends."""
    if user_data is None:
        return Claim()
    if cooperative and len(user_data) == GENERATION_BYTES:
        return _UNREADABLE
    return _claim(decode_what_is_left(user_data, cooperative=cooperative))


def _claim(read: Outcome[StickyUserData]) -> Claim:
    if isinstance(read, Decoded):
        return Claim(read.value.partitions, read.value.generation)
    return _UNREADABLE


@dataclass(frozen=True, slots=True)
class ReadMembers:
    """`given`: partitions by member id, in the order of the bytes."""

    members: tuple[ConsumerMember, ...]
    given: Mapping[str, tuple[TopicPartition, ...]]


def left_out(body: GroupGeneration, row: MemberRow) -> bool:
    """Whether the leader gave a member nothing by not naming it, as kafkajs does. Kafka's own assignors write an empty
    assignment instead, and their members cannot read empty bytes."""
    return body.protocol not in ASSIGNORS and not row.assignment_bytes and subscription_of(row) is not None


def read_members(body: GroupGeneration) -> ReadMembers | str:
    """The members of a generation; a sentence if one of them cannot be read."""
    assignor = body.protocol or ""
    again = assignor in KEEPING
    members: list[ConsumerMember] = []
    given: dict[str, tuple[TopicPartition, ...]] = {}
    for row in body.members:
        subscription = subscription_of(row)
        if subscription is None:
            return f"subscription of {row.member_id} cannot be decoded"
        if left_out(body, row):
            given[row.member_id] = ()
        elif isinstance(row.assignment, ConsumerAssignment):
            given[row.member_id] = row.assignment.partitions
        else:
            return f"assignment of {row.member_id} cannot be decoded"
        members.append(as_member(row.member_id, row.instance_id, subscription, assignor, again=again))
    if assignor == FAUST:
        return _without_changelogs(body, members, given)
    return ReadMembers(tuple(members), given)


def _without_changelogs(
    body: GroupGeneration, members: Sequence[ConsumerMember], given: Mapping[str, tuple[TopicPartition, ...]]
) -> ReadMembers | str:
    """What faust's members read and are given, without changelogs: of these, copies are given too."""
    changelogs: set[str] = set()
    for row in body.members:
        assignment = row.assignment
        read = decode_changelogs(assignment.user_data if isinstance(assignment, ConsumerAssignment) else None)
        if not isinstance(read, Decoded):
            return f"user data of the assignment of {row.member_id} cannot be decoded"
        changelogs |= read.value
    return ReadMembers(
        tuple(replace(one, topics=tuple(name for name in one.topics if name not in changelogs)) for one in members),
        {name: tuple(one for one in share if one[0] not in changelogs) for name, share in given.items()},
    )
