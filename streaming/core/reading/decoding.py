"""From a record of the coordinator's log to a `Row`: outcomes of `schemas` become row bodies, and nothing raises.

`None` means "of no interest": offset commits. Everything else gives a row, readable or not, so that a reader can count
what it handed over. Records of other topics are read by the lifecycle whose topics they are.
"""

from typing import NamedTuple, assert_never

from rebalance_monitor.schemas.errors import SchemaError
from rebalance_monitor.schemas.frozen import maker, replace
from rebalance_monitor.schemas.group_records import decode_group_record
from rebalance_monitor.schemas.offsets_topic import (
    GROUP_TYPES,
    MEMBER_TYPES,
    MEMBERS_SHARE_TYPES,
    RECORD_TYPES,
    Key,
    decode_key,
    protocol_type_of,
    read_group_metadata,
)
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Tombstone, Unreadable
from rebalance_monitor.streaming.core.model.records import (
    Body,
    GroupDeleted,
    GroupGeneration,
    MemberRow,
    OtherGroup,
    Row,
    Undecodable,
)
from .blobs import MemberBlobs

CLASSIC = 2
READ_KINDS = frozenset({"consumer", "share", "streams"})
"""Kinds of groups beside the classic ones whose records are read; those of all others are counted."""
# Enough to recognise a record's layout by eye; the coordinator's log holds no secrets.
SAMPLE_BYTES = 32

_OFFSET_COMMITS = (b"\x00\x00", b"\x00\x01")


def wanted_key_prefix(key: bytes | None) -> bool:
    """False for offset commits (record types 0 and 1): the two bytes that spare decoding most of the topic."""
    return key is None or key[:2] not in _OFFSET_COMMITS


def group_of_key(key: bytes | None) -> str | None:
    """The group that a key of the coordinator's log names, if it can be read."""
    outcome = decode_key(key)
    return outcome.value.group if isinstance(outcome, Decoded) else None


def counted_key(key: bytes | None) -> tuple[str, str] | None:
    """Group and kind, where a key is of a kind of group that is only counted."""
    outcome = decode_key(key)
    if not isinstance(outcome, Decoded) or outcome.value.type == CLASSIC:
        return None
    kind = RECORD_TYPES[outcome.value.type][1]
    return None if kind in READ_KINDS else (outcome.value.group, kind)


class Glance(NamedTuple):
    """What the key of a group's record says, and the first field of its value: enough to route it. `kind`: class name
    of the body that it is to become if its value can be read."""

    group: str
    kind: str
    protocol_type: str | None


def glance(key: bytes | None, value: bytes | None) -> Glance | None:
    """None for a key that names no group."""
    outcome = decode_key(key)
    if not isinstance(outcome, Decoded):
        return None
    found = outcome.value
    if found.type != CLASSIC:
        return Glance(found.group, OtherGroup.__name__, None)
    if value is None:
        return Glance(found.group, GroupDeleted.__name__, None)
    return Glance(found.group, GroupGeneration.__name__, protocol_type_of(value))


def decode_offsets_record(
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    *,
    blobs: MemberBlobs,
) -> Row | None:
    """A record of `__consumer_offsets`; None for offset commits."""
    if not wanted_key_prefix(key):
        return None
    group: str | None = None
    body: Body
    outcome = decode_key(key)
    match outcome:
        case Decoded(found):
            group = found.group
            body = _group_body(value, blobs) if found.type == CLASSIC else _other_group(found, key or b"", value)
        case Ignored():
            body = OtherGroup("unknown")
        case Unreadable(reason):
            body = _undecodable(f"key_{reason}", key)
        case Tombstone():
            body = OtherGroup("unknown")
        case _:
            assert_never(outcome)
    return _make_row(topic, partition, offset, timestamp_ms, group, body, "", None)


_make_row = maker(Row)


def _undecodable(reason: str, raw: bytes | None) -> Undecodable:
    return Undecodable(reason, len(raw or b""), (raw or b"")[:SAMPLE_BYTES].hex())


def _other_group(key: Key, raw_key: bytes, value: bytes | None) -> Body:
    there = key.type in MEMBER_TYPES or (value is not None and key.type in MEMBERS_SHARE_TYPES)
    member = key.member if there else None
    kind = RECORD_TYPES[key.type][1]
    body = OtherGroup(kind, member=member, whole=key.type in GROUP_TYPES, deleted=value is None)
    if kind not in READ_KINDS:
        return body
    outcome = decode_group_record(raw_key, value)
    match outcome:
        case Decoded(record):
            return replace(body, key=raw_key, value=value, unknown_tags=record.unknown_tags, record=record)
        case Unreadable(reason):
            return _undecodable(reason, value)
        case Ignored() | Tombstone():
            return body
        case _:
            assert_never(outcome)


def read_again(body: OtherGroup) -> OtherGroup:
    outcome = decode_group_record(body.key, body.value) if body.key else None
    return replace(body, record=outcome.value) if isinstance(outcome, Decoded) else body


def _group_body(value: bytes | None, blobs: MemberBlobs) -> Body:
    if value is None:
        return GroupDeleted()
    whole = blobs.read_whole(value)
    if whole is not None:
        fields, end = whole
        return _make_generation(*fields, 0, len(value) - end, None)
    try:
        read = read_group_metadata(value)
    except SchemaError as why:
        return _undecodable(why.reason, value)
    protocol_type, generation, protocol, leader, state_ms, rows = read.fields
    read_subscription, read_assignment = blobs.readers(protocol_type, protocol)
    members = [
        _make_member(
            member_id,
            instance_id,
            client_id,
            client_host,
            rebalance_ms,
            session_ms,
            read_subscription(subscription),
            read_assignment(assignment),
            subscription,
            assignment,
        )
        for member_id, instance_id, client_id, client_host, rebalance_ms, session_ms, subscription, assignment in rows
    ]
    left = len(value) - read.end
    return _make_generation(
        protocol_type, generation, protocol, leader, state_ms, tuple(members), read.unknown_tags, left, None
    )


_make_member = maker(MemberRow)
_make_generation = maker(GroupGeneration)
