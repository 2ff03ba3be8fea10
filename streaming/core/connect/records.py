"""Rows of Connect's two topics: from bytes, as the lifecycle takes them, and as text between two processes.

No byte of a config record and no trace leaves here. `None` means "of no interest": the status topic's entries about
topics. Everything else gives a row, readable or not.
"""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from rebalance_monitor.schemas.connect_topics import (
    ConfigRecord,
    OtherConfig,
    StatusRecord,
    decode_config_record,
    decode_status_record,
)
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Tombstone, Unreadable
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import Body, Row, TopicRecord, Undecodable
from rebalance_monitor.streaming.core.model.results import Source, UndecodableRecord


@dataclass(frozen=True, slots=True)
class ConfigChange(TopicRecord):
    """One record of a Connect config topic."""

    record: ConfigRecord


@dataclass(frozen=True, slots=True)
class StatusChange(TopicRecord):
    """One record of a Connect status topic."""

    record: StatusRecord


TopicChange: TypeAlias = ConfigChange | StatusChange


@dataclass(frozen=True, slots=True)
class _Written:
    change: TopicChange


def written(change: TopicRecord) -> str:
    """A change as text of one line."""
    if not isinstance(change, ConfigChange | StatusChange):
        raise TypeError(f"no record of a Connect topic: {type(change).__name__}")
    return dumps(_Written(change))


def change_of(text: str) -> TopicChange:
    """The change that `written` wrote. Raises CodecError."""
    return loads(_Written, text).change


CONFIG_NOT_JSON = "config_not_json"


def decode_config_row(
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    digest_key: bytes = b"",
) -> Row | None:
    """A record of a Connect config topic. Every one gives a row: even one without effect moves the config offset.
    `digest_key`: see `decode_config_record`."""
    outcome = decode_config_record(key, value, digest_key)
    # No sample: a config topic's bytes may be a password, readable or not.
    body: Body = (
        ConfigChange(outcome.value) if isinstance(outcome, Decoded) else Undecodable("config", len(value or b""))
    )
    return Row(topic=topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms, group=None, body=body)


def decode_status_row(
    topic: str, partition: int, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None
) -> Row | None:
    """A record of a Connect status topic; None for entries about topics and foreign keys."""
    outcome = decode_status_record(key, value)
    body: Body
    match outcome:
        case Decoded(record):
            body = StatusChange(record)
        case Unreadable(reason):
            body = Undecodable(reason, len(value or b""))  # no sample: a trace may quote a configuration
        case Ignored() | Tombstone():
            return None
        case _:
            assert_never(outcome)
    return Row(topic=topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms, group=None, body=body)


def unreadable_config(cluster: str, source: Source, record: OtherConfig) -> UndecodableRecord:
    """A config record that Kafka's reader skips: its size and keyed digest."""
    sample = f"keyed digest {record.digest}" if record.digest else ""
    return UndecodableRecord(
        cluster=cluster, source=source, reason=CONFIG_NOT_JSON, size_bytes=record.size_bytes, sample=sample
    )
