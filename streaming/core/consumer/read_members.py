"""The members of a consumer group's record as the assignors take them, and what each was given."""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_monitor.assignors.consumer.model import ConsumerMember
from rebalance_monitor.schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription, TopicPartition
from rebalance_monitor.streaming.core.consumer.assignors import KEEPING
from rebalance_monitor.streaming.core.consumer.members import as_member
from rebalance_monitor.streaming.core.model.records import GroupGeneration


@dataclass(frozen=True, slots=True)
class ReadMembers:
    """`given`: partitions by member id, in the order of the bytes."""

    members: tuple[ConsumerMember, ...]
    given: Mapping[str, tuple[TopicPartition, ...]]


def read_members(body: GroupGeneration) -> ReadMembers | str:
    """The members of a generation; a sentence if one of them cannot be read."""
    assignor = body.protocol or ""
    again = assignor in KEEPING
    members, given = [], {}
    for row in body.members:
        if not isinstance(row.subscription, ConsumerSubscription):
            return f"subscription of {row.member_id} cannot be decoded"
        if not isinstance(row.assignment, ConsumerAssignment):
            return f"assignment of {row.member_id} cannot be decoded"
        members.append(as_member(row.member_id, row.instance_id, row.subscription, assignor, again=again))
        given[row.member_id] = row.assignment.partitions
    return ReadMembers(tuple(members), given)
