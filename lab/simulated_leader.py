"""What the leader of a simulated Connect group hands out: the right answer, or on demand a wrong one.

The right answer comes from the same algorithm a real leader of the newest era runs, so that healthy rounds of a
simulated group are judged like those of a real one, and a wrong round heals by itself in the rounds after it:
the algorithm takes a job that two members report from both, then gives it to one.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assignors import connect_incremental
from assignors.connect_eras import ERAS
from assignors.connect_model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
    MemberShare,
)
from schemas.connect_protocol import decode_worker_state
from schemas.outcomes import Decoded
from streaming.core.connect_bytes import encode_share

ERA = ERAS["A5"]
JAVA_VERSION = 17


@dataclass(slots=True)
class Leader:
    """One worker process in the role of leader; `spoil_next` makes its next round wrong."""

    connectors: Mapping[str, int]
    max_delay_ms: int
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    spoil_next: bool = False

    def assign(
        self,
        leader_id: str,
        protocol: str,
        generation: int,
        last_completed: int,
        members: Sequence[tuple[str, bytes]],
    ) -> dict[str, bytes]:
        """Assignment bytes per member id; `members` in the order of the JoinGroup answer."""
        workers = tuple(_member(member_id, blob) for member_id, blob in members)
        own = next(worker for worker in workers if worker.id == leader_id)
        round_ = ConnectRound(
            now_ms=time.time_ns() // 1_000_000,
            generation=generation,
            last_completed_generation=last_completed,
            protocol=protocol,
            leader=leader_id,
            config=ConfigSnapshot(own.config_offset, self.connectors),
            members=workers,
        )
        result, self.memory = connect_incremental.assign(
            self.memory, round_, max_delay_ms=self.max_delay_ms, era=ERA, java_version=JAVA_VERSION
        )
        if self.spoil_next and len(workers) > 1:
            self.spoil_next = False
            result = spoiled(result, workers)
        return {worker.id: encode_share(result, result.shares[worker.id], JAVA_VERSION) for worker in workers}


def spoiled(result: ConnectResult, workers: Sequence[ConnectMember]) -> ConnectResult:
    """One member is given all that another one runs and keeps: duplicate actives, and an unbalanced spread."""
    busiest = max(workers, key=lambda worker: (len(worker.held.tasks), worker.url))
    victim_of = max((w for w in workers if w is not busiest), key=lambda worker: (len(worker.held.tasks), worker.url))
    share = result.shares[victim_of.id]
    assigned = Jobs(share.assigned.connectors, (*share.assigned.tasks, *busiest.held.tasks))
    return replace(result, shares={**result.shares, victim_of.id: MemberShare(assigned, share.revoked)})


def _member(member_id: str, blob: bytes) -> ConnectMember:
    outcome = decode_worker_state(blob)
    if not isinstance(outcome, Decoded):
        raise ValueError(f"the worker state of {member_id} cannot be decoded")
    state = outcome.value
    held = Jobs(state.allocation.connectors, state.allocation.tasks) if state.allocation else Jobs()
    return ConnectMember(id=member_id, url=state.url, config_offset=state.config_offset, held=held)
