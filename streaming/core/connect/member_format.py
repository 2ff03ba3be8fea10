"""The bytes of Connect's workers, as the reader of group records takes them."""

from functools import partial

from rebalance_monitor.schemas import connect_protocol
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
