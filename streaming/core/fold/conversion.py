"""A group that goes on under another protocol: its tombstone is no end (coordinator-log.md 5).

The coordinator converts a group in one batch of records, so what follows a tombstone tells which of the two it is. Only
at the end of what was read nobody knows yet, and the tombstone waits for the next reading.

    classic tombstone, then a record of a KIP-848 member        goes on: never published as Dead
    tombstone of a KIP-848 epoch, then a classic generation     goes on
    tombstone, and nothing in the next reading either           Dead
    KIP-848 records, then a classic generation                  converted, by records that are missing
"""

from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, OtherGroup, Row, Waiting
from .registry import Registry
from .state import Envelope
from .waiting import WaitingRecords


def ends(row: Row) -> bool:
    """Whether the record is the tombstone of a whole group."""
    return isinstance(row.body, GroupDeleted) or (
        isinstance(row.body, OtherGroup) and row.body.whole and row.body.deleted
    )


def goes_on(row: Row, following: Row | None) -> bool:
    """Whether the tombstone is followed by a record of the other kind that lives."""
    if following is None or not ends(row):
        return False
    if isinstance(row.body, GroupDeleted):
        return isinstance(following.body, OtherGroup) and not following.body.deleted
    return isinstance(following.body, GroupGeneration)


def unseen(registry: Registry, envelope: Envelope) -> bool:
    """Whether a generation of a classic group shows that the group was converted, or deleted and made anew, by records
    that are missing: the last ones that were read are of another protocol, and none ended it."""
    name = envelope.lifecycle
    return name in registry.names and not envelope.deleted and not registry.named(name).classic


def may_follow(registry: Registry, envelope: Envelope, waiting: WaitingRecords, *, end_of_input: bool) -> bool:
    """Whether a record that makes the first one a conversion may still come: once, the next reading is waited for."""
    head = waiting.head()
    if end_of_input or waiting.head_announced or waiting.following() is not None or head is None or not ends(head.row):
        return False
    return envelope.lifecycle in registry.names and registry.named(envelope.lifecycle).converts


def wait_until_ms(head: Waiting, judge_wait_ms: int) -> int:
    """When the first record that waits is folded at the latest: a tombstone in the next reading, any other when its
    evidence is waited for no longer. What is behind it is never folded sooner."""
    return head.arrived_ms if ends(head.row) else head.arrived_ms + judge_wait_ms
