"""How a group's record is published: members with their shares, and what changed hands since the record before."""

import hashlib
from collections.abc import Mapping
from typing import assert_never

from schemas.connect_protocol import ConnectAssignment, WorkerState
from schemas.consumer_protocol import ConsumerAssignment, ConsumerSubscription
from streaming.core.connect.observed import worker_of
from streaming.core.fold.state import Envelope
from streaming.core.model.records import BadBlob, GroupGeneration, MemberRow, Row
from streaming.core.model.results import (
    Cause,
    Change,
    ConnectShare,
    ConsumerShare,
    Generation,
    MemberResult,
    Share,
    Source,
    Verdict,
)
from streaming.core.model.settings import ClusterSettings


def body_of(row: Row) -> GroupGeneration:
    """The generation in a row that is known to hold one."""
    if not isinstance(row.body, GroupGeneration):
        raise TypeError(f"not a group record: {type(row.body).__name__}")
    return row.body


def source_of(row: Row) -> Source:
    return Source(row.topic, row.partition, row.offset)


def diff_of(before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]) -> dict[str, Change]:
    changes = {}
    for key in sorted({*before, *after}):
        had, has = set(before.get(key, ())), set(after.get(key, ()))
        if had != has:
            changes[key] = Change(gained=tuple(sorted(has - had)), lost=tuple(sorted(had - has)))
    return changes


def published_as(
    settings: ClusterSettings,
    group: str,
    state: Envelope,
    row: Row,
    *,
    verdict: Verdict,
    diff: Mapping[str, Change] | None = None,
    cause: tuple[Cause, ...] = (),
) -> Generation:
    body = body_of(row)
    return Generation(
        cluster=settings.name,
        group=group,
        incarnation=state.incarnation,
        protocol_type=body.protocol_type,
        protocol=body.protocol,
        generation=body.generation,
        leader=body.leader,
        at_ms=row.timestamp_ms,
        state_ms=body.state_ms if body.state_ms >= 0 else None,
        source=source_of(row),
        members=tuple(_member(member) for member in body.members),
        diff=diff or {},
        cause=cause,
        verdict=verdict,
        historic=state.historic,
    )


def _member(member: MemberRow) -> MemberResult:
    assigned: Share | None
    revoked: Share | None = None
    match member.assignment:
        case ConnectAssignment() as given:
            assigned = ConnectShare(given.connectors, given.tasks)
            revoked = ConnectShare(given.revoked_connectors, given.revoked_tasks)
        case ConsumerAssignment() as share:
            assigned = ConsumerShare(share.partitions)
        case BadBlob() | None:
            assigned = None
        case _:
            assert_never(member.assignment)
    return MemberResult(
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        instance_id=member.instance_id,
        worker=worker_of(member.subscription.url) if isinstance(member.subscription, WorkerState) else None,
        assigned=assigned,
        revoked=revoked,
        owned=_owned(member),
        subscription_hash=content_hash(member.subscription_bytes),
        assignment_hash=content_hash(member.assignment_bytes),
    )


def content_hash(blob: bytes) -> str:
    """Name of these bytes, or "" for none: equal contents are stored once."""
    return hashlib.sha256(blob).hexdigest() if blob else ""


def blobs_of(body: GroupGeneration) -> dict[str, bytes]:
    """The members' bytes by their names."""
    blobs = (blob for member in body.members for blob in (member.subscription_bytes, member.assignment_bytes) if blob)
    return {content_hash(blob): blob for blob in blobs}


def _owned(member: MemberRow) -> Share | None:
    match member.subscription:
        case WorkerState(allocation=None):
            return ConnectShare()
        case WorkerState(allocation=ConnectAssignment() as allocation):
            return ConnectShare(allocation.connectors, allocation.tasks)
        case ConsumerSubscription(owned=owned):
            return ConsumerShare(owned)
        case _:
            return None
