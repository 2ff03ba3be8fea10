"""A group that goes on under another protocol: its tombstone is no end (coordinator-log.md 5).

The coordinator converts a group in one batch of records, so what follows a tombstone tells which of the two it is. Only
at the end of what was read nobody knows yet, and the tombstone waits for the next reading.

    classic tombstone, then a record of a KIP-848 member        goes on: never published as Dead
    tombstone of a KIP-848 epoch, then a classic generation     goes on
    tombstone, and nothing in the next reading either           Dead
"""

from collections.abc import Sequence

from streaming.core.fold.registry import Registry
from streaming.core.fold.state import Envelope, Waiting
from streaming.core.model.records import GroupDeleted, GroupGeneration, OtherGroup, Row


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


def may_follow(
    registry: Registry, envelope: Envelope, head: Waiting, following: Row | None, *, end_of_input: bool
) -> bool:
    """Whether a record that makes it a conversion may still come: once, the next reading is waited for."""
    if end_of_input or head.announced or following is not None or not ends(head.row):
        return False
    return envelope.lifecycle in registry.names and registry.named(envelope.lifecycle).converts


def wait_until_ms(waiting: Sequence[Waiting], judge_wait_ms: int) -> list[int]:
    """When each waiting record is folded at the latest: a tombstone whose turn it is in the next reading, one behind a
    record that waits for evidence no sooner than that."""
    return [
        one.arrived_ms if at == 0 and ends(one.row) else one.arrived_ms + judge_wait_ms
        for at, one in enumerate(waiting)
    ]
