"""`__consumer_offsets`: record keys, and the value of a classic group's record.

Key = int16 record type, then plain strings (and a partition for offset commits). Value = int16 version, then fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from . import wire
from .compiled import Row, row_of, row_reader
from .errors import SchemaError, UnsupportedVersion, unreadable
from .frozen import maker
from .group_metadata import GroupMember, GroupMetadata
from .java_text import decode_utf8
from .layouts import UNKNOWN_TAGS, Array, Field, Group, Kind, Layout
from .outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from .struct_writers import writer
from .structs import reader

# Record type -> (Kafka's name of the record, the kind of group it belongs to).
RECORD_TYPES: Mapping[int, tuple[str, str]] = {
    0: ("LegacyOffsetCommit", "offset_commit"),
    1: ("OffsetCommit", "offset_commit"),
    2: ("GroupMetadata", "classic"),
    3: ("ConsumerGroupMetadata", "consumer"),
    4: ("ConsumerGroupPartitionMetadata", "consumer"),
    5: ("ConsumerGroupMemberMetadata", "consumer"),
    6: ("ConsumerGroupTargetAssignmentMetadata", "consumer"),
    7: ("ConsumerGroupTargetAssignmentMember", "consumer"),
    8: ("ConsumerGroupCurrentMemberAssignment", "consumer"),
    9: ("ShareGroupPartitionMetadata", "share"),
    10: ("ShareGroupMemberMetadata", "share"),
    11: ("ShareGroupMetadata", "share"),
    12: ("ShareGroupTargetAssignmentMetadata", "share"),
    13: ("ShareGroupTargetAssignmentMember", "share"),
    14: ("ShareGroupCurrentMemberAssignment", "share"),
    15: ("ShareGroupStatePartitionMetadata", "share"),
    16: ("ConsumerGroupRegularExpression", "consumer"),
    17: ("StreamsGroupMetadata", "streams"),
    18: ("StreamsGroupPartitionMetadata", "streams"),
    19: ("StreamsGroupMemberMetadata", "streams"),
    20: ("StreamsGroupTargetAssignmentMetadata", "streams"),
    21: ("StreamsGroupTargetAssignmentMember", "streams"),
    22: ("StreamsGroupCurrentMemberAssignment", "streams"),
    23: ("StreamsGroupTopology", "streams"),
    24: ("StreamsGroupTargetAssignmentResolvedTopicIds", "streams"),
}

GROUP_TYPES = frozenset({3, 11, 17})
"""Record types that state a group's epoch; a tombstone of one of them deletes the group."""
MEMBER_TYPES = frozenset({5, 10, 19})
"""Record types whose key names a member; a tombstone of one of them says that the member is gone."""

MEMBERS_SHARE_TYPES = frozenset({7, 8, 13, 14, 21, 22})
"""Record types that state what a member is to have or has: it is there. Their tombstones do not say it is gone."""

_WITH_TOPIC = frozenset({0, 1})
# The second string is a member id, except for type 16 where it is a regular expression.
_WITH_MEMBER = frozenset({5, 7, 8, 10, 13, 14, 16, 19, 21, 22})


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A record key. `name` is Kafka's name of the record; `member` is the regular expression for type 16."""

    type: int
    name: str
    group: str
    member: str | None = None
    topic: str | None = None
    partition: int | None = None


def decode_key(key: bytes | None) -> Outcome[Key]:
    """The key; `Ignored("unknown_type <n>")` for a type nobody has described."""
    if key is None:
        return Unreadable("null_key")
    named = _GROUPS_ALONE.get(key[:2])
    # The hottest keys of all, those of classic groups, are a group's name and no more.
    if named is not None and len(key) - 4 == int.from_bytes(key[2:4], "big") <= wire.MAX_STRING_BYTES:
        return _decoded(_make_key(*named, decode_utf8(key[4:]), None, None, None), 0)
    try:
        type_, pos = wire.read_int16(key, 0)
        if type_ not in RECORD_TYPES:
            return Ignored(f"unknown_type {type_}")
        name = RECORD_TYPES[type_][0]
        group, pos = wire.read_string(key, pos)
        member = topic = partition = None
        if type_ in _WITH_TOPIC:
            topic, pos = wire.read_string(key, pos)
            partition, pos = wire.read_int32(key, pos)
        elif type_ in _WITH_MEMBER:
            member, pos = wire.read_string(key, pos)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(_make_key(type_, name, group, member, topic, partition), len(key) - pos)


_GROUPS_ALONE = {
    type_.to_bytes(2, "big"): (type_, name)
    for type_, (name, _) in RECORD_TYPES.items()
    if type_ not in _WITH_TOPIC | _WITH_MEMBER
}
_make_key = maker(Key)
_decoded = maker(Decoded)


GROUP_METADATA = Layout(
    "GroupMetadata",
    newest=4,
    flexible_since=4,
    fields=(
        Field("protocolType", Kind.STRING),
        Field("generation", Kind.INT32),
        Field("protocol", Kind.STRING, nullable=True),
        Field("leader", Kind.STRING, nullable=True),
        Field("currentStateTimestamp", Kind.INT64, since=2, default=-1),
        Field(
            "members",
            Array(
                Group(
                    (
                        Field("memberId", Kind.STRING),
                        Field("groupInstanceId", Kind.STRING, since=3, nullable=True),
                        Field("clientId", Kind.STRING),
                        Field("clientHost", Kind.STRING),
                        Field("rebalanceTimeout", Kind.INT32, since=1, default=-1),
                        Field("sessionTimeout", Kind.INT32),
                        Field("subscription", Kind.BYTES),
                        Field("assignment", Kind.BYTES),
                    )
                )
            ),
        ),
    ),
)


_make_member = maker(GroupMember)


def decode_group_metadata(value: bytes | None) -> Outcome[GroupMetadata]:
    """The value of a type-2 record, v0-v4; bytes left over are reported as `remaining`, as Kafka accepts them."""
    if value is None:
        return Tombstone()
    try:
        version, fields, end, _ = read_group_metadata(value)
    except SchemaError as why:
        return unreadable(why)
    protocol_type, generation, protocol, leader, state_ms, rows = fields
    group = GroupMetadata(
        version=version,
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        state_ms=state_ms,
        members=tuple([_make_member(*row) for row in rows]),
    )
    return Decoded(group, len(value) - end)


class GroupRead(NamedTuple):
    """A group's record as it was read: the fields of `GROUP_METADATA` in order, members as tuples with the fields of
    `GroupMember`; where it ended; how many tagged fields nobody has described."""

    version: int
    fields: Row
    end: int
    unknown_tags: int


def protocol_type_of(value: bytes) -> str | None:
    """The protocol type of a group's record, its first field, without reading the rest; None if it cannot be read."""
    try:
        version, pos = wire.read_int16(value, 0)
        if version < GROUP_METADATA.flexible_since:
            return wire.read_string(value, pos)[0]
        return wire.read_nullable_compact_string(value, pos)[0]
    except SchemaError:
        return None


def read_group_metadata(value: bytes) -> GroupRead:
    """As `decode_group_metadata`, for the hot path, or SchemaError."""
    version, pos = wire.read_int16(value, 0)
    unknown = 0
    if version < GROUP_METADATA.flexible_since:
        (*head, rows), end = row_reader(GROUP_METADATA, version)(value, pos)
    else:
        values, end = reader(GROUP_METADATA, version)(value, pos)
        *head, rows = row_of(GROUP_METADATA.fields, values)
        unknown = sum(len(one.get(UNKNOWN_TAGS, ())) for one in (values, *values["members"]))
    if UNSET_MS in [row[_REBALANCE] for row in rows]:
        # v0 has no rebalance timeout, and -1 means unset: the session timeout counts then.
        rows = [
            (*row[:_REBALANCE], row[_REBALANCE + 1], *row[_REBALANCE + 1 :]) if row[_REBALANCE] == UNSET_MS else row
            for row in rows
        ]
    return GroupRead(version, (*head, rows), end, unknown)


UNSET_MS = -1
_REBALANCE = 4  # place of the rebalance timeout in a member's row; the session timeout follows


def encode_group_metadata(group: GroupMetadata) -> bytes:
    """The bytes of `group` in its own version; raises UnsupportedVersion for a version outside 0-4."""
    if not GROUP_METADATA.oldest <= group.version <= GROUP_METADATA.newest:
        raise UnsupportedVersion(group.version)
    out = bytearray()
    wire.write_int16(out, group.version)
    members = [
        {
            "memberId": m.member_id,
            "groupInstanceId": m.instance_id,
            "clientId": m.client_id,
            "clientHost": m.client_host,
            "rebalanceTimeout": m.rebalance_timeout_ms,
            "sessionTimeout": m.session_timeout_ms,
            "subscription": m.subscription,
            "assignment": m.assignment,
        }
        for m in group.members
    ]
    writer(GROUP_METADATA, group.version)(
        out,
        {
            "protocolType": group.protocol_type,
            "generation": group.generation,
            "protocol": group.protocol,
            "leader": group.leader,
            "currentStateTimestamp": group.state_ms,
            "members": members,
        },
    )
    return bytes(out)
