"""Values of Connect's topics without what nobody may store: the decoders read them like the ones they stand for.

    connector-orders  {"properties": {"connector.class": …, "password": …, "tasks.max": "3"}}
    kept              {"properties": {"tasks.max": "3"}}

A value that is no JSON becomes question marks, as many as it had bytes.
"""

import json
from typing import assert_never

from .connect_topics import (
    NOT_JSON,
    ConnectorConfigured,
    ConnectorDeleted,
    OtherConfig,
    TargetState,
    TasksCommitted,
    TaskStaged,
    decode_config_record,
    decode_status_record,
)
from .outcomes import Decoded, Ignored, Tombstone, Unreadable


def config_value_kept(key: bytes | None, value: bytes | None) -> bytes | None:
    """Of a record of the config topic."""
    outcome = decode_config_record(key, value)
    if value is None or not isinstance(outcome, Decoded):
        return None
    match outcome.value:
        case ConnectorConfigured(_, None):
            return _json({"properties": {}})
        case ConnectorConfigured(_, limit):
            return _json({"properties": {"tasks.max": str(limit)}})
        case TaskStaged():
            return _json({"properties": {}})
        case TasksCommitted(_, count):
            return _json({} if count is None else {"tasks": count})
        case TargetState(_, state):
            return _json(None if state is None else {"state.v2": state})
        case ConnectorDeleted():
            return _json(None)
        case OtherConfig(what):
            return _no_json(value) if what == NOT_JSON else _json({})
        case _:
            assert_never(outcome.value)


def status_value_kept(key: bytes | None, value: bytes | None) -> bytes | None:
    """Of a record of the status topic."""
    if value is None:
        return None
    outcome = decode_status_record(key, value)
    match outcome:
        case Decoded(status):
            return _json({"state": status.state, "worker_id": status.worker_id, "generation": status.generation})
        case Unreadable(reason):
            return {"not_an_object": b"[]", "malformed_status": b"{}"}.get(reason, _no_json(value))
        case Ignored() | Tombstone():
            return _json({})
        case _:
            assert_never(outcome)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _no_json(value: bytes) -> bytes:
    return b"?" * len(value)
