"""Records of Connect's topics and workers' payloads in full, as far as the job itself keeps them: never a
configuration, a session key or a trace."""

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from rebalance_monitor.schemas import connect_protocol
from rebalance_monitor.schemas.connect_topics import NOT_JSON, OtherConfig, decode_config_record, decode_status_record
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Outcome, Tombstone, Unreadable
from rebalance_monitor.streaming.core.reading.shown import ShownObject, plain

PAYLOADS: Mapping[str, Callable[[bytes], Outcome[Any]]] = {
    "connect-worker-state": connect_protocol.decode_worker_state,
    "connect-static-worker-state": lambda blob: connect_protocol.decode_worker_state(blob, static=True),
    "connect-assignment": connect_protocol.decode_assignment,
}


def config_shown(key: bytes | None, value: bytes | None) -> ShownObject:
    """A record of a config topic."""
    return _reduced(decode_config_record(key, value), value)


def status_shown(key: bytes | None, value: bytes | None) -> ShownObject:
    """A record of a status topic."""
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
