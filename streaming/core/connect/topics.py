"""Connect's two topics, of the configuration and of the statuses: their names, and their records as rows, as text that
is kept with a failed fold, and in full as people are shown them.

The names are configured, or guessed by Connect's naming convention. No byte of a config record, no session key and no
trace leaves here. `None` for a row means "of no interest": the status topic's entries about topics. Everything else
gives a row, readable or not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, assert_never

from rebalance_monitor.schemas import connect_protocol
from rebalance_monitor.schemas.connect_kept import config_value_kept, status_value_kept
from rebalance_monitor.schemas.connect_topics import (
    NOT_JSON,
    ConfigRecord,
    OtherConfig,
    StatusRecord,
    decode_config_record,
    decode_status_record,
)
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from rebalance_monitor.streaming.core.fold.topics import TopicKind
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import Body, Row, TopicRecord, Undecodable
from rebalance_monitor.streaming.core.model.results import Source, UndecodableRecord
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.shown import ShownObject, plain
from .topic_names import CONFIG_SUFFIXES, STATUS_SUFFIXES, connect_settings

CONFIG = TopicKind("config", lambda key: partial(decode_config_row, digest_key=key), config_value_kept, committed=True)
STATUS = TopicKind("status", lambda _: decode_status_row, status_value_kept)


def topics_of(settings: ClusterSettings, group: str) -> dict[str, TopicKind]:
    """The topics of a Connect group that are known, each with what it holds."""
    named = connect_settings(settings, group)
    both = ((named.config_topic, CONFIG), (named.status_topic, STATUS))
    return {topic: kind for topic, kind in both if topic is not None}


def groups_of(settings: ClusterSettings, topic: str) -> list[str]:
    """Connect groups whose config or status topic this is; several where two clusters share topics by mistake."""
    named = [group for group, one in settings.connect.items() if topic in (one.config_topic, one.status_topic)]
    if named:
        return named
    for suffix in (*CONFIG_SUFFIXES, *STATUS_SUFFIXES):
        if topic.endswith(suffix) and topic.removesuffix(suffix) not in settings.connect:
            return [topic.removesuffix(suffix)]
    return []


def kind_of(settings: ClusterSettings, topic: str) -> TopicKind | None:
    """What a topic holds: as it is configured, else as its name ends."""
    if any(topic == one.config_topic for one in settings.connect.values()):
        return CONFIG
    if any(topic == one.status_topic for one in settings.connect.values()):
        return STATUS
    if topic.endswith(CONFIG_SUFFIXES):
        return CONFIG
    return STATUS if topic.endswith(STATUS_SUFFIXES) else None


@dataclass(frozen=True, slots=True)
class ConfigChange(TopicRecord):
    record: ConfigRecord


@dataclass(frozen=True, slots=True)
class StatusChange(TopicRecord):
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


PAYLOADS: Mapping[str, Callable[[bytes], Outcome[Any]]] = {
    "connect-worker-state": connect_protocol.decode_worker_state,
    "connect-static-worker-state": lambda blob: connect_protocol.decode_worker_state(blob, static=True),
    "connect-assignment": connect_protocol.decode_assignment,
}


def config_shown(key: bytes | None, value: bytes | None) -> ShownObject:
    return _reduced(decode_config_record(key, value), value)


def status_shown(key: bytes | None, value: bytes | None) -> ShownObject:
    return _reduced(decode_status_record(key, value), value)


def _reduced(outcome: Outcome[Any], value: bytes | None) -> ShownObject:
    """A record of a Connect topic: never bytes of it, whatever became of it."""
    match outcome:
        case Decoded(OtherConfig(what)) if what == NOT_JSON:
            return {"outcome": "unreadable", "reason": what, "bytes": len(value or b"")}
        case Decoded(record):
            return {"outcome": "decoded", "record": type(record).__name__, **plain(record), "bytes": len(value or b"")}
        case Ignored(what):
            return {"outcome": "ignored", "reason": what, "bytes": len(value or b"")}
        case Unreadable(reason):
            return {"outcome": "unreadable", "reason": reason, "bytes": len(value or b"")}
        case Tombstone():
            return {"outcome": "tombstone"}
        case _:
            assert_never(outcome)
