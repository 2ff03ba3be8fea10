"""The bytes that Connect's classes write for given values: lists grouped by connector, in Java's hash order."""

from base64 import b64encode
from typing import Any, NamedTuple

from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.assignors.java_table import copied_set
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, Entries, encode_assignment
from rebalance_monitor.schemas.errors import SchemaError

# Up to here the `sessioned` protocol wrote version 1 inside: allocations in a V2 worker state, and assignments.
_FIRST_RELEASE_WITH_V2_INSIDE = (3, 3)


class Listed(NamedTuple):
    """Connectors and tasks in the order of the wire. `unsure`: Java turned a hash bucket into a tree, whose order
    cannot be told."""

    assigned: Entries = ()
    revoked: Entries = ()
    unsure: bool = False


def solve(given: dict[str, Any]) -> dict[str, Any]:
    """The bytes of an assignment; `{"error": reason}` where Kafka's class throws."""
    listed = listed_of(given, given)
    try:
        raw = encode_assignment(assignment_of(given, version_inside(given)), listed.assigned, listed.revoked)
    except SchemaError as why:
        return {"error": why.reason}
    return encoded(raw, listed)


def listed_of(given: dict[str, Any], jobs: dict[str, Any]) -> Listed:
    """The lists of an assignment (`jobs`) as the Java version of the case writes them."""
    java = given.get("java_version", 17)
    return Listed(
        wire_entries_assigned(jobs["connectors"], _pairs(jobs["tasks"]), java),
        wire_entries_revoked(jobs["revoked_connectors"], _pairs(jobs["revoked_tasks"])),
        copied_set(jobs["connectors"], java).unsure,
    )


def version_inside(given: dict[str, Any]) -> int:
    """The version of an assignment by the release of the case."""
    old = _release(given.get("kafka_release", "")) < _FIRST_RELEASE_WITH_V2_INSIDE
    version: int = given["version"]
    return min(version, 1) if old else version


def assignment_of(given: dict[str, Any], version: int) -> ConnectAssignment:
    """All of it but the lists."""
    return ConnectAssignment(
        version=version,
        error=given["error"],
        leader=given["leader"],
        leader_url=given["leader_url"],
        config_offset=given["config_offset"],
        delay_ms=given["delay_ms"],
    )


def encoded(raw: bytes, listed: Listed) -> dict[str, Any]:
    """The answer: the bytes, and `order_unsure` where they may be in another order."""
    answer: dict[str, Any] = {"bytes": b64encode(raw).decode()}
    return {**answer, "order_unsure": True} if listed.unsure else answer


def _release(text: str) -> tuple[int, ...]:
    """Major and minor number; the newest imaginable if none is given."""
    parts = text.split(".")[:2]
    return tuple(int(p) for p in parts) if all(p.isdecimal() for p in parts) else (99,)


def _pairs(tasks: list[list[Any]]) -> list[tuple[str, int]]:
    return [(name, number) for name, number in tasks]
