"""A Connect group in memory, whose leader runs the assignors: what would happen if somebody restarted a worker.

The network is perfect: a worker that stops leaves the group at once, and every round is complete. The leader stays
until it leaves; then the worker that joined first leads. Each process has a leader's memory of its own, empty in a new
process. Time moves only where a delay is waited for or a worker is away.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from rebalance_monitor.assignors.connect import eager, incremental
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
from rebalance_monitor.streaming.core.connect.observed import EAGER, ConnectorOrTask
from rebalance_monitor.streaming.core.incidents.step import WorkerMove

MOST_ROUNDS = 200
FIRST_OFFSET = 10


@dataclass(slots=True, kw_only=True)
class Worker:
    """One worker process. `stray`: what it runs without reporting it; `frozen`: it runs nothing of what it holds."""

    era: Era
    held: Jobs = field(default_factory=Jobs)
    static: Jobs = field(default_factory=Jobs)
    config_offset: int = FIRST_OFFSET
    memory: LeaderMemory = field(default_factory=LeaderMemory)
    last_completed: int = -1
    shown_leader: str = ""
    stray: frozenset[ConnectorOrTask] = frozenset()
    frozen: bool = False

    @property
    def jobs(self) -> frozenset[ConnectorOrTask]:
        """What it holds by its own report."""
        return frozenset((*self.held.connectors, *self.held.tasks))

    @property
    def runs(self) -> frozenset[ConnectorOrTask]:
        return frozenset() if self.frozen else self.jobs | self.stray

    def apply(self, share: MemberShare, generation: int, leader: str, java_version: int = 17) -> None:
        """Stop and start what the leader says."""
        self.held = reported(self.held, share, java_version)
        self.last_completed, self.shown_leader = generation, leader


def reported(held: Jobs, share: MemberShare, java_version: int) -> Jobs:
    """What a worker that had these reports in its next join, in the order of its bytes: what is new stands first in its
    own list, and the bytes group that by connector (connect.md 1.4)."""
    stop = frozenset((*share.revoked.connectors, *share.revoked.tasks))
    entries = wire_entries_assigned(
        share.assigned.connectors + tuple(one for one in held.connectors if one not in stop),
        share.assigned.tasks + tuple(one for one in held.tasks if one not in stop),
        java_version,
    )
    return Jobs(
        tuple(name for name, numbers in entries if CONNECTOR_ITSELF in numbers),
        tuple((name, number) for name, numbers in entries for number in numbers if number != CONNECTOR_ITSELF),
    )


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """One round: when, who led, the answer, and what is configured and runs nowhere after it."""

    at_ms: int
    leader: str
    result: ConnectResult
    unheld: frozenset[ConnectorOrTask]


@dataclass(slots=True, kw_only=True)
class Cluster:
    """The group: its workers by name, in the order in which they joined, and what is configured."""

    connectors: dict[str, int]
    era: Era
    max_delay_ms: int
    protocol: str = "compatible"
    workers: dict[str, Worker] = field(default_factory=dict)
    leader: str = ""
    generation: int = 0
    now_ms: int = 1_000_000
    newest_offset: int = FIRST_OFFSET
    last: ConnectResult | None = None
    waited_ms: dict[ConnectorOrTask, int] = field(default_factory=dict)
    java_version: int = 17
    rounds: list["PlayedRound"] = field(default_factory=list)

    @property
    def configured(self) -> frozenset[ConnectorOrTask]:
        tasks = ((name, number) for name, count in self.connectors.items() for number in range(count))
        return frozenset((*self.connectors, *tasks))

    def holders(self, job: ConnectorOrTask) -> list[str]:
        return [name for name, worker in self.workers.items() if job in worker.runs]

    def unheld(self) -> frozenset[ConnectorOrTask]:
        return self.configured.difference(*(worker.runs for worker in self.workers.values()))

    def start(self, name: str, *, era: Era | None = None, static: Jobs | None = None) -> None:
        """A new process joins; the group rebalances."""
        self.workers[name] = Worker(era=era or self.era, static=static or Jobs(), config_offset=self.newest_offset)
        self.rebalance()

    def stop(self, name: str) -> Worker:
        """A process leaves; the others, if there are any, rebalance."""
        gone = self.workers.pop(name)
        if self.workers:
            self.rebalance()
        return gone

    def restart(self, name: str, away_ms: int, *, era: Era | None = None, static: Jobs | None = None) -> None:
        """A process leaves and a new one of the same name joins; what falls due meanwhile happens."""
        gone = self.stop(name)
        self.wait(away_ms)
        self.start(name, era=era or gone.era, static=gone.static if static is None else static)

    def rebalance(self) -> None:
        """One round, and those that follow at once because somebody had to stop something."""
        for _ in range(MOST_ROUNDS):
            result = self.round()
            if result.error or not any(share.revoked for share in result.shares.values()):
                return

    def wait(self, for_ms: int) -> None:
        """Time goes on; a delay that ends causes the rebalance that it was announced for."""
        until_ms = self.now_ms + for_ms
        for _ in range(MOST_ROUNDS):
            delay_ms = self.delay_ms
            if not delay_ms or self.now_ms + delay_ms > until_ms or not self.workers:
                break
            self._pass(delay_ms)
            self.rebalance()
        self._pass(until_ms - self.now_ms)

    def settle(self) -> None:
        """Until no delay runs any more."""
        for _ in range(MOST_ROUNDS):
            if not self.delay_ms or not self.workers:
                return
            self.wait(self.delay_ms)

    @property
    def delay_ms(self) -> int:
        """The delay that the last round announced, as long as nothing came since."""
        return 0 if self.last is None else self.last.delay_ms

    def _pass(self, for_ms: int) -> None:
        for job in self.unheld():
            self.waited_ms[job] = self.waited_ms.get(job, 0) + for_ms
        self.now_ms += for_ms

    def round(self) -> ConnectResult:
        if self.leader not in self.workers:
            self.leader = next(iter(self.workers))
        leading = self.workers[self.leader]
        self.generation += 1
        round_ = ConnectRound(
            now_ms=self.now_ms,
            generation=self.generation,
            last_completed_generation=leading.last_completed,
            protocol=self.protocol,
            leader=self.leader,
            config=ConfigSnapshot(leading.config_offset, self.connectors),
            members=tuple(
                ConnectMember(
                    id=name, url=f"http://{name}/", config_offset=one.config_offset, held=one.held, static=one.static
                )
                for name, one in self.workers.items()
            ),
        )
        if self.protocol == EAGER:
            result = eager.assign(round_)
            for worker in self.workers.values():
                worker.held = Jobs()
        else:
            result, leading.memory = incremental.assign(
                leading.memory, round_, max_delay_ms=self.max_delay_ms, era=leading.era, java_version=self.java_version
            )
        for name, worker in self.workers.items():
            worker.apply(result.shares[name], self.generation, self.leader, self.java_version)
        self.last = result
        self.rounds.append(PlayedRound(self.now_ms, self.leader, result, self.unheld()))
        return result


def cluster_of(
    era: Era, max_delay_ms: int, hands: Mapping[str, Jobs], connectors: Mapping[str, int], protocol: str = "compatible"
) -> Cluster:
    """A group whose workers hold this, after the round in which its leader (the first worker) learned of it."""
    made = Cluster(connectors=dict(connectors), era=era, max_delay_ms=max_delay_ms, protocol=protocol)
    made.workers = {name: Worker(era=era, held=held) for name, held in hands.items()}
    if made.workers:
        made.rebalance()
    return made


RESTART_MS = 30_000
"""How long a worker is away while it restarts: shorter than the default delay of five minutes."""
ADDED = "added"


def play(move: WorkerMove, cluster: Cluster, named: str, *, declares: Jobs | None = None) -> tuple[int, int]:
    """Does it, and lets the group come to rest: how many connectors and tasks waited for a worker meanwhile, and how
    long at most (ms). `named`: the worker that the incident names; `declares`: what the new or corrected worker
    declares (protocol `static`).
    """
    cluster.waited_ms.clear()
    match move:
        case WorkerMove.RESTART_LEADER:
            cluster.restart(cluster.leader, RESTART_MS)
        case WorkerMove.RESTART_NAMED:
            cluster.restart(named, RESTART_MS)
        case WorkerMove.RESTART_ANOTHER:
            others = (name for name in cluster.workers if name not in (cluster.leader, named))
            cluster.restart(next(others, cluster.leader), RESTART_MS)
        case WorkerMove.KEEP_NAMED_AWAY:
            cluster.restart(named, cluster.max_delay_ms + RESTART_MS)
        case WorkerMove.STOP_NAMED:
            cluster.stop(named)
        case WorkerMove.START_WORKER:
            cluster.start(ADDED, static=declares)
        case WorkerMove.REDECLARE:
            cluster.restart(named, RESTART_MS, static=declares or Jobs())
        case WorkerMove.UPGRADE:
            for name in list(cluster.workers):
                cluster.restart(name, RESTART_MS, era=NEWEST)
                cluster.settle()
        case _:
            assert_never(move)
    cluster.settle()
    waited = [ms for ms in cluster.waited_ms.values() if ms]
    return len(waited), max(waited, default=0)
