"""The value of a classic group's record (key type 2): one completed generation of the group."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One member as the coordinator stored it. Both blobs are opaque to the coordinator; empty means "nothing sent"."""

    member_id: str
    instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int = -1
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadata:
    """Group metadata v0-v4. `state_ms` is the end of the join phase by the broker's clock, -1 if unknown."""

    version: int
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_ms: int = -1
    members: tuple[GroupMember, ...] = ()
