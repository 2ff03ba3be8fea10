"""The members of a consumer group's record as the assignors take them, and what each was given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.consumer.model import ConsumerMember
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, TopicPartition
from rebalance_monitor.schemas.faust_user_data import FAUST, decode_changelogs
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS, KEEPING
from rebalance_monitor.streaming.core.consumer.members import as_member
from rebalance_monitor.streaming.core.consumer.short_subscription import subscription_of
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow


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
