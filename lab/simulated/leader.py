"""The leader's part of one worker process: an assignor of one era, and what it remembers from round to round.

The memory belongs to the process: it survives loss of leadership, of membership, and a change of the member id, and it
ends with the process. The right answer can be spoiled by a fault that is armed (`lab.simulated_group.faults`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.simulated_group.faults import ENDLESS, RERUN, LeaderFault, remembers, spoil
from lab.simulated_group.protocol import EAGER
from rebalance_monitor.assignors.connect import eager, incremental
from rebalance_monitor.assignors.connect.eras import Era, era_of
from rebalance_monitor.assignors.connect.model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
)
from rebalance_monitor.schemas.connect_protocol import decode_worker_state
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.connect.member_bytes import encode_share


@dataclass(frozen=True, slots=True)
class Asked:
    """What the leader is asked with: its own clock, and the JoinGroup answer."""

    now_ms: int
    generation: int
    member_id: str
    protocol: str
    members: Sequence[tuple[str, bytes]]


@dataclass(slots=True)
class Leader:
    """One process in this role. `armed`: faults that wait for an opportunity; `spoiled`: the last one that found it."""

    release: str
    max_delay_ms: int
    java_version: int
    armed: list[LeaderFault] = field(default_factory=list)
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    spoiled: str = ""

    @property
    def era(self) -> Era:
        """How leaders of this release work."""
        return era_of(self.release)

    def assign(
        self, asked: Asked, joined_with: ConfigSnapshot, newest: ConfigSnapshot, last_completed: int
    ) -> dict[str, bytes]:
        """Assignment bytes by member id. `joined_with`: the snapshot of the leader's own JoinGroup; `newest`: its
        store's contents now."""
        round_ = ConnectRound(
            now_ms=asked.now_ms,
            generation=asked.generation,
            last_completed_generation=last_completed,
            protocol=asked.protocol,
            leader=asked.member_id,
            config=joined_with,
            fresh_config=newest,
            members=tuple(_member(member_id, blob, asked.protocol) for member_id, blob in asked.members),
        )
        if asked.protocol == EAGER:
            result = eager.assign(round_)
        else:
            result, self.memory = incremental.assign(
                self.memory, round_, max_delay_ms=self.max_delay_ms, era=self.era, java_version=self.java_version
            )
        self.spoiled = ""
        for fault in tuple(self.armed):
            result = self._spoil(fault, result, round_)
        return {one.id: encode_share(result, result.shares[one.id], self.java_version) for one in round_.members}

    def _spoil(self, fault: LeaderFault, result: ConnectResult, round_: ConnectRound) -> ConnectResult:
        newest = round_.fresh_config
        used = newest if newest is not None and newest.offset == result.config_offset else round_.config
        wrong = None if fault in RERUN else spoil(fault, result, round_.members, used.connectors)
        if wrong is None:
            return result
        if round_.protocol != EAGER:
            self.memory = remembers(self.memory, result, wrong)
        self.spoiled = fault.name
        if fault not in ENDLESS:
            self.armed.remove(fault)
        return wrong


def _member(member_id: str, blob: bytes, protocol: str) -> ConnectMember:
    outcome = decode_worker_state(blob, static=protocol == "static")
    if not isinstance(outcome, Decoded):
        raise ValueError(f"the worker state of {member_id} cannot be decoded")
    state = outcome.value
    held = Jobs(state.allocation.connectors, state.allocation.tasks) if state.allocation else Jobs()
    if protocol == EAGER:
        held = Jobs()
    static = Jobs(state.static_connectors, state.static_tasks)
    return ConnectMember(id=member_id, url=state.url, config_offset=state.config_offset, held=held, static=static)
