"""Records of KIP-848, share and Streams groups (types 3 to 24 but the classic ones) as typed values.

`decode_group_record` reads key and value; a tombstone's value is None. Layouts that changed without a new version are
tried as `schemas.coordinator_records` does. A current assignment whose state no release knows is also tried as the
early-access record, which has another layout under the same version.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from schemas.coordinator_records import Record, decode_record
from schemas.group_values import (
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
from schemas.layouts import Release
from schemas.outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from schemas.streams_values import (
    CopartitionGroup,
    ResolvedTopics,
    StreamsCurrent,
    StreamsEpoch,
    StreamsMember,
    StreamsTarget,
    SubtopologyInfo,
    SubtopologyTasks,
    Tasks,
    TopicInfo,
    Topology,
)

Value: TypeAlias = (
    GroupEpoch
    | PartitionMetadata
    | ConsumerMember
    | ShareMember
    | AssignmentEpoch
    | Target
    | Current
    | ResolvedRegex
    | ShareStates
    | StreamsEpoch
    | StreamsMember
    | StreamsTarget
    | StreamsCurrent
    | Topology
    | ResolvedTopics
)
_Fields: TypeAlias = Mapping[str, Any]

EARLY_ACCESS: Release = (3, 7)
_CURRENT, _STREAMS_CURRENT = 8, 22
_NOT_VALIDATED = -1
_STATES = {0: MemberState.STABLE, 1: MemberState.UNREVOKED, 2: MemberState.UNRELEASED}
_STREAMS_STATES = {1: MemberState.STABLE, 2: MemberState.UNREVOKED, 3: MemberState.UNRELEASED}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """One record. `member` is the regular expression for type 16 and None where the key names none.

    `value` is None for a tombstone. `unknown_tags` counts tagged fields that nobody has described.
    """

    type: int
    group: str
    member: str | None
    value: Value | None
    unknown_tags: int = 0


def decode_group_record(key: bytes | None, value: bytes | None, release: Release | None = None) -> Outcome[GroupRecord]:
    """The record as brokers of `release` read it, or by trial where none is given.

    `Ignored` for offset commits, classic groups and unknown types; `remaining` counts the value's bytes left over.
    """
    outcome = decode_record(key, value, release)
    match outcome:
        case Decoded(record):
            read = _READERS.get(record.type)
            if read is None:
                return Ignored(f"not a record of such a group: type {record.type}")
            if release is None and _odd_state(record):
                record = _as_early_access(key, value, record)
            return _typed(record, read)
        case Tombstone() | Ignored() | Unreadable():
            return outcome
        case _:
            assert_never(outcome)


def _odd_state(record: Record) -> bool:
    fields = record.fields
    return record.type == _CURRENT and fields is not None and fields.get("state", 0) not in _STATES


def _as_early_access(key: bytes | None, value: bytes | None, record: Record) -> Record:
    early = decode_record(key, value, EARLY_ACCESS)
    return early.value if isinstance(early, Decoded) and early.value.value_remaining == 0 else record


def _typed(record: Record, read: Callable[[_Fields], Value]) -> Outcome[GroupRecord]:
    typed = GroupRecord(
        type=record.type,
        group=record.key["groupId"],
        member=record.key.get("memberId", record.key.get("regularExpression")),
        value=None if record.fields is None else read(record.fields),
        unknown_tags=len(record.unknown_tags),
    )
    return Decoded(typed, record.value_remaining)


def _partitions(listed: Sequence[_Fields]) -> Partitions:
    return tuple(
        TopicPartitions(one["topicId"], tuple(one["partitions"]), _aligned(one, "partitions")) for one in listed
    )


def _tasks(listed: Sequence[_Fields]) -> Tasks:
    return tuple(
        SubtopologyTasks(one["subtopologyId"], tuple(one["partitions"]), _aligned(one, "partitions")) for one in listed
    )


def _aligned(fields: _Fields, beside: str) -> tuple[int, ...] | None:
    """Epochs that stand beside other numbers; None without them, or where their number differs."""
    epochs = fields.get("assignmentEpochs")
    return tuple(epochs) if epochs is not None and len(epochs) == len(fields[beside]) else None


def _pairs(listed: Sequence[_Fields]) -> tuple[tuple[str, str], ...]:
    return tuple((one["key"], one["value"]) for one in listed)


def _state(code: int, states: Mapping[int, MemberState]) -> State:
    return states.get(code, UnknownState(code))


def _group_epoch(fields: _Fields) -> GroupEpoch:
    return GroupEpoch(fields["epoch"], fields.get("metadataHash"))


def _metadata(fields: _Fields) -> PartitionMetadata | ShareStates:
    if "topics" not in fields:
        return _share_states(fields)  # type 9 of 3.9
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


def _consumer_member(fields: _Fields) -> ConsumerMember:
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


def _share_member(fields: _Fields) -> ShareMember:
    return ShareMember(
        rack=fields["rackId"],
        client_id=fields["clientId"],
        client_host=fields["clientHost"],
        names=tuple(fields["subscribedTopicNames"]),
    )


def _assignment_epoch(fields: _Fields) -> AssignmentEpoch:
    # Tag 0 is left out by brokers before 4.3 and where the epoch comes from a classic group.
    return AssignmentEpoch(fields["assignmentEpoch"], fields.get("assignmentTimestamp") or None)


def _target(fields: _Fields) -> Target:
    return Target(_partitions(fields["topicPartitions"]))


def _current(fields: _Fields) -> Current:
    code = fields.get("state")
    return Current(
        epoch=fields["memberEpoch"],
        previous_epoch=fields["previousMemberEpoch"],
        state=None if code is None else _state(code, _STATES),
        assigned=_partitions(fields["assignedPartitions"]),
        pending_revocation=_partitions(fields.get("partitionsPendingRevocation", ())),
        pending_assignment=_partitions(fields.get("partitionsPendingAssignment", ())),
        target_epoch=fields.get("targetMemberEpoch"),
    )


def _regex(fields: _Fields) -> ResolvedRegex:
    return ResolvedRegex(tuple(fields["topics"]), fields["version"], fields["timestamp"])


def _share_states(fields: _Fields) -> ShareStates:
    def named(listed: Sequence[_Fields]) -> tuple[NamedPartitions, ...]:
        return tuple(NamedPartitions(one["topicId"], one["topicName"], tuple(one["partitions"])) for one in listed)

    return ShareStates(
        initializing=named(fields.get("initializingTopics", ())),
        initialized=named(fields["initializedTopics"]),
        deleting=tuple(NamedTopic(one["topicId"], one["topicName"]) for one in fields["deletingTopics"]),
    )


def _streams_epoch(fields: _Fields) -> StreamsEpoch:
    configs = fields.get("lastAssignmentConfigs")
    validated = fields.get("validatedTopologyEpoch", _NOT_VALIDATED)
    return StreamsEpoch(
        epoch=fields["epoch"],
        metadata_hash=fields["metadataHash"],
        validated_topology_epoch=None if validated == _NOT_VALIDATED else validated,
        configs=None if configs is None else _pairs(configs),
    )


def _streams_member(fields: _Fields) -> StreamsMember:
    endpoint = fields["userEndpoint"]
    return StreamsMember(
        instance_id=fields["instanceId"],
        rack=fields["rackId"],
        client_id=fields["clientId"],
        client_host=fields["clientHost"],
        rebalance_timeout_ms=fields["rebalanceTimeoutMs"],
        topology_epoch=fields["topologyEpoch"],
        process_id=fields["processId"],
        endpoint=None if endpoint is None else (endpoint["host"], endpoint["port"]),
        client_tags=_pairs(fields["clientTags"]),
    )


def _streams_target(fields: _Fields) -> StreamsTarget:
    return StreamsTarget(
        active=_tasks(fields["activeTasks"]),
        standby=_tasks(fields["standbyTasks"]),
        warmup=_tasks(fields["warmupTasks"]),
    )


def _streams_current(fields: _Fields) -> StreamsCurrent:
    return StreamsCurrent(
        epoch=fields["memberEpoch"],
        previous_epoch=fields["previousMemberEpoch"],
        state=_state(fields["state"], _STREAMS_STATES),
        active=_tasks(fields["activeTasks"]),
        standby=_tasks(fields["standbyTasks"]),
        warmup=_tasks(fields["warmupTasks"]),
        active_pending_revocation=_tasks(fields["activeTasksPendingRevocation"]),
        standby_pending_revocation=_tasks(fields["standbyTasksPendingRevocation"]),
        warmup_pending_revocation=_tasks(fields["warmupTasksPendingRevocation"]),
    )


def _topology(fields: _Fields) -> Topology:
    return Topology(fields["epoch"], tuple(_subtopology(one) for one in fields["subtopologies"]))


def _subtopology(fields: _Fields) -> SubtopologyInfo:
    return SubtopologyInfo(
        id=fields["subtopologyId"],
        sources=tuple(fields["sourceTopics"]),
        source_regexes=tuple(fields["sourceTopicRegex"]),
        changelogs=_topic_infos(fields["stateChangelogTopics"]),
        repartition_sinks=tuple(fields["repartitionSinkTopics"]),
        repartition_sources=_topic_infos(fields["repartitionSourceTopics"]),
        copartition_groups=tuple(
            CopartitionGroup(
                sources=tuple(one["sourceTopics"]),
                source_regexes=tuple(one["sourceTopicRegex"]),
                repartition_sources=tuple(one["repartitionSourceTopics"]),
            )
            for one in fields["copartitionGroups"]
        ),
    )


def _topic_infos(listed: Sequence[_Fields]) -> tuple[TopicInfo, ...]:
    return tuple(
        TopicInfo(
            name=one["name"],
            partitions=one["partitions"],
            replication_factor=one["replicationFactor"],
            configs=_pairs(one["topicConfigs"]),
        )
        for one in listed
    )


def _resolved_topics(fields: _Fields) -> ResolvedTopics:
    return ResolvedTopics(
        fields["assignmentEpoch"],
        tuple((one["subtopologyId"], tuple(one["topicIds"])) for one in fields["resolvedTopicIdsBySubtopology"]),
    )


_READERS: Mapping[int, Callable[[_Fields], Value]] = {
    3: _group_epoch,
    4: _metadata,
    5: _consumer_member,
    6: _assignment_epoch,
    7: _target,
    _CURRENT: _current,
    9: _metadata,
    10: _share_member,
    11: _group_epoch,
    12: _assignment_epoch,
    13: _target,
    14: _current,
    15: _share_states,
    16: _regex,
    17: _streams_epoch,
    18: _metadata,
    19: _streams_member,
    20: _assignment_epoch,
    21: _streams_target,
    _STREAMS_CURRENT: _streams_current,
    23: _topology,
    24: _resolved_topics,
}
