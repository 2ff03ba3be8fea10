"""Every record of `__consumer_offsets` as a layout: keys and values of types 0 to 24, names as Kafka spells them.

Field order is wire order. `added`/`dropped` say which releases know a field that came or went without a new version:
the early-access formats of 3.6 and 3.7 share version 0 with what followed, and so do later additions.
"""

from collections.abc import Mapping

from .layouts import Array, Field, Group, Kind, Layout, Release
from .offsets_topic import GROUP_METADATA

STRING, BYTES, UUID = Kind.STRING, Kind.BYTES, Kind.UUID
INT8, INT16, UINT16, INT32, INT64 = Kind.INT8, Kind.INT16, Kind.UINT16, Kind.INT32, Kind.INT64
EA_END: Release = (3, 8)  # the first release after the early-access formats


def _value(name: str, *fields: Field) -> Layout:
    return Layout(name, fields, flexible_since=0)


def _text(name: str, *, nullable: bool = False) -> Field:
    return Field(name, STRING, nullable=nullable)


_KEY_VALUE = Array(Group((_text("key"), _text("value"))))


def _assignment_epochs(added: Release) -> Field:
    return Field("assignmentEpochs", Array(INT32), nullable=True, tag=0, added=added)


def _topic_partitions(*extra: Field) -> Array:
    return Array(Group((Field("topicId", UUID), Field("partitions", Array(INT32)), *extra)))


_CLIENT = (
    _text("instanceId", nullable=True),
    _text("rackId", nullable=True),
    _text("clientId"),
    _text("clientHost"),
)

_PARTITION_METADATA = Array(
    Group(
        (
            Field("topicId", UUID),
            _text("topicName"),
            Field("numPartitions", INT32),
            Field("partitionMetadata", Array(Group((Field("partition", INT32), Field("racks", Array(STRING)))))),
        )
    )
)

_CLASSIC_MEMBER = Group(
    (
        Field("sessionTimeoutMs", INT32),
        Field("supportedProtocols", Array(Group((_text("name"), Field("metadata", BYTES))))),
    )
)
_EA_ASSIGNOR = Group(
    (
        _text("name"),
        Field("minimumVersion", INT16),
        Field("maximumVersion", INT16),
        Field("reason", INT8),
        Field("version", INT16),
        Field("metadata", BYTES),
    )
)

_NAMED_PARTITIONS = Array(Group((Field("topicId", UUID), _text("topicName"), Field("partitions", Array(INT32)))))
_NAMED_TOPICS = Array(Group((Field("topicId", UUID), _text("topicName"))))
_SHARE_STATE = (
    Field("initializingTopics", _NAMED_PARTITIONS, added=(4, 1)),
    Field("initializedTopics", _NAMED_PARTITIONS),
    Field("deletingTopics", _NAMED_TOPICS),
)

_TASKS = Array(Group((_text("subtopologyId"), Field("partitions", Array(INT32)))))
_DATED_TASKS = Array(Group((_text("subtopologyId"), Field("partitions", Array(INT32)), _assignment_epochs((4, 2)))))
_TOPIC_INFO = Array(
    Group(
        (
            _text("name"),
            Field("partitions", INT32),
            Field("replicationFactor", INT16),
            Field("topicConfigs", _KEY_VALUE),
        )
    )
)
_COPARTITION_GROUP = Group(
    (
        Field("sourceTopics", Array(INT16)),
        Field("sourceTopicRegex", Array(INT16)),
        Field("repartitionSourceTopics", Array(INT16)),
    )
)
_SUBTOPOLOGY = Group(
    (
        _text("subtopologyId"),
        Field("sourceTopics", Array(STRING)),
        Field("sourceTopicRegex", Array(STRING)),
        Field("stateChangelogTopics", _TOPIC_INFO),
        Field("repartitionSinkTopics", Array(STRING)),
        Field("repartitionSourceTopics", _TOPIC_INFO),
        Field("copartitionGroups", Array(_COPARTITION_GROUP)),
    )
)

_ASSIGNMENT_TIME = Field("assignmentTimestamp", INT64, tag=0, added=(4, 3))

VALUES: Mapping[int, Layout] = {
    0: Layout(
        "LegacyOffsetCommitValue",
        (Field("offset", INT64), _text("metadata"), Field("commitTimestamp", INT64)),
    ),
    1: Layout(
        "OffsetCommitValue",
        (
            Field("offset", INT64),
            Field("leaderEpoch", INT32, since=3),
            _text("metadata"),
            Field("commitTimestamp", INT64),
            Field("expireTimestamp", INT64, since=1, until=1),
            Field("topicId", UUID, since=4, tag=0, added=(4, 1)),
        ),
        newest=4,
        flexible_since=4,
    ),
    2: GROUP_METADATA,
    3: _value(
        "ConsumerGroupMetadataValue",
        Field("epoch", INT32),
        Field("metadataHash", INT64, tag=0, added=(4, 1)),
    ),
    4: _value(
        "ConsumerGroupPartitionMetadataValue",
        Field("epoch", INT32, dropped=EA_END),
        Field("topics", _PARTITION_METADATA),
    ),
    5: _value(
        "ConsumerGroupMemberMetadataValue",
        *_CLIENT,
        Field("subscribedTopicNames", Array(STRING)),
        _text("subscribedTopicRegex", nullable=True),
        Field("rebalanceTimeoutMs", INT32),
        _text("serverAssignor", nullable=True),
        Field("assignors", Array(_EA_ASSIGNOR), dropped=EA_END),
        Field("classicMemberMetadata", _CLASSIC_MEMBER, nullable=True, tag=0, added=EA_END),
    ),
    6: _value("ConsumerGroupTargetAssignmentMetadataValue", Field("assignmentEpoch", INT32), _ASSIGNMENT_TIME),
    7: _value(
        "ConsumerGroupTargetAssignmentMemberValue",
        Field("error", INT8, dropped=EA_END),
        Field("topicPartitions", _topic_partitions()),
        Field("metadataVersion", INT16, dropped=EA_END),
        Field("metadataBytes", BYTES, dropped=EA_END),
    ),
    8: _value(
        "ConsumerGroupCurrentMemberAssignmentValue",
        Field("memberEpoch", INT32),
        Field("previousMemberEpoch", INT32),
        Field("targetMemberEpoch", INT32, dropped=EA_END),
        Field("state", INT8, added=EA_END),
        Field("assignedPartitions", _topic_partitions(_assignment_epochs((4, 3)))),
        Field("partitionsPendingRevocation", _topic_partitions(_assignment_epochs((4, 3)))),
        Field("partitionsPendingAssignment", _topic_partitions(), dropped=EA_END),
        Field("error", INT8, dropped=EA_END),
        Field("metadataVersion", INT16, dropped=EA_END),
        Field("metadataBytes", BYTES, dropped=EA_END),
    ),
    9: _value(
        "ShareGroupPartitionMetadataValue",
        Field("initializedTopics", _NAMED_PARTITIONS, dropped=(4, 0)),
        Field("deletingTopics", _NAMED_TOPICS, dropped=(4, 0)),
        Field("topics", _PARTITION_METADATA, added=(4, 0)),
    ),
    10: _value(
        "ShareGroupMemberMetadataValue",
        *_CLIENT[1:],
        Field("subscribedTopicNames", Array(STRING)),
    ),
    11: _value("ShareGroupMetadataValue", Field("epoch", INT32), Field("metadataHash", INT64, added=(4, 1))),
    12: _value("ShareGroupTargetAssignmentMetadataValue", Field("assignmentEpoch", INT32), _ASSIGNMENT_TIME),
    13: _value("ShareGroupTargetAssignmentMemberValue", Field("topicPartitions", _topic_partitions())),
    14: _value(
        "ShareGroupCurrentMemberAssignmentValue",
        Field("memberEpoch", INT32),
        Field("previousMemberEpoch", INT32),
        Field("state", INT8),
        Field("assignedPartitions", _topic_partitions()),
    ),
    15: _value("ShareGroupStatePartitionMetadataValue", *_SHARE_STATE),
    16: _value(
        "ConsumerGroupRegularExpressionValue",
        Field("topics", Array(STRING)),
        Field("version", INT64),
        Field("timestamp", INT64),
    ),
    17: _value(
        "StreamsGroupMetadataValue",
        Field("epoch", INT32),
        Field("metadataHash", INT64),
        Field("validatedTopologyEpoch", INT32, tag=0, default=-1, added=(4, 2)),
        Field("lastAssignmentConfigs", _KEY_VALUE, nullable=True, tag=1, added=(4, 2)),
    ),
    18: _value("StreamsGroupPartitionMetadataValue", Field("topics", _PARTITION_METADATA)),
    19: _value(
        "StreamsGroupMemberMetadataValue",
        *_CLIENT,
        Field("rebalanceTimeoutMs", INT32),
        Field("topologyEpoch", INT32),
        _text("processId"),
        Field("userEndpoint", Group((_text("host"), Field("port", UINT16))), nullable=True),
        Field("clientTags", _KEY_VALUE),
    ),
    20: _value("StreamsGroupTargetAssignmentMetadataValue", Field("assignmentEpoch", INT32), _ASSIGNMENT_TIME),
    21: _value(
        "StreamsGroupTargetAssignmentMemberValue",
        Field("activeTasks", _TASKS),
        Field("standbyTasks", _TASKS),
        Field("warmupTasks", _TASKS),
    ),
    22: _value(
        "StreamsGroupCurrentMemberAssignmentValue",
        Field("memberEpoch", INT32),
        Field("previousMemberEpoch", INT32),
        Field("state", INT8),
        Field("activeTasks", _DATED_TASKS),
        Field("standbyTasks", _DATED_TASKS),
        Field("warmupTasks", _DATED_TASKS),
        Field("activeTasksPendingRevocation", _DATED_TASKS),
        Field("standbyTasksPendingRevocation", _DATED_TASKS),
        Field("warmupTasksPendingRevocation", _DATED_TASKS),
    ),
    23: _value("StreamsGroupTopologyValue", Field("epoch", INT32), Field("subtopologies", Array(_SUBTOPOLOGY))),
    # No release up to 4.3 knows it: its brokers skip such a record.
    24: _value(
        "StreamsGroupTargetAssignmentResolvedTopicIdsValue",
        Field("assignmentEpoch", INT32),
        Field(
            "resolvedTopicIdsBySubtopology",
            Array(Group((_text("subtopologyId"), Field("topicIds", Array(UUID))))),
        ),
    ),
}

_GROUP, _GROUP_ID = _text("group"), _text("groupId")


def _key(name: str, *fields: Field) -> Layout:
    return Layout(name, fields)


_OFFSET_KEY = _key("OffsetCommitKey", _GROUP, _text("topic"), Field("partition", INT32))
_GROUP_KEY = _key("GroupKey", _GROUP_ID)
_MEMBER_KEY = _key("MemberKey", _GROUP_ID, _text("memberId"))

KEYS: Mapping[int, Layout] = {
    **{type_: _GROUP_KEY for type_ in VALUES},
    **{type_: _MEMBER_KEY for type_ in (5, 7, 8, 10, 13, 14, 19, 21, 22)},
    0: _OFFSET_KEY,
    1: _OFFSET_KEY,
    2: _key("GroupMetadataKey", _GROUP),
    16: _key("ConsumerGroupRegularExpressionKey", _GROUP_ID, _text("regularExpression")),
}
