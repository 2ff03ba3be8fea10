"""A Connect cluster in memory: processes join, vanish and come back, and keep allocations as real workers do."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import pytest

from rebalance_monitor.assignors.connect import incremental
from rebalance_monitor.assignors.connect.eras import NEWEST, Era
from rebalance_monitor.assignors.connect.model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
    MemberShare,
)
from rebalance_monitor.assignors.connect.wire_entries import CONNECTOR_ITSELF, wire_entries_assigned


@dataclass
class Process:
    """One worker process. `held` is its own list: what came last stands first."""

    held: Jobs = field(default_factory=Jobs)
    last_completed: int = -1
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    static: Jobs = field(default_factory=Jobs)

    def allocation(self) -> Jobs:
        """The list as it travels: connectors in hash order, tasks grouped by connector."""
        entries = wire_entries_assigned(self.held.connectors, self.held.tasks, 17)
        return Jobs(
            tuple(name for name, numbers in entries if CONNECTOR_ITSELF in numbers),
            tuple((name, n) for name, numbers in entries for n in numbers if n != CONNECTOR_ITSELF),
        )

    def apply(self, share: MemberShare, generation: int) -> None:
        stop_connectors, stop_tasks = set(share.revoked.connectors), set(share.revoked.tasks)
        self.held = Jobs(
            share.assigned.connectors + tuple(c for c in self.held.connectors if c not in stop_connectors),
            share.assigned.tasks + tuple(t for t in self.held.tasks if t not in stop_tasks),
        )
        self.last_completed = generation


class ConnectCluster:
    """Members in the order they joined; the leader is the first unless said otherwise."""

    def __init__(
        self, connectors: dict[str, int], *, max_delay_ms: int = 300_000, era: Era = NEWEST, protocol: str = "sessioned"
    ) -> None:
        self.connectors = dict(connectors)
        self.max_delay_ms = max_delay_ms
        self.era = era
        self.protocol = protocol if era.speaks_sessioned else "compatible"
        self.generation = 0
        self.members: dict[str, Process] = {}
        self.active: dict[str, Jobs] = {}
        self.before = LeaderMemory()
        self.round: ConnectRound | None = None
        self.after = LeaderMemory()

    def join(self, *ids: str, process: Process | None = None) -> None:
        for member_id in ids:
            self.members[member_id] = process or Process()

    def leave(self, member_id: str) -> Process:
        return self.members.pop(member_id)

    def rebalance(self, now_ms: int, *, leader: str | None = None, missed: Collection[str] = ()) -> ConnectResult:
        """One generation; members in `missed` never see its assignment."""
        self.generation += 1
        leader = leader or next(iter(self.members))
        leading = self.members[leader]
        self.active = {member_id: process.allocation() for member_id, process in self.members.items()}
        self.before = leading.memory
        self.round = round_ = ConnectRound(
            now_ms=now_ms,
            generation=self.generation,
            last_completed_generation=leading.last_completed,
            protocol=self.protocol,
            leader=leader,
            config=ConfigSnapshot(10, self.connectors),
            members=tuple(
                ConnectMember(
                    id=member_id,
                    url=f"http://{member_id}:8083/",
                    config_offset=10,
                    held=held,
                    static=self.members[member_id].static,
                )
                for member_id, held in self.active.items()
            ),
        )
        result, self.after = incremental.assign(leading.memory, round_, max_delay_ms=self.max_delay_ms, era=self.era)
        leading.memory = self.after
        for member_id, process in self.members.items():
            if member_id not in missed:
                process.apply(result.shares[member_id], self.generation)
        return result


@pytest.fixture(scope="session")
def new_cluster() -> Callable[..., ConnectCluster]:
    return ConnectCluster
