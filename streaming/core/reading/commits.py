"""Offset commits, decoded on demand: the job drops them by the first two bytes of their key, `replay` can show them.

A value of null deletes the offset: a tombstone. A commit made inside a transaction looks like any other; whether the
transaction came to its end is not visible to a consumer.
"""

from dataclasses import dataclass
from typing import Any, assert_never

from rebalance_monitor.schemas.coordinator_records import decode_record
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from rebalance_monitor.streaming.core.model.objects import source_object
from rebalance_monitor.streaming.core.model.results import Source, UndecodableRecord
from rebalance_monitor.streaming.core.reading.decoding import wanted_key_prefix

NO_EPOCH = -1
NO_EXPIRY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """One committed position of a group, v0-v4; `offset` None and nothing else when it was deleted or expired."""

    cluster: str
    group: str
    topic: str
    partition: int
    offset: int | None
    leader_epoch: int | None
    metadata: str | None
    commit_ms: int | None
    expire_ms: int | None
    source: Source


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


def commit_object(commit: OffsetCommit) -> dict[str, Any]:
    """The object that `replay --with-commits -o json` prints."""
    return {
        "kind": "offset_commit",
        "cluster": commit.cluster,
        "group": commit.group,
        "topic": commit.topic,
        "partition": commit.partition,
        "offset": commit.offset,
        "leader_epoch": commit.leader_epoch,
        "metadata": commit.metadata,
        "commit_ms": commit.commit_ms,
        "expire_ms": commit.expire_ms,
        "source": source_object(commit.source),
    }
