"""Offset commits, decoded on demand: the job drops them by the first two bytes of their key, `replay` can show them.

A value of null deletes the offset: a tombstone. A commit made inside a transaction looks like any other; whether the
transaction came to its end is not visible to a consumer.
"""

from typing import Any, assert_never

from rebalance_monitor.schemas.coordinator_records import decode_record
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from rebalance_monitor.streaming.core.model.printed import OffsetCommit
from rebalance_monitor.streaming.core.model.results import Source, UndecodableRecord
from .decoding import wanted_key_prefix

NO_EPOCH = -1
NO_EXPIRY = -1


def decode_commit(
    cluster: str, source: Source, key: bytes | None, value: bytes | None
) -> OffsetCommit | UndecodableRecord | None:
    """The commit in a record of `__consumer_offsets`, None for a record of another type."""
    if wanted_key_prefix(key):
        return None
    outcome = decode_record(key, value)
    match outcome:
        case Decoded(record):
            held: dict[str, Any] = record.value or {}
            epoch, expiry = held.get("leaderEpoch", NO_EPOCH), held.get("expireTimestamp", NO_EXPIRY)
            return OffsetCommit(
                cluster=cluster,
                group=record.key["group"],
                topic=record.key["topic"],
                partition=record.key["partition"],
                offset=held.get("offset"),
                leader_epoch=None if epoch == NO_EPOCH else epoch,
                metadata=held.get("metadata"),
                commit_ms=held.get("commitTimestamp"),
                expire_ms=None if expiry == NO_EXPIRY else expiry,
                source=source,
            )
        case Unreadable() | Ignored() | Tombstone():
            return UndecodableRecord(
                cluster=cluster, source=source, reason=_reason(outcome), size_bytes=len(value or b"")
            )
        case _:
            assert_never(outcome)


def _reason(outcome: Outcome[Any]) -> str:
    return outcome.reason if isinstance(outcome, Unreadable) else "unknown_type"
