"""One record or one payload in full, for a person who has it in hand: what `rebalance-monitor decode` prints.

Everything that the decoders know is shown: embedded payloads, unknown tagged fields with their path, bytes left over.
Of Connect's topics only what the job itself keeps is shown: never a configuration, a session key or a trace.
"""

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from rebalance_monitor.schemas import consumer_protocol
from rebalance_monitor.schemas.coordinator_records import Record, decode_record
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from rebalance_monitor.schemas.streams_assignment import decode_assignment_info
from rebalance_monitor.schemas.streams_subscription import decode_subscription_info
from rebalance_monitor.schemas.user_data import decode_assignment_user_data, decode_subscription_user_data
from rebalance_monitor.streaming.core.connect.observed import STATIC
from rebalance_monitor.streaming.core.reading.decoding import CLASSIC, SAMPLE_BYTES
from rebalance_monitor.streaming.core.reading.shown import ShownObject, payload_shown
from .connect import topics as connect_topics

RECORDS: Mapping[str, str] = {
    "offsets": "a record of __consumer_offsets",
    "connect-config": "a record of a Connect config topic",
    "connect-status": "a record of a Connect status topic",
}
PAYLOADS: Mapping[str, Callable[[bytes], Outcome[Any]]] = {
    **connect_topics.PAYLOADS,
    "consumer-subscription": consumer_protocol.decode_subscription,
    "consumer-assignment": consumer_protocol.decode_assignment,
    "streams-subscription": decode_subscription_info,
    "streams-assignment": decode_assignment_info,
}


def show_record(topic_kind: str, key: bytes | None, value: bytes | None) -> ShownObject:
    """A record of one of the kinds in `RECORDS`; `outcome` is decoded, tombstone, ignored or unreadable."""
    match topic_kind:
        case "offsets":
            return _offsets(key, value)
        case "connect-config":
            return connect_topics.config_shown(key, value)
        case _:
            return connect_topics.status_shown(key, value)


def show_payload(kind: str, blob: bytes) -> ShownObject:
    """A payload of one of the kinds in `PAYLOADS`, without the record around it."""
    shown = payload_shown(PAYLOADS[kind](blob), blob)
    return {"payload": kind, **shown}


def _offsets(key: bytes | None, value: bytes | None) -> ShownObject:
    outcome = decode_record(key, value)
    match outcome:
        case Decoded(record):
            return _record(record, value)
        case Ignored(what):
            return {"outcome": "ignored", "reason": what, "key_hex": (key or b"")[:SAMPLE_BYTES].hex()}
        case Unreadable(reason, detail):
            sample = {"key_hex": (key or b"")[:SAMPLE_BYTES].hex(), "value_hex": (value or b"")[:SAMPLE_BYTES].hex()}
            return {"outcome": "unreadable", "reason": reason, "detail": detail, "bytes": len(value or b""), **sample}
        case Tombstone():
            return {"outcome": "tombstone"}
        case _:
            assert_never(outcome)


def _record(record: Record, value: bytes | None) -> ShownObject:
    shown: ShownObject = {
        "outcome": "tombstone" if record.fields is None else "decoded",
        "type": record.type,
        "name": record.name,
        "key": record.key,
    }
    if record.key_remaining:
        shown["key_remaining"] = record.key_remaining
    body = record.value
    if body is not None and value is not None:
        if record.type == CLASSIC:
            _open_members(body)
        shown |= {"version": record.version, "value": body}
        shown["unknown_tags"] = [
            {"path": path, "tag": tag, "bytes_hex": raw.hex()} for path, tag, raw in record.unknown_tags
        ]
        shown["remaining"] = record.value_remaining
        if record.value_remaining:
            shown["remaining_hex"] = value[len(value) - record.value_remaining :].hex()
    return shown


def _open_members(group: ShownObject) -> None:
    """Put what a member's two blobs say in their place, for the protocol types that are described."""
    protocol_type, protocol = group["protocolType"], group["protocol"]
    readers: dict[tuple[str, str], Callable[[bytes], Outcome[Any]]] = {
        ("connect", "subscription"): PAYLOADS[
            "connect-static-worker-state" if protocol == STATIC else "connect-worker-state"
        ],
        ("connect", "assignment"): PAYLOADS["connect-assignment"],
        ("consumer", "subscription"): consumer_protocol.decode_subscription,
        ("consumer", "assignment"): consumer_protocol.decode_assignment,
    }
    for member in group["members"]:
        for which in ("subscription", "assignment"):
            raw = b64decode(member[which])
            read = readers.get((protocol_type, which))
            if read is None or not raw:
                member[which] = {"bytes": len(raw), "bytes_hex": raw.hex()}
                continue
            outcome = read(raw)
            member[which] = shown = payload_shown(outcome, raw)
            if isinstance(outcome, Decoded) and protocol_type == "consumer" and outcome.value.user_data:
                shown["value"]["user_data"] = _user_data(protocol, which, outcome.value.user_data)


def _user_data(protocol: str | None, which: str, raw: bytes) -> Any:
    outcome = (decode_subscription_user_data if which == "subscription" else decode_assignment_user_data)(protocol, raw)
    return {"bytes": len(raw), "bytes_hex": raw.hex()} if outcome is None else payload_shown(outcome, raw)
