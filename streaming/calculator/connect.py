"""Families `connect-eager`, `connect-incremental-rounds` and `connect-java21`: what Connect's leader answers.

A case is a sequence of rounds, or one assignment whose bytes are asked for (`encode-assignment`). Each leading process
keeps its own memory from one of its rounds to the next, however often another process leads in between.
"""

from base64 import b64decode, b64encode
from typing import Any

from rebalance_monitor.assignors.connect import eager, incremental, static
from rebalance_monitor.assignors.connect.eras import Era, era_of
from rebalance_monitor.assignors.connect.model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
)
from rebalance_monitor.assignors.connect.round import CannotAssign
from rebalance_monitor.assignors.java_table import copied_set
from rebalance_monitor.schemas.connect_protocol import decode_assignment, decode_worker_state
from rebalance_monitor.schemas.errors import SchemaError
from rebalance_monitor.schemas.outcomes import Decoded, Ignored, Tombstone, Unreadable
from rebalance_monitor.streaming.core.connect.member_bytes import encode_share
from . import connect_bytes

_EAGER = "default"


def solve(case: dict[str, Any]) -> dict[str, Any]:
    """The `expected` object of one case; a round in which Kafka throws is `{"error": reason}`."""
    given = case["input"]
    if case.get("kind") == "encode-assignment":
        return connect_bytes.solve(given)
    era = era_of(given["kafka_release"])
    java_version = given.get("java_version", 17)
    memories: dict[str, LeaderMemory] = {}
    rounds: list[dict[str, Any]] = []
    unsure = False
    for described in given["rounds"]:
        process = described.get("leader_process", described["leader"])
        memory = memories.get(process, LeaderMemory())
        try:
            result, memories[process] = assign_round(memory, described, given.get("max_delay_ms", 0), era, java_version)
            answer, doubt = _answer(result, described, java_version)
        except (CannotAssign, SchemaError) as why:
            answer, doubt = {"error": str(why)}, False
        rounds.append(answer)
        unsure |= doubt
    return {"rounds": rounds, "order_unsure": True} if unsure else {"rounds": rounds}


def assign_round(
    memory: LeaderMemory, described: dict[str, Any], max_delay_ms: int, era: Era, java_version: int
) -> tuple[ConnectResult, LeaderMemory]:
    """The answer of one round of a case and the leader's memory after it; `CannotAssign` where Kafka throws."""
    round_ = ConnectRound(
        now_ms=described["now_ms"],
        generation=described["generation"],
        last_completed_generation=described["last_completed_generation"],
        protocol=described["protocol"],
        leader=described["leader"],
        config=_snapshot(described["config"]),
        fresh_config=_snapshot(described["fresh_config"]) if described.get("fresh_config") else None,
        members=tuple(
            # Declarations are part of the blob only under their own protocol; elsewhere the tail is noise.
            _member(member, static=described["protocol"].lower() == static.PROTOCOL)
            for member in described["members"]
        ),
    )
    if round_.protocol.lower() == _EAGER:
        return eager.assign(round_), memory
    return incremental.assign(memory, round_, max_delay_ms=max_delay_ms, era=era, java_version=java_version)


def _snapshot(described: dict[str, Any]) -> ConfigSnapshot:
    return ConfigSnapshot(described["offset"], described["connectors"])


def _member(described: dict[str, Any], *, static: bool) -> ConnectMember:
    match decode_worker_state(b64decode(described["subscription"]), static=static):
        case Decoded(value=state):
            held = state.allocation
            return ConnectMember(
                id=described["id"],
                url=state.url,
                config_offset=state.config_offset,
                held=Jobs() if held is None else Jobs(held.connectors, held.tasks),
                static=Jobs(state.static_connectors, state.static_tasks),
            )
        case Unreadable(reason=reason):
            raise CannotAssign(f"subscription of {described['id']!r}: {reason}")
        case Tombstone() | Ignored():
            raise CannotAssign(f"subscription of {described['id']!r} is no worker state")


def _answer(result: ConnectResult, described: dict[str, Any], java_version: int) -> tuple[dict[str, Any], bool]:
    members = []
    unsure = result.order_unsure
    for member in described["members"]:
        share = result.shares[member["id"]]
        unsure |= copied_set(share.assigned.connectors, java_version).unsure
        members.append(_decoded(member["id"], encode_share(result, share, java_version)))
    answer = {
        "version": result.version,
        "error": result.error,
        "leader": result.leader,
        "leader_url": result.leader_url,
        "config_offset": result.config_offset,
        "delay_ms": result.delay_ms,
        "members": members,
    }
    return answer, unsure


def _decoded(member_id: str, blob: bytes) -> dict[str, Any]:
    """Lists as a reader of the bytes finds them: grouped by connector."""
    shown: dict[str, Any] = {"id": member_id, "assignment": b64encode(blob).decode()}
    match decode_assignment(blob):
        case Decoded(value=read):
            shown["connectors"] = list(read.connectors)
            shown["tasks"] = [list(task) for task in read.tasks]
            shown["revoked_connectors"] = list(read.revoked_connectors)
            shown["revoked_tasks"] = [list(task) for task in read.revoked_tasks]
        case _:
            raise CannotAssign(f"assignment of {member_id!r} cannot be read back")
    return shown
