"""How a group's record is published: members with their shares, and what changed hands since the record before."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import (
    Cause,
    Change,
    Generation,
    MemberResult,
    Share,
    Source,
    Verdict,
)
from . import sampling

if TYPE_CHECKING:
    from .lifecycle import GroupView


@dataclass(frozen=True, slots=True)
class MemberShares:
    """What a member's bytes say, as its lifecycle reads them: who it is, what it is given, must give back, and says to
    hold. None where they do not say it."""

    worker: str | None = None
    assigned: Share | None = None
    revoked: Share | None = None
    owned: Share | None = None


SharesOf = Callable[[MemberRow], MemberShares]


def body_of(row: Row) -> GroupGeneration:
    if not isinstance(row.body, GroupGeneration):
        raise TypeError(f"not a group record: {type(row.body).__name__}")
    return row.body


def source_of(row: Row) -> Source:
    return Source(row.topic, row.partition, row.offset)


def diff_of(before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]) -> dict[str, Change]:
    """A name may stand for two things: a connector `a-0`, and a task of `a`."""
    changes = {}
    for key in sorted({*before, *after}):
        if before.get(key) == after.get(key):
            continue
        had, has = Counter(before.get(key, ())), Counter(after.get(key, ()))
        if had != has:
            gained, lost = (has - had).elements(), (had - has).elements()
            changes[key] = Change(gained=tuple(sorted(gained)), lost=tuple(sorted(lost)))
    return changes


def published_as(
    view: "GroupView",
    row: Row,
    *,
    shares: SharesOf,
    verdict: Verdict,
    diff: Mapping[str, Change] | None = None,
    cause: tuple[Cause, ...] = (),
    repeats: bool = False,
) -> Generation:
    body, envelope = body_of(row), view.envelope
    return Generation(
        cluster=view.settings.name,
        group=view.group,
        incarnation=envelope.incarnation,
        protocol_type=body.protocol_type,
        protocol=body.protocol,
        generation=body.generation,
        leader=body.leader,
        at_ms=row.timestamp_ms,
        state_ms=body.state_ms if body.state_ms >= 0 else None,
        source=source_of(row),
        members=tuple(member_result(member, shares(member)) for member in body.members),
        diff=diff or {},
        cause=cause,
        verdict=verdict if body.sampled is None else sampling.capped(verdict),
        historic=envelope.historic,
        repeats=repeats,
        sampled=body.sampled,
        partition_leader_epoch=row.leader_epoch,
    )


def member_result(member: MemberRow, shares: MemberShares) -> MemberResult:
    return MemberResult(
        member_id=member.member_id,
        client_id=member.client_id,
        client_host=member.client_host,
        instance_id=member.instance_id,
        worker=shares.worker,
        assigned=shares.assigned,
        revoked=shares.revoked,
        owned=shares.owned,
        session_timeout_ms=known_ms(member.session_timeout_ms),
        rebalance_timeout_ms=known_ms(member.rebalance_timeout_ms),
        subscription_hash=content_hash(member.subscription_bytes),
        assignment_hash=content_hash(member.assignment_bytes),
    )


def known_ms(time_out_ms: int) -> int | None:
    """A time-out of a record; None where there is none, as of what was polled."""
    return time_out_ms if time_out_ms > 0 else None


def content_hash(blob: bytes) -> str:
    """Name of these bytes, or "" for none: equal contents are stored once."""
    return hashlib.sha256(blob).hexdigest() if blob else ""


def blobs_of(body: GroupGeneration) -> dict[str, bytes]:
    """The members' bytes by their names."""
    blobs = (blob for member in body.members for blob in (member.subscription_bytes, member.assignment_bytes) if blob)
    return {content_hash(blob): blob for blob in blobs}
