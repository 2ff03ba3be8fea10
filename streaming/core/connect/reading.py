"""Records of Connect's topics to rows. No byte of a config record and no trace leaves here.

`None` means "of no interest": the status topic's entries about topics. Everything else gives a row, readable or not.
"""

from typing import assert_never

from rebalance_monitor.schemas.connect_topics import OtherConfig, decode_config_record, decode_status_record
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Tombstone, Unreadable
from rebalance_monitor.streaming.core.connect.records import ConfigChange, StatusChange
from rebalance_monitor.streaming.core.model.records import Body, Row, Undecodable
from rebalance_monitor.streaming.core.model.results import Source, UndecodableRecord

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
