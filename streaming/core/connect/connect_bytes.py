"""The bytes a Connect leader sends: an assignor's answer in the order and layout of the wire (connect.md 1.4, 1.5)."""

from rebalance_monitor.assignors.connect.model import ConnectResult, MemberShare
from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, encode_assignment


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
