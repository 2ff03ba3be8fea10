"""The bytes of Connect's workers: as the reader of group records takes them, what they say as that is published, and
those that a leader sends, an assignor's answer in the order and layout of the wire (connect.md 1.4, 1.5).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from rebalance_monitor.assignors.connect.model import ConnectResult, MemberShare
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas import connect_protocol
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState, encode_assignment
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.model.published import from_object
from rebalance_monitor.streaming.core.model.records import MemberRow
from rebalance_monitor.streaming.core.model.results import ConnectShare, Share
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from .observed import STATIC, worker_of


def _leader(assignment: object) -> str | None:
    return assignment.leader or None if isinstance(assignment, connect_protocol.ConnectAssignment) else None


CONNECT_MEMBERS = MemberFormat(
    protocol_type="connect",
    layouts=(connect_protocol.WORKER_STATE_BLOB, connect_protocol.ASSIGNMENT_BLOB),
    subscription=connect_protocol.read_worker_state,
    assignment=connect_protocol.read_assignment,
    exception=(STATIC, partial(connect_protocol.read_worker_state, static=True)),
    leader=_leader,
)


def encode_share(result: ConnectResult, share: MemberShare, java_version: int) -> bytes:
    """The assignment bytes that one member receives."""
    header = ConnectAssignment(
        version=result.version,
        error=result.error,
        leader=result.leader,
        leader_url=result.leader_url,
        config_offset=result.config_offset,
        delay_ms=result.delay_ms,
    )
    assigned = wire_entries_assigned(share.assigned.connectors, share.assigned.tasks, java_version)
    return encode_assignment(header, assigned, wire_entries_revoked(share.revoked.connectors, share.revoked.tasks))


def shares_of(member: MemberRow) -> MemberShares:
    """Its worker, what it is given, what it must stop, and what it reports as its own."""
    state, given = member.subscription, member.assignment
    worker = worker_of(state.url) if isinstance(state, WorkerState) else None
    if not isinstance(given, ConnectAssignment):
        return MemberShares(worker, owned=_owned(member))
    assigned = ConnectShare(given.connectors, given.tasks)
    revoked = ConnectShare(given.revoked_connectors, given.revoked_tasks)
    return MemberShares(worker, assigned, revoked, _owned(member))


def _owned(member: MemberRow) -> Share | None:
    match member.subscription:
        case WorkerState(allocation=None):
            return ConnectShare()
        case WorkerState(allocation=ConnectAssignment() as allocation):
            return ConnectShare(allocation.connectors, allocation.tasks)
        case _:
            return None


def held_after(assigned: ConnectShare, revoked: ConnectShare | None, owned: ConnectShare | None) -> ConnectShare:
    """What the worker had, less what was revoked, and what was assigned: each once, in that order.

    Connect's incremental protocols (KIP-415) send only what changes. The eager one sends all, and nothing is owned.
    """
    had, gone = owned or ConnectShare(), revoked or ConnectShare()
    no_connectors, no_tasks = frozenset(gone.connectors), frozenset(gone.tasks)
    return ConnectShare(
        tuple(dict.fromkeys((*(one for one in had.connectors if one not in no_connectors), *assigned.connectors))),
        tuple(dict.fromkeys((*(one for one in had.tasks if one not in no_tasks), *assigned.tasks))),
    )


def connect_share_of(published: Mapping[str, Any] | None) -> ConnectShare | None:
    """A Connect share from its published form; None for none, or for a consumer's."""
    return None if published is None or "connectors" not in published else from_object(ConnectShare, published)
