"""A record's decoding that never raises: what it raises, and a value too large to open, become an unreadable row."""

from collections.abc import Callable

from rebalance_monitor.streaming.core.fold.topics import DecodeRecord
from rebalance_monitor.streaming.core.model.records import Row, Undecodable
from rebalance_monitor.streaming.core.reading.decoding import Glance, counted_key, glance, group_of_key
from .traces import fingerprint_of

LARGEST_BYTES = 64 * 1024 * 1024
"""Of a value that is opened; Kafka's default for a whole batch is 1 MiB. Opened, it takes several times its size."""
TOO_LARGE = "too_large"


def decoded(
    decode: DecodeRecord,
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    *,
    of_groups: bool,
    on_error: Callable[[Exception], None] = lambda _why: None,
) -> Row | None:
    """What `decode` says of a record. `of_groups`: a record of the coordinator's log, whose key names a group."""
    reason = TOO_LARGE
    if value is None or len(value) <= LARGEST_BYTES:
        try:
            return decode(topic, partition, offset, timestamp_ms, key, value)
        except Exception as why:
            reason = f"internal_error_{fingerprint_of(why)}"
            on_error(why)
    return Row(
        topic=topic,
        partition=partition,
        offset=offset,
        timestamp_ms=timestamp_ms,
        group=_group(key) if of_groups else None,
        body=Undecodable(reason, len(value or b"")),
    )


def glanced(key: bytes | None, value: bytes | None) -> Glance | None:
    """What a group's record says at a glance; None for one whose key cannot be read or whose value is too large."""
    if value is not None and len(value) > LARGEST_BYTES:
        return None
    try:
        return glance(key, value)
    except Exception:
        return None


def counted(key: bytes | None) -> tuple[str, str] | None:
    """Group and kind of a record of the coordinator's log that is only counted; None for any other, whatever it is."""
    try:
        return counted_key(key)
    except Exception:
        return None


def _group(key: bytes | None) -> str | None:
    try:
        return group_of_key(key)
    except Exception:
        return None
