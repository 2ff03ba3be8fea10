"""One simulated Connect worker: a real group member without Java and without tasks.

After each answer it does what a worker's main loop does, in this order: join again after an error; read the config
topic to its end; join again when it has read past the answer's offset; start what is new; join again after having
stopped something, or when the answer's delay is over. All members of a group live on one event loop; between two
heartbeats they cost nothing.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from kafka.coordinator.base import BaseCoordinator
from kafka.errors import KafkaError
from kafka.net.compat import KafkaNetClient
from kafka.net.selector import NetworkSelector
from kafka.net.wakeup_notifier import WakeupNotifier

from lab.cluster.config_topic import ConfigLog
from lab.errors import LabError
from lab.simulated_group.faults import WorkerFault
from lab.simulated_group.leader import JAVA_VERSION, Knowledge, Leader
from lab.simulated_group.protocol import EAGER, Job, Process, jobs_of, kept, offers, revoked_of
from lab.simulated_group.status import StatusLog
from rebalance_monitor.assignors.connect.model import ConfigSnapshot, Jobs
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, decode_assignment
from rebalance_monitor.schemas.outcomes import Decoded

NEVER = float("inf")
IDLE_S = 2.0
"""Longest sleep of a member; it must show up more often than its rebalance time-out."""
RETRY_S = 0.2


@dataclass(frozen=True, slots=True)
class Timing:
    """Time-outs that a member tells the broker."""

    session_timeout_ms: int = 6_000
    heartbeat_interval_ms: int = 500
    rebalance_timeout_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class World:
    """What all workers of a group share."""

    net: NetworkSelector
    bootstrap: str
    group: str
    config: ConfigLog
    statuses: StatusLog | None = None
    timing: Timing = field(default_factory=Timing)
    declared: Callable[[], Mapping[str, Jobs]] = dict


class SimulatedWorker(BaseCoordinator):  # type: ignore[misc]  # kafka-python carries no types
    """One process: reports what it holds, applies what it is given, and leads when the broker says so."""

    def __init__(self, world: World, port: int, process: Process, leader: Leader) -> None:
        self.world = world
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self.url = process.url or f"http://{self.address}/"
        self.process = process
        self.leader = leader
        self.faults: set[WorkerFault] = set()
        self.allocation: ConnectAssignment | None = None
        self.protocol: str | None = None
        self.completed_generation = -1
        self.running: dict[Job, None] = {}
        self.problem: Exception | None = None
        self._read = world.config.newest
        self._joined_with = self._read
        self._rejoin_at = NEVER
        self._cut_off = False
        self._over = False
        client = KafkaNetClient(net=world.net, bootstrap_servers=world.bootstrap, client_id=f"connect-{self.address}")
        client._manager.bootstrap(30_000)
        super().__init__(
            client,
            group_id=world.group,
            session_timeout_ms=world.timing.session_timeout_ms,
            heartbeat_interval_ms=world.timing.heartbeat_interval_ms,
            max_poll_interval_ms=world.timing.rebalance_timeout_ms,
            api_version=client._manager.broker_version,
        )
        self._wake = WakeupNotifier(world.net)

    # -- what it knows -------------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> ConfigSnapshot:
        """The configuration as far as this worker has read it."""
        if WorkerFault.STALE_CONFIG not in self.faults:
            self._read = self.world.config.newest
        return self._read

    @property
    def member_id(self) -> str:
        """The id that the coordinator gave it last."""
        return str(self._generation.member_id)

    @property
    def leads(self) -> bool:
        """Whether this member leads the latest generation that it has completed."""
        return self.allocation is not None and self.allocation.leader == self.member_id

    @property
    def waits(self) -> bool:
        """Whether the last answer's delay is still running."""
        return self._rejoin_at != NEVER

    # -- the group protocol --------------------------------------------------------------------------------------

    def protocol_type(self) -> str:
        return "connect"

    def group_protocols(self) -> list[tuple[str, bytes]]:
        self._joined_with = self.snapshot
        return offers(self.process, self.url, self._joined_with.offset, self.allocation, JAVA_VERSION)

    def _perform_assignment(self, leader_id: str, protocol: str, members: Sequence[Any]) -> dict[str, bytes]:
        blobs = [(member.member_id, bytes(member.metadata)) for member in members]
        knows = Knowledge(self._joined_with, self.snapshot, self.completed_generation, self.world.declared())
        return self.leader.assign(leader_id, protocol, int(self._generation.generation_id), knows, blobs)

    async def _on_join_prepare_async(self, generation: int, member_id: str, timeout_ms: float | None = None) -> None:
        # Only a worker whose last generation was eager stops everything before it joins.
        if self.protocol == EAGER:
            self._stop_jobs(jobs_of(self.allocation))

    async def _on_join_complete_async(self, generation: int, member_id: str, protocol: str, blob: bytes) -> None:
        outcome = decode_assignment(bytes(blob))
        if not isinstance(outcome, Decoded):
            raise LabError(f"{self.url} was given an assignment that cannot be decoded")
        given = outcome.value
        obeyed = given
        if WorkerFault.IGNORED_REVOCATION in self.faults:
            obeyed = replace(given, revoked_connectors=(), revoked_tasks=())
        if protocol != EAGER and WorkerFault.HIDDEN_WORK not in self.faults:
            self._stop_jobs(revoked_of(obeyed))
        self.allocation = kept(self.allocation, obeyed, protocol)
        self.protocol = protocol
        self.completed_generation = generation
        self.leader.armed.completed(generation)
        self._rejoin_at = time.monotonic() + given.delay_ms / 1000 if given.delay_ms else NEVER
        self._go_on(obeyed)

    def _go_on(self, given: ConnectAssignment) -> None:
        offset = self.snapshot.offset
        if offset < given.config_offset and not given.error:
            # It cannot read to the end: a real worker leaves, backs off and joins again.
            self._rejoin_at = time.monotonic() + RETRY_S
        elif given.error or offset != given.config_offset:
            self.request_rejoin()
        else:
            self._start_jobs(jobs_of(self.allocation))
            if revoked_of(given):
                self.request_rejoin()

    # -- jobs and their statuses ---------------------------------------------------------------------------------

    def _start_jobs(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            if job not in self.running:
                self.running[job] = None
                self._tell(job, "RUNNING")

    def _stop_jobs(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            if job in self.running:
                del self.running[job]
                if exists(job, self.snapshot.connectors):
                    self._tell(job, "UNASSIGNED")
                elif self.world.statuses is not None:
                    self.world.statuses.remove(job)

    def _tell(self, job: Job, state: str, trace: str | None = None) -> None:
        if self.world.statuses is not None:
            signed = self.process.worker_id or self.address
            self.world.statuses.put(job, state, signed, self.completed_generation, trace)

    def fail(self, job: Job) -> None:
        """The job throws: FAILED with a trace, and it stays assigned."""
        self.running.pop(job, None)
        self._tell(job, "FAILED", "java.lang.IllegalStateException: told to fail")

    def restart(self, job: Job) -> None:
        """The job is restarted as REST asks for it (KIP-745): stopped, RESTARTING, started; it stays assigned."""
        self._stop_jobs([job])
        self._tell(job, "RESTARTING")
        self._start_jobs([job])

    def say_running(self) -> None:
        """A sign of life of all that runs here, in the generation the worker knows: what a zombie's tasks do."""
        for job in self.running:
            self._tell(job, "RUNNING")

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.world.net.call_soon_threadsafe(self._live)

    async def _live(self) -> None:
        while not self._over:
            if time.monotonic() >= self._rejoin_at:
                self._rejoin_at = NEVER
                self.request_rejoin()
            try:
                if not self._cut_off and await self.ensure_active_group_async():
                    self.poll_heartbeat()
            except KafkaError:  # a refused join or a lost broker is retried until the member is told to leave
                await self.world.net.sleep(RETRY_S)
            except Exception as why:
                self.problem = why
                raise
            await self._wake(max(0.0, min(IDLE_S, self._rejoin_at - time.monotonic())))

    async def ensure_coordinator_ready_async(self, timeout_ms: float | None = None) -> bool:
        if self._over:
            raise KafkaError("the worker has ended")
        return bool(await super().ensure_coordinator_ready_async(timeout_ms))

    def request_rejoin(self) -> None:
        super().request_rejoin()
        self._wake.notify()

    def reset_generation(self, *member_id: str, **named: str) -> None:
        super().reset_generation(*member_id, **named)
        self._wake.notify()

    def vanish(self) -> None:
        """Cut off: no heartbeat and no join, but the jobs run on. The group notices when the session ends."""
        self._cut_off = True
        self._disable_heartbeat()

    def come_back(self) -> None:
        """Connected again: the broker knows the member no more, so it joins under a new id with its old allocation."""
        self._cut_off = False
        self._enable_heartbeat()
        self._wake.notify()

    def leave(self) -> None:
        """Stop the jobs, leave the group properly and end."""
        self._end(self._leave_async)

    def kill(self) -> None:
        """End without a word, as SIGKILL does: the group notices when the session ends."""
        self._end(self._vanish_async)

    def _end(self, how: Callable[[], Any]) -> None:
        with suppress(KafkaError):
            self.world.net.run(how)

    async def _leave_async(self) -> None:
        self._stop_living()
        self._stop_jobs(tuple(self.running))
        await self.maybe_leave_group_async(timeout_ms=3_000)
        self._manager.close()

    async def _vanish_async(self) -> None:
        self._stop_living()
        self._manager.close()

    def _stop_living(self) -> None:
        self._over = True
        self._close_heartbeat()
        self._wake.notify()


def exists(job: Job, connectors: Mapping[str, int]) -> bool:
    """Whether a connector or task is configured; `connectors`: name -> tasks."""
    return job in connectors if isinstance(job, str) else job[1] < connectors.get(job[0], 0)
