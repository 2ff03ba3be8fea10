"""Rows as they are read: group records as bytes, everything else as text."""

from rebalance_monitor.schemas.group_metadata import GroupMember, GroupMetadata
from rebalance_monitor.schemas.offsets_topic import (
    GROUP_TYPES,
    MEMBER_TYPES,
    MEMBERS_SHARE_TYPES,
    RECORD_TYPES,
    encode_group_metadata,
)
from rebalance_monitor.schemas.wire import write_int16, write_nullable_string
from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, OtherGroup, Row
from rebalance_monitor.streaming.core.reading.decoding import CLASSIC, Glance
from rebalance_monitor.streaming.spark.rows import RawRow, RecordAt, decoded_row, record_row

VERSION = 3


def raw_of(topic_id: str, row: Row) -> RawRow:
    """The row as whoever folds it gets it."""
    place = RecordAt(row.topic, row.partition, row.offset, row.timestamp_ms)
    body = row.body
    match body:
        case GroupGeneration():
            seen = Glance(row.group or "", type(body).__name__, body.protocol_type)
            return record_row(topic_id, place, seen, _key(CLASSIC, row), value_of(body))
        case GroupDeleted():
            seen = Glance(row.group or "", type(body).__name__, None)
            return record_row(topic_id, place, seen, _key(CLASSIC, row), None)
        case OtherGroup() if row.group is not None:
            seen = Glance(row.group, type(body).__name__, None)
            value = None if body.deleted else b"\x00\x00"
            return record_row(topic_id, place, seen, _key(_type(body), row, body.member), value)
        case _:
            return decoded_row(topic_id, row)


def value_of(body: GroupGeneration) -> bytes:
    """The bytes of a classic group's record."""
    members = tuple(
        GroupMember(
            member_id=one.member_id,
            instance_id=one.instance_id,
            client_id=one.client_id,
            client_host=one.client_host,
            rebalance_timeout_ms=one.rebalance_timeout_ms,
            session_timeout_ms=one.session_timeout_ms,
            subscription=one.subscription_bytes,
            assignment=one.assignment_bytes,
        )
        for one in body.members
    )
    return encode_group_metadata(
        GroupMetadata(
            version=VERSION,
            protocol_type=body.protocol_type,
            generation=body.generation,
            protocol=body.protocol,
            leader=body.leader,
            state_ms=body.state_ms,
            members=members,
        )
    )


def _key(kind: int, row: Row, member: str | None = None) -> bytes:
    out = bytearray()
    write_int16(out, kind)
    write_nullable_string(out, row.group)
    if member is not None:
        write_nullable_string(out, member)
    return bytes(out)


def _type(body: OtherGroup) -> int:
    """A record type that becomes this body."""
    wanted = GROUP_TYPES if body.whole else MEMBER_TYPES if body.member is not None else None
    for kind, (_, group_kind) in RECORD_TYPES.items():
        plain = kind not in GROUP_TYPES | MEMBER_TYPES | MEMBERS_SHARE_TYPES
        if group_kind == body.kind and (plain if wanted is None else kind in wanted):
            return kind
    raise LookupError(body)
