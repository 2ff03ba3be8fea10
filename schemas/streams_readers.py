"""Readers of the values of Streams groups: from the fields of a record to its typed value."""

from collections.abc import Sequence

from .group_readers import FieldValues, aligned_of, pairs_of, state_of
from .group_values import MemberState
from .streams_values import (
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

_STATES = {1: MemberState.STABLE, 2: MemberState.UNREVOKED, 3: MemberState.UNRELEASED}
_NOT_VALIDATED = -1


def tasks_of(listed: Sequence[FieldValues]) -> Tasks:
    """Tasks by subtopology, in record order."""
    return tuple(
        SubtopologyTasks(one["subtopologyId"], tuple(one["partitions"]), aligned_of(one, "partitions"))
        for one in listed
    )


def read_streams_epoch(fields: FieldValues) -> StreamsEpoch:
    """Type 17."""
    configs = fields.get("lastAssignmentConfigs")
    validated = fields.get("validatedTopologyEpoch", _NOT_VALIDATED)
    return StreamsEpoch(
        epoch=fields["epoch"],
        metadata_hash=fields["metadataHash"],
        validated_topology_epoch=None if validated == _NOT_VALIDATED else validated,
        configs=None if configs is None else pairs_of(configs),
    )


def read_streams_member(fields: FieldValues) -> StreamsMember:
    """Type 19."""
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
        client_tags=pairs_of(fields["clientTags"]),
    )


def read_streams_target(fields: FieldValues) -> StreamsTarget:
    """Type 21."""
    return StreamsTarget(
        active=tasks_of(fields["activeTasks"]),
        standby=tasks_of(fields["standbyTasks"]),
        warmup=tasks_of(fields["warmupTasks"]),
    )


def read_streams_current(fields: FieldValues) -> StreamsCurrent:
    """Type 22."""
    return StreamsCurrent(
        epoch=fields["memberEpoch"],
        previous_epoch=fields["previousMemberEpoch"],
        state=state_of(fields["state"], _STATES),
        active=tasks_of(fields["activeTasks"]),
        standby=tasks_of(fields["standbyTasks"]),
        warmup=tasks_of(fields["warmupTasks"]),
        active_pending_revocation=tasks_of(fields["activeTasksPendingRevocation"]),
        standby_pending_revocation=tasks_of(fields["standbyTasksPendingRevocation"]),
        warmup_pending_revocation=tasks_of(fields["warmupTasksPendingRevocation"]),
    )


def read_topology(fields: FieldValues) -> Topology:
    """Type 23."""
    return Topology(fields["epoch"], tuple(_subtopology(one) for one in fields["subtopologies"]))


def _subtopology(fields: FieldValues) -> SubtopologyInfo:
    """One subtopology of type 23."""
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


def _topic_infos(listed: Sequence[FieldValues]) -> tuple[TopicInfo, ...]:
    """Internal topics of a subtopology."""
    return tuple(
        TopicInfo(
            name=one["name"],
            partitions=one["partitions"],
            replication_factor=one["replicationFactor"],
            configs=pairs_of(one["topicConfigs"]),
        )
        for one in listed
    )


def read_resolved_topics(fields: FieldValues) -> ResolvedTopics:
    """Type 24."""
    return ResolvedTopics(
        fields["assignmentEpoch"],
        tuple((one["subtopologyId"], tuple(one["topicIds"])) for one in fields["resolvedTopicIdsBySubtopology"]),
    )
