"""Family `connect-wire`: the bytes Connect's classes write for given values, and what they make of given bytes."""

from base64 import b64decode
from typing import Any

from rebalance_monitor.schemas import connect_protocol
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.schemas.errors import SchemaError
from rebalance_monitor.schemas.outcomes import Decoded, Outcome, Unreadable
from rebalance_monitor.streaming.calculator import connect_bytes
from rebalance_monitor.streaming.calculator.connect_bytes import (
    Listed,
    assignment_of,
    encoded,
    listed_of,
    version_inside,
)


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case; `{"error": reason}` where Kafka's class throws."""
    given = case["input"]
    match case["kind"]:
        case "encode-worker-state":
            return _encode_worker_state(given)
        case "encode-assignment":
            return connect_bytes.solve(given)
        case "decode-worker-state" | "decode-assignment":
            return _decode(case["kind"].removeprefix("decode-"), b64decode(given["bytes"]), given["reader"] == "v0")
        case "prefixes-of-worker-state" | "prefixes-of-assignment":
            what, blob = case["kind"].removeprefix("prefixes-of-"), b64decode(given["bytes"])
            return {"outcomes": [_decode(what, blob[:n], given["reader"] == "v0") for n in range(len(blob) + 1)]}
        case kind:
            return {"error": f"unknown kind {kind}"}


def _encode_worker_state(given: dict[str, Any]) -> dict[str, Any]:
    allocation, inside = given["allocation"], version_inside(given)
    listed = Listed() if allocation is None else listed_of(given, allocation)
    state = WorkerState(
        version=given["version"],
        url=given["url"],
        config_offset=given["config_offset"],
        allocation=None if allocation is None else assignment_of(allocation, inside),
    )
    try:
        raw = connect_protocol.encode_worker_state(state, listed.assigned, listed.revoked, allocation_version=inside)
    except SchemaError as why:
        return {"error": why.reason}
    return encoded(raw, listed)


def _decode(what: str, blob: bytes, strict_v0: bool) -> dict[str, Any]:
    if what == "assignment":
        return _answer(
            connect_protocol.decode_assignment(blob, strict_v0=strict_v0), lambda v: _assignment_json(v, strict_v0)
        )
    return _answer(connect_protocol.decode_worker_state(blob, strict_v0=strict_v0), lambda v: _state_json(v, strict_v0))


def _answer(outcome: Outcome[Any], form: Any) -> dict[str, Any]:
    if isinstance(outcome, Decoded):
        return {"value": form(outcome.value), "unread": outcome.remaining}
    return {"error": outcome.reason if isinstance(outcome, Unreadable) else "unreadable"}


def _assignment_json(value: ConnectAssignment, strict_v0: bool) -> dict[str, Any]:
    seen_by_all = {
        "error": value.error,
        "leader": value.leader,
        "leader_url": value.leader_url,
        "config_offset": value.config_offset,
        "connectors": list(value.connectors),
        "tasks": [list(task) for task in value.tasks],
    }
    if strict_v0:
        return seen_by_all
    return {
        "version": value.version,
        **seen_by_all,
        "delay_ms": value.delay_ms,
        "revoked_connectors": list(value.revoked_connectors),
        "revoked_tasks": [list(task) for task in value.revoked_tasks],
    }


def _state_json(value: WorkerState, strict_v0: bool) -> dict[str, Any]:
    seen_by_all: dict[str, Any] = {"url": value.url, "config_offset": value.config_offset}
    if strict_v0:
        return seen_by_all
    held = None if value.allocation is None else _assignment_json(value.allocation, strict_v0=False)
    return {**seen_by_all, "allocation": held}
