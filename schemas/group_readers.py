"""Readers of the values of KIP-848 and share groups: from the fields of a record to its typed value."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .group_values import (
    AssignmentEpoch,
    ClassicMember,
    ClassicProtocol,
    ConsumerMember,
    Current,
    GroupEpoch,
    MemberState,
    NamedPartitions,
    NamedTopic,
    PartitionMetadata,
    Partitions,
    ResolvedRegex,
    ShareMember,
    ShareStates,
    State,
    Target,
    TopicMetadata,
    TopicPartitions,
    UnknownState,
)

FieldValues: TypeAlias = Mapping[str, Any]

STATES = {0: MemberState.STABLE, 1: MemberState.UNREVOKED, 2: MemberState.UNRELEASED}


def partitions_of(listed: Sequence[FieldValues]) -> Partitions:
    """Partitions by topic, in record order."""
    return tuple(
        TopicPartitions(one["topicId"], tuple(one["partitions"]), aligned_of(one, "partitions")) for one in listed
    )


def aligned_of(fields: FieldValues, beside: str) -> tuple[int, ...] | None:
    """Epochs that stand beside other numbers; None without them, or where their number differs."""
    epochs = fields.get("assignmentEpochs")
    return tuple(epochs) if epochs is not None and len(epochs) == len(fields[beside]) else None


def pairs_of(listed: Sequence[FieldValues]) -> tuple[tuple[str, str], ...]:
    """Keys and values, in record order."""
    return tuple((one["key"], one["value"]) for one in listed)


def state_of(code: int, states: Mapping[int, MemberState]) -> State:
    """The state behind a number, which the record types count differently."""
    return states.get(code, UnknownState(code))


def read_group_epoch(fields: FieldValues) -> GroupEpoch:
    """Type 3 or 11."""
    return GroupEpoch(fields["epoch"], fields.get("metadataHash"))


def read_metadata(fields: FieldValues) -> PartitionMetadata | ShareStates:
    """Type 4, 9 or 18; type 9 of 3.9 lists share states."""
    if "topics" not in fields:
        return read_share_states(fields)  # type 9 of 3.9
    return PartitionMetadata(
        tuple(
            TopicMetadata(
                one["topicId"],
                one["topicName"],
                one["numPartitions"],
                tuple((racks["partition"], tuple(racks["racks"])) for racks in one["partitionMetadata"]),
            )
            for one in fields["topics"]
        )
    )


def read_consumer_member(fields: FieldValues) -> ConsumerMember:
    """Type 5."""
    classic = fields.get("classicMemberMetadata")
    return ConsumerMember(
        instance_id=fields["instanceId"],
        rack=fields["rackId"],
        client_id=fields["clientId"],
        client_host=fields["clientHost"],
        names=tuple(fields["subscribedTopicNames"]),
        regex=fields["subscribedTopicRegex"] or None,
        rebalance_timeout_ms=fields["rebalanceTimeoutMs"],
        server_assignor=fields["serverAssignor"],
        classic=None
        if classic is None
        else ClassicMember(
            classic["sessionTimeoutMs"],
            tuple(ClassicProtocol(one["name"], one["metadata"]) for one in classic["supportedProtocols"]),
        ),
    )


def read_share_member(fields: FieldValues) -> ShareMember:
    """Type 10."""
    return ShareMember(
        rack=fields["rackId"],
        client_id=fields["clientId"],
        client_host=fields["clientHost"],
        names=tuple(fields["subscribedTopicNames"]),
    )


def read_assignment_epoch(fields: FieldValues) -> AssignmentEpoch:
    """Type 6, 12 or 20."""
    # Tag 0 is left out by brokers before 4.3 and where the epoch comes from a classic group.
    return AssignmentEpoch(fields["assignmentEpoch"], fields.get("assignmentTimestamp") or None)


def read_target(fields: FieldValues) -> Target:
    """Type 7 or 13."""
    return Target(partitions_of(fields["topicPartitions"]))


def read_current(fields: FieldValues) -> Current:
    """Type 8 or 14."""
    code = fields.get("state")
    return Current(
        epoch=fields["memberEpoch"],
        previous_epoch=fields["previousMemberEpoch"],
        state=None if code is None else state_of(code, STATES),
        assigned=partitions_of(fields["assignedPartitions"]),
        pending_revocation=partitions_of(fields.get("partitionsPendingRevocation", ())),
        pending_assignment=partitions_of(fields.get("partitionsPendingAssignment", ())),
        target_epoch=fields.get("targetMemberEpoch"),
    )


def read_regex(fields: FieldValues) -> ResolvedRegex:
    """Type 16."""
    return ResolvedRegex(tuple(fields["topics"]), fields["version"], fields["timestamp"])


def read_share_states(fields: FieldValues) -> ShareStates:
    """Type 15, and type 9 of 3.9."""

    def named(listed: Sequence[FieldValues]) -> tuple[NamedPartitions, ...]:
        return tuple(NamedPartitions(one["topicId"], one["topicName"], tuple(one["partitions"])) for one in listed)

    return ShareStates(
        initializing=named(fields.get("initializingTopics", ())),
        initialized=named(fields["initializedTopics"]),
        deleting=tuple(NamedTopic(one["topicId"], one["topicName"]) for one in fields["deletingTopics"]),
    )
