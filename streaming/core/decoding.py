"""The one boundary from a raw record to a `Row`: outcomes of `schemas` become row bodies, and nothing raises.

`None` means "of no interest": offset commits, and the status topic's entries about topics. Everything else gives a row,
readable or not, so that a reader can count what it handed over.
"""

from functools import lru_cache
from typing import assert_never

from schemas import connect_protocol, consumer_protocol
from schemas.connect_topics import decode_config_record, decode_status_record
from schemas.group_metadata import GroupMember, GroupMetadata
from schemas.offsets_topic import RECORD_TYPES, decode_group_metadata, decode_key
from schemas.outcomes import Decoded, Ignored, Tombstone, Unreadable
from streaming.core.records import (
    Assignment,
    BadBlob,
    Body,
    ConfigChange,
    GroupDeleted,
    GroupGeneration,
    MemberRow,
    OtherGroup,
    Row,
    StatusChange,
    Subscription,
    Undecodable,
)

CLASSIC = 2
# Enough to recognise a record's layout by eye; only for the coordinator's log, which holds no secrets of Connect.
SAMPLE_BYTES = 32
# Blobs of members that did not change are decoded once. Bounded: a Connect blob of a big group can have 100 kB.
BLOB_CACHE_ENTRIES = 2048

_OFFSET_COMMITS = (b"\x00\x00", b"\x00\x01")


def wanted_key_prefix(key: bytes | None) -> bool:
    """False for offset commits (record types 0 and 1): the two bytes that spare decoding most of the topic."""
    return key is None or key[:2] not in _OFFSET_COMMITS


def decode_offsets_record(
    topic: str, partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None
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
            body = _group_body(value) if found.type == CLASSIC else OtherGroup(RECORD_TYPES[found.type][1])
        case Ignored():
            body = OtherGroup("unknown")
        case Unreadable(reason):
            body = _undecodable(f"key_{reason}", key)
        case Tombstone():
            body = OtherGroup("unknown")
        case _:
            assert_never(outcome)
    return Row(topic=topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms, group=group, body=body)


def _undecodable(reason: str, raw: bytes | None) -> Undecodable:
    return Undecodable(reason, len(raw or b""), (raw or b"")[:SAMPLE_BYTES].hex())


def _group_body(value: bytes | None) -> Body:
    outcome = decode_group_metadata(value)
    match outcome:
        case Decoded(group):
            return _generation(group)
        case Tombstone():
            return GroupDeleted()
        case Unreadable(reason):
            return _undecodable(reason, value)
        case Ignored(what):
            return _undecodable(what, value)
        case _:
            assert_never(outcome)


def _generation(group: GroupMetadata) -> GroupGeneration:
    return GroupGeneration(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        state_ms=group.state_ms,
        members=tuple(_member(group.protocol_type, group.protocol, m) for m in group.members),
    )


def _member(protocol_type: str, protocol: str | None, member: GroupMember) -> MemberRow:
    return MemberRow(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.session_timeout_ms,
        subscription=_subscription(protocol_type, protocol == "static", member.subscription),
        assignment=_assignment(protocol_type, member.assignment),
        subscription_bytes=member.subscription,
        assignment_bytes=member.assignment,
    )


@lru_cache(maxsize=BLOB_CACHE_ENTRIES)
def _subscription(protocol_type: str, static: bool, blob: bytes) -> Subscription:
    match protocol_type:
        case "connect":
            if not blob:
                return BadBlob("empty")
            worker = connect_protocol.decode_worker_state(blob, static=static)
            return worker.value if isinstance(worker, Decoded) else _bad(worker)
        case "consumer":
            if not blob:
                return BadBlob("empty")
            consumer = consumer_protocol.decode_subscription(blob)
            return consumer.value if isinstance(consumer, Decoded) else _bad(consumer)
        case _:
            return None


@lru_cache(maxsize=BLOB_CACHE_ENTRIES)
def _assignment(protocol_type: str, blob: bytes) -> Assignment:
    match protocol_type:
        case "connect":
            if not blob:
                return BadBlob("empty")
            worker = connect_protocol.decode_assignment(blob)
            return worker.value if isinstance(worker, Decoded) else _bad(worker)
        case "consumer":
            if not blob:
                return BadBlob("empty")
            consumer = consumer_protocol.decode_assignment(blob)
            return consumer.value if isinstance(consumer, Decoded) else _bad(consumer)
        case _:
            return None


def _bad(outcome: Tombstone | Ignored | Unreadable) -> BadBlob:
    return BadBlob(outcome.reason if isinstance(outcome, Unreadable) else "empty")


def decode_config_row(
    topic: str, partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None
) -> Row | None:
    """A record of a Connect config topic. Every one gives a row: even one without effect moves the config offset."""
    outcome = decode_config_record(key, value)
    # No sample: a config topic's bytes may be a password, readable or not.
    body: Body = (
        ConfigChange(outcome.value) if isinstance(outcome, Decoded) else Undecodable("config", len(value or b""))
    )
    return Row(topic=topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms, group=None, body=body)


def decode_status_row(
    topic: str, partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None
) -> Row | None:
    """A record of a Connect status topic; None for entries about topics and foreign keys."""
    outcome = decode_status_record(key, value)
    body: Body
    match outcome:
        case Decoded(record):
            body = StatusChange(record)
        case Unreadable(reason):
            body = Undecodable(reason, len(value or b""))  # no sample: a trace may quote a configuration
        case Ignored() | Tombstone():
            return None
        case _:
            assert_never(outcome)
    return Row(topic=topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms, group=None, body=body)
