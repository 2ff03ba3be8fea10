"""What a broker says of one group when it is asked, and the row it becomes.

Source: DescribeGroups, versions 0 and later. The answer names the group's state, its protocol type, the protocol that
was chosen, and of each member id, client id, host and, in a stable group, the bytes that it sent and was given. It has
no generation, no leader, no time-outs; versions below 4 have no instance id either.

    Stable                                     a row: an assignment that was seen
    Empty                                      a row without members
    PreparingRebalance, CompletingRebalance    no row: brokers leave the bytes out
    Dead                                       no row: gone, or a group of another kind
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.records import (
    POLLED,
    Body,
    GroupDeleted,
    GroupGeneration,
    MemberRow,
    OtherGroup,
    Row,
    Sampled,
)
from .blobs import MemberBlobs

STABLE, EMPTY = "Stable", "Empty"
PLACES_PER_MS = 1_000
"""Offsets that the rows of one millisecond have, so that they tell about when they were polled."""
UNKNOWN_MS = -1
_MADE_BY_BROKER = re.compile(r"(.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)


def instance_of(member_id: str, client_id: str) -> str | None:
    """The instance id by the member id: a broker makes it of the instance id where there is one, else of the client id,
    and of a UUID behind it. A static member whose instance id is its client id looks like a dynamic one."""
    made = _MADE_BY_BROKER.fullmatch(member_id)
    return None if made is None or made[1] in ("", client_id) else made[1]


@dataclass(frozen=True, slots=True)
class SnapshotMember:
    """One member, with its bytes as they are; both are empty in a group that is not stable."""

    member_id: str
    client_id: str
    client_host: str
    subscription: bytes
    assignment: bytes
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One group as it was described. `generation`: None where the answer names none, as DescribeGroups."""

    group: str
    state: str
    protocol_type: str
    protocol: str
    members: tuple[SnapshotMember, ...] = ()
    generation: int | None = None

    @property
    def settled(self) -> bool:
        """Whether it says who has what."""
        return self.state in (STABLE, EMPTY)


@dataclass(frozen=True, slots=True)
class SnapshotPoll:
    """One answer of all brokers. Times by the monitor's clock, ms: what it shows was true at a moment between
    `asked_ms` and `answered_ms`. `complete`: a group that is missing in it is not there, but for those in `unclear`;
    `others`: the states of groups that are no classic ones any more."""

    asked_ms: int
    answered_ms: int
    groups: Mapping[str, Snapshot]
    complete: bool
    unclear: frozenset[str] = frozenset()
    others: Mapping[str, str] = field(default_factory=dict)


def row_of(snapshot: Snapshot, poll: SnapshotPoll, offset: int, after_ms: int | None, blobs: MemberBlobs) -> Row:
    """The row of a settled snapshot. `offset`: its own, above those of all rows before; `after_ms`: as in `Sampled`."""
    members = tuple(
        MemberRow(
            member_id=one.member_id,
            instance_id=one.instance_id,
            client_id=one.client_id,
            client_host=one.client_host,
            rebalance_timeout_ms=UNKNOWN_MS,
            session_timeout_ms=UNKNOWN_MS,
            subscription_bytes=one.subscription,
            assignment_bytes=one.assignment,
        )
        for one in (snapshot.members if snapshot.state == STABLE else ())
    )
    body = blobs.read_again(
        GroupGeneration(
            protocol_type=snapshot.protocol_type,
            generation=UNKNOWN_MS,
            protocol=snapshot.protocol or None,
            leader=None,
            state_ms=UNKNOWN_MS,
            members=members,
            sampled=Sampled(after_ms, poll.answered_ms),
        )
    )
    return _row(snapshot.group, poll, offset, replace(body, leader=blobs.leader_of(body)))


def other_row(group: str, poll: SnapshotPoll, offset: int) -> Row:
    """The row of a group that goes on as a KIP-848 group: its state is all that is known."""
    return _row(group, poll, offset, OtherGroup("consumer", state=poll.others[group]))


def gone_row(group: str, poll: SnapshotPoll, offset: int) -> Row:
    return _row(group, poll, offset, GroupDeleted())


def _row(group: str, poll: SnapshotPoll, offset: int, body: Body) -> Row:
    return Row(
        topic=POLLED,
        partition=0,
        offset=offset,
        timestamp_ms=poll.answered_ms,
        group=group,
        body=body,
    )
