"""The bytes of Connect's workers, as the reader of group records takes them, and those that a leader sends: an
assignor's answer in the order and layout of the wire (connect.md 1.4, 1.5).
"""

from functools import partial

from rebalance_monitor.assignors.connect.model import ConnectResult, MemberShare
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas import connect_protocol
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, encode_assignment
from rebalance_monitor.streaming.core.connect.observed import STATIC
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat


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
