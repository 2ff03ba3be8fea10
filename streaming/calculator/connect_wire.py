"""Family `connect-wire`: the bytes Connect's classes write for given values, and what they make of given bytes."""

from base64 import b64decode, b64encode
from typing import Any

from rebalance_monitor.assignors.java_order import copied_set, wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas import connect_protocol
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, Entries, WorkerState
from rebalance_monitor.schemas.errors import SchemaError
from rebalance_monitor.schemas.outcomes import Decoded, Outcome, Unreadable

# Up to here the `sessioned` protocol wrote version 1 inside: allocations in a V2 worker state, and assignments.
_FIRST_RELEASE_WITH_V2_INSIDE = (3, 3)


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case; `{"error": reason}` where Kafka's class throws."""
    given = case["input"]
    match case["kind"]:
        case "encode-worker-state":
            return _encode(given, given["allocation"])
        case "encode-assignment":
            return _encode(given, given)
        case "decode-worker-state" | "decode-assignment":
            return _decode(case["kind"].removeprefix("decode-"), b64decode(given["bytes"]), given["reader"] == "v0")
        case "prefixes-of-worker-state" | "prefixes-of-assignment":
            what, blob = case["kind"].removeprefix("prefixes-of-"), b64decode(given["bytes"])
            return {"outcomes": [_decode(what, blob[:n], given["reader"] == "v0") for n in range(len(blob) + 1)]}
        case kind:
            return {"error": f"unknown kind {kind}"}


def _encode(given: dict[str, Any], jobs: dict[str, Any] | None) -> dict[str, Any]:
    java = given.get("java_version", 17)
    assigned: Entries = ()
    revoked: Entries = ()
    unsure = False
    if jobs is not None:
        assigned = wire_entries_assigned(jobs["connectors"], _pairs(jobs["tasks"]), java)
        revoked = wire_entries_revoked(jobs["revoked_connectors"], _pairs(jobs["revoked_tasks"]))
        unsure = copied_set(jobs["connectors"], java).unsure
    old = _release(given.get("kafka_release", "")) < _FIRST_RELEASE_WITH_V2_INSIDE
    version = given["version"]
    inside = min(version, 1) if old else version
    try:
        if jobs is given:
            raw = connect_protocol.encode_assignment(_assignment(given, inside), assigned, revoked)
        else:
            state = WorkerState(
                version=version,
                url=given["url"],
                config_offset=given["config_offset"],
                allocation=None if jobs is None else _assignment(jobs, inside),
            )
            raw = connect_protocol.encode_worker_state(state, assigned, revoked, allocation_version=inside)
    except SchemaError as why:
        return {"error": why.reason}
    answer: dict[str, Any] = {"bytes": b64encode(raw).decode()}
    return {**answer, "order_unsure": True} if unsure else answer


def _release(text: str) -> tuple[int, ...]:
    """Major and minor number; the newest imaginable if none is given."""
    parts = text.split(".")[:2]
    return tuple(int(p) for p in parts) if all(p.isdecimal() for p in parts) else (99,)


def _pairs(tasks: list[list[Any]]) -> list[tuple[str, int]]:
    return [(name, number) for name, number in tasks]


def _assignment(given: dict[str, Any], version: int) -> ConnectAssignment:
    return ConnectAssignment(
        version=version,
        error=given["error"],
        leader=given["leader"],
        leader_url=given["leader_url"],
        config_offset=given["config_offset"],
        delay_ms=given["delay_ms"],
    )


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
