"""What the leader of a simulated Connect group hands out: the right answer, or on demand a wrong one.

The right answer comes from the same algorithms a real leader of the newest era runs, so that healthy rounds of a
simulated group are judged like those of a real one, and a wrong round heals by itself in the rounds after it:
the algorithm takes a job that two members report from both, then gives it to one.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lab.simulated_group.faults import RERUN, ArmedFaults, LeaderFault, remembers, seen_wrongly, spoil
from lab.simulated_group.protocol import EAGER
from rebalance_monitor.assignors.connect import eager, incremental
from rebalance_monitor.assignors.connect.eras import ERAS
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

ERA = ERAS["A5"]
JAVA_VERSION = 17


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a leader knows besides the members' blobs: its config snapshot at the join, the newest one, the generation
    it completed last, and what the workers' own settings declare per URL (which no blob below V3 shows)."""

    joined_with: ConfigSnapshot
    newest: ConfigSnapshot
    last_completed: int
    declared: Mapping[str, Jobs] = field(default_factory=dict)


@dataclass(slots=True)
class Leader:
    """One worker process in the role of leader.

    `armed`: faults still to happen, shared by the group; `answered_for`: the members of its last answer, by id.
    """

    max_delay_ms: int
    armed: ArmedFaults = field(default_factory=ArmedFaults)
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    answered_for: frozenset[str] = frozenset()

    def assign(
        self, leader_id: str, protocol: str, generation: int, knows: Knowledge, members: Sequence[tuple[str, bytes]]
    ) -> dict[str, bytes]:
        """Assignment bytes per member id; `members` in the order of the JoinGroup answer."""
        workers = tuple(_member(member_id, blob, protocol) for member_id, blob in members)
        round_ = ConnectRound(
            now_ms=time.time_ns() // 1_000_000,
            generation=generation,
            last_completed_generation=knows.last_completed,
            protocol=protocol,
            leader=leader_id,
            config=knows.joined_with,
            fresh_config=knows.newest,
            members=workers,
        )
        before = self.memory
        result = self._right(round_)
        for fault in self.armed.faults:
            wrong = self._wrong(fault, before, result, round_, knows)
            if wrong is not None:
                result = wrong
                self.armed.answered(fault, generation)
        self.answered_for = frozenset(worker.id for worker in workers)
        return {worker.id: encode_share(result, result.shares[worker.id], JAVA_VERSION) for worker in workers}

    def _right(self, round_: ConnectRound) -> ConnectResult:
        if round_.protocol == EAGER:
            return eager.assign(round_)
        result, self.memory = incremental.assign(
            self.memory, round_, max_delay_ms=self.max_delay_ms, era=ERA, java_version=JAVA_VERSION
        )
        return result

    def _wrong(
        self, fault: LeaderFault, before: LeaderMemory, result: ConnectResult, round_: ConnectRound, knows: Knowledge
    ) -> ConnectResult | None:
        snapshot = knows.newest if knows.newest.offset == result.config_offset else knows.joined_with
        if fault not in RERUN:
            spoiled = spoil(fault, result, round_.members, snapshot.connectors)
            if spoiled is not None and round_.protocol != EAGER:
                self.memory = remembers(self.memory, result, spoiled)
            return spoiled
        seen = seen_wrongly(fault, round_, snapshot.connectors, knows.declared)
        if seen is None or result.error:
            return None
        wrong, after = incremental.assign(
            before, seen, max_delay_ms=self.max_delay_ms, era=ERA, java_version=JAVA_VERSION
        )
        if wrong.shares == result.shares:
            return None
        self.memory = after
        return replace(wrong, version=result.version)


def _member(member_id: str, blob: bytes, protocol: str) -> ConnectMember:
    outcome = decode_worker_state(blob, static=protocol == "static")
    if not isinstance(outcome, Decoded):
        raise ValueError(f"the worker state of {member_id} cannot be decoded")
    state = outcome.value
    held = Jobs(state.allocation.connectors, state.allocation.tasks) if state.allocation else Jobs()
    return ConnectMember(
        id=member_id,
        url=state.url,
        config_offset=state.config_offset,
        held=held,
        static=Jobs(state.static_connectors, state.static_tasks),
    )
