"""A Connect group of simulated workers on a real broker: joined, left, bounced, killed, rolled and led astray at will.

The broker writes their records into `__consumer_offsets` as it does for any group; nothing is ever produced there.
Each worker is known by its own host and port, and a bounced one comes back under the same. What a process remembers
as leader dies with the process.
"""

from collections.abc import Mapping
from typing import Self

from kafka.net.selector import NetworkSelector

from lab.cluster.config_topic import ConfigLog
from lab.errors import LabError
from lab.simulated_group.faults import ArmedFaults, LeaderFault
from lab.simulated_group.leader import Leader
from lab.simulated_group.protocol import Job, Process, jobs_of
from lab.simulated_group.status import StatusLog
from lab.simulated_group.worker import SimulatedWorker, Timing, World
from rebalance_monitor.assignors.connect.model import ConfigSnapshot, Jobs

SESSIONED = Process()


class SimulatedGroup:
    """The workers of one group, in one process and on one event loop.

    Either `connectors` and `config_offset` say once and for all what is configured, or `config` is the group's config
    topic. Statuses are written if `status_topic` is given. `workers` of them start with the block.
    """

    def __init__(
        self,
        bootstrap: str,
        group: str,
        *,
        workers: int,
        connectors: Mapping[str, int] | None = None,
        config_offset: int = -1,
        config: ConfigLog | None = None,
        status_topic: str | None = None,
        max_delay_ms: int = 0,
        first_port: int = 18083,
        process: Process = SESSIONED,
        timing: Timing | None = None,
    ) -> None:
        self.group = group
        self.config = config or ConfigLog(bootstrap, None, ConfigSnapshot(config_offset, connectors or {}))
        self.statuses = StatusLog(bootstrap, status_topic) if status_topic else None
        self.workers: list[SimulatedWorker] = []
        self._away: list[SimulatedWorker] = []
        self._armed = ArmedFaults()
        self._max_delay_ms = max_delay_ms
        self._next_port = first_port
        self._net = NetworkSelector()
        self._net.start()
        self._world = World(
            self._net, bootstrap, group, self.config, self.statuses, timing or Timing(), self._declared
        )  # fmt: skip
        for _ in range(workers):
            self._make(process)

    def __enter__(self) -> Self:
        for worker in self.workers:
            worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in (*self.workers, *self._away):
            worker.leave()
        if self.statuses is not None:
            self.statuses.flush()
        self._net.close()

    def _declared(self) -> dict[str, Jobs]:
        return {worker.url: worker.process.static for worker in self.workers}

    # -- workers come and go -------------------------------------------------------------------------------------

    def _make(self, process: Process, port: int | None = None) -> SimulatedWorker:
        if port is None:
            port, self._next_port = self._next_port, self._next_port + 1
        # Each process remembers its own rounds, so each has a leader's memory of its own.
        worker = SimulatedWorker(self._world, port, process, Leader(self._max_delay_ms, self._armed))
        self.workers.append(worker)
        return worker

    def add(self, process: Process = SESSIONED, port: int | None = None) -> SimulatedWorker:
        """A new process joins, at the next free port or at a given one."""
        worker = self._make(process, port)
        worker.start()
        return worker

    def remove(self, worker: SimulatedWorker) -> None:
        """The worker leaves properly."""
        self.workers.remove(worker)
        worker.leave()

    def kill(self, worker: SimulatedWorker) -> None:
        """The worker's process ends without leaving."""
        self.workers.remove(worker)
        worker.kill()

    def bounce(self, worker: SimulatedWorker, process: Process | None = None) -> SimulatedWorker:
        """The worker leaves, and a new process takes its place under the same address, with other settings if given."""
        self.remove(worker)
        return self.add(process or worker.process, worker.port)

    def vanish(self, worker: SimulatedWorker) -> None:
        """The worker is cut off from the broker, and its jobs run on."""
        self.workers.remove(worker)
        self._away.append(worker)
        worker.vanish()

    def come_back(self, worker: SimulatedWorker) -> None:
        """The worker that was cut off is back, a zombie if its session has ended meanwhile."""
        self._away.remove(worker)
        self.workers.append(worker)
        worker.come_back()

    def reconfigured(self) -> None:
        """All workers have noticed a change in the config topic, and ask for a rebalance as real ones do."""
        for worker in self.workers:
            worker.request_rejoin()

    # -- what is seen --------------------------------------------------------------------------------------------

    def held(self) -> list[Job]:
        """All that is held, repeats included."""
        return [job for worker in self.workers for job in jobs_of(worker.allocation)]

    @property
    def generation(self) -> int:
        """The latest generation that a member has completed."""
        return max((worker.completed_generation for worker in self.workers), default=-1)

    @property
    def leader(self) -> SimulatedWorker:
        """The member that leads."""
        for worker in self.workers:
            if worker.leads:
                return worker
        raise LabError(f"the simulated group {self.group} has no leader yet")

    def settled(self) -> bool:
        """These workers and no others are in one generation, and none is about to join again, now or after a delay.

        A member that has just left or died is still in the generation that the others know: they will rebalance.
        """
        for worker in self.workers:
            if worker.problem is not None:
                raise LabError(f"the simulated worker {worker.address} failed: {worker.problem}")
        members = {worker.member_id for worker in self.workers}
        return (
            len({worker.completed_generation for worker in self.workers}) == 1
            and any(worker.leads and worker.leader.answered_for == members for worker in self.workers)
            and all(worker.stable() and not worker.need_rejoin() and not worker.waits for worker in self.workers)
        )

    def calm(self) -> bool:
        """Settled, nothing is held twice, and nothing is missing."""
        held = self.held()
        jobs = sum(1 + tasks for tasks in self.config.newest.connectors.values())
        return self.settled() and len(held) == jobs == len(set(held))

    def broken(self) -> bool:
        """Something is held twice."""
        held = self.held()
        return len(held) > len(set(held))

    # -- what goes wrong -----------------------------------------------------------------------------------------

    def mislead(self, fault: LeaderFault) -> None:
        """Whoever leads the next round that offers the opportunity gets it wrong, once."""
        self._armed.arm(fault)

    @property
    def obedient(self) -> bool:
        """No leader's fault is still to happen."""
        return not self._armed.faults

    def relent(self) -> None:
        """Nobody is wrong any more."""
        self._armed.clear()
        for worker in self.workers:
            worker.faults.clear()

    def spoil(self) -> None:
        """Make the leader hand out tasks twice and unevenly now."""
        leader = self.leader
        self.mislead(LeaderFault.DUPLICATE_AND_IMBALANCE)
        leader.request_rejoin()

    def rejoin(self) -> None:
        """Make the leader ask for another round, in which the algorithm repairs what it sees."""
        for worker in self.workers:
            if worker.leads:
                worker.request_rejoin()
