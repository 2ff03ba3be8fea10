"""One simulated cluster, and what can be done to it. Every action is noted in the truth with its true time."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lab.simulated.config import ConfigTopic, Wanted
from lab.simulated.coordinator import Coordinator
from lab.simulated.log import Log
from lab.simulated.queue import START_MS, Queue
from lab.simulated.status import StatusTopic
from lab.simulated.truth import Truth
from lab.simulated.worker import Worker, WorkerSettings
from lab.simulated.world import World
from lab.simulated_group.faults import LeaderFault
from lab.simulated_group.protocol import Job
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a cluster is made of. `brokers`: how many can be the coordinator, one after the other."""

    group: str = "simulated"
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    brokers: int = 3
    status_partitions: int = 5
    initial_delay_ms: int = 3_000
    transactional: bool = False
    new_coordinator: bool = True
    others: tuple[WorkerSettings, ...] = ()
    """Other settings of which a worker that is started may be: another release, another protocol, jobs of its own."""


class Cluster:
    """A group of workers with its coordinator and topics, at some moment of its life."""

    def __init__(self, seed: int, shape: Shape | None = None) -> None:
        self.seed, self.shape = seed, shape or Shape()
        queue, log, truth = Queue(seed), Log(), Truth()
        group = self.shape.group
        coordinator = Coordinator(
            queue,
            log,
            truth,
            group,
            partition=queue.random.randrange(5),
            initial_delay_ms=self.shape.initial_delay_ms,
            writes_shell=self.shape.new_coordinator,
        )
        self.world = World(
            queue=queue,
            log=log,
            truth=truth,
            coordinator=coordinator,
            config=ConfigTopic(queue, log, f"{group}-configs", transactional=self.shape.transactional),
            status=StatusTopic(queue, log, f"{group}-status", self.shape.status_partitions),
        )
        self.queue, self.log, self.truth, self.coordinator = queue, log, truth, coordinator
        self._incarnations: dict[str, int] = {}
        self._versions = 0

    # -- time ----------------------------------------------------------------------------------------------------

    def run(self, for_ms: float) -> None:
        """Let true time pass."""
        self.queue.run(self.queue.now_ms + for_ms)

    @property
    def now_ms(self) -> int:
        """True time."""
        return int(self.queue.now_ms)

    @property
    def began_ms(self) -> int:
        """When it all began."""
        return START_MS

    # -- workers -------------------------------------------------------------------------------------------------

    @property
    def workers(self) -> list[Worker]:
        """Processes that have not ended, frozen ones too."""
        return [one for one in self.world.workers if not one.ended]

    def add(self, host: str | None = None, settings: WorkerSettings | None = None) -> Worker:
        """Start a worker, by default at a new address."""
        if host is None:
            host = f"10.0.0.{len(self._incarnations) + 1}"
        self._incarnations[host] = incarnation = self._incarnations.get(host, 0) + 1
        worker = Worker(self.world, host, incarnation, settings or self._any_settings())
        self.world.workers.append(worker)
        self._note("started", worker.name)
        worker.start()
        return worker

    def _any_settings(self) -> WorkerSettings:
        """The shape's, or where there are several one of them."""
        if not self.shape.others:
            return self.shape.worker
        return self.queue.random.choice((self.shape.worker, *self.shape.others))

    def bounce(self, worker: Worker, away_ms: float, *, kill: bool = False) -> None:
        """Stop it, cleanly or not, and start it again at its address."""
        if kill:
            worker.kill()
        else:
            worker.stop()
        self.queue.after(away_ms, lambda: self._again(worker))

    def _again(self, worker: Worker) -> None:
        if worker.ended:
            self.add(worker.host, worker.settings if worker.settings.static else None)
        else:
            self.queue.after(500, lambda: self._again(worker))

    def freeze(self, worker: Worker, for_ms: float) -> None:
        """SIGSTOP now, SIGCONT later."""
        worker.freeze()
        self.queue.after(for_ms, worker.thaw)

    def lose_next_sync(self, worker: Worker) -> None:
        """The answer to its next SyncGroup gets lost."""
        worker.loses_sync = True

    def occupy(self, worker: Worker, for_ms: float) -> None:
        """Its herder is stuck; longer than the rebalance time-out, it leaves the group without knowing."""
        self._note("herder stuck", worker.name)
        worker.request(lambda: worker.occupy(for_ms))

    # -- the coordinator -----------------------------------------------------------------------------------------

    def outage(self, for_ms: float, *, other_broker: bool = False) -> None:
        """The coordinator's broker goes down; after a while it is back, or another broker takes over."""
        if not self.coordinator.reachable:
            return
        self._note("coordinator down")
        self.coordinator.go_down()
        for worker in self.workers:
            worker.later(self.queue.between(1, 50), worker.lose_coordinator)
        broker = self.coordinator.broker
        if other_broker:
            broker = broker % self.shape.brokers + 1
        self.queue.after(for_ms, lambda: self._back(broker))

    def _back(self, broker: int) -> None:
        self._note(f"coordinator up: broker {broker}")
        self.coordinator.come_up(broker)
        for worker in self.workers:
            worker.later(self.queue.between(5, 150), worker.find_coordinator)

    # -- configuration -------------------------------------------------------------------------------------------

    def create(self, name: str, tasks: int) -> None:
        """A new connector, or another configuration of one that exists."""
        self._versions += 1
        wanted = Wanted(tasks, self._versions)
        self._note(f"configured {name}: {tasks}")
        self._leader_writes(lambda leader: self.world.config.connector(leader.clock, name, wanted))

    def delete(self, name: str) -> None:
        """The connector and its tasks go."""
        self._note(f"deleted {name}")

        def write(leader: Worker) -> None:
            if name in leader.view.configs:
                self.world.config.removed(leader.clock, name)

        self._leader_writes(write)

    def aim(self, name: str, state: str) -> None:
        """STARTED, PAUSED or STOPPED."""
        self._note(f"{state} {name}")

        def write(leader: Worker) -> None:
            if name not in leader.view.configs:
                return
            if state == "STOPPED" and leader.view.counts.get(name):
                self.world.config.commit(leader.clock, name, 0)
            self.world.config.target(leader.clock, name, state)

        self._leader_writes(write)

    def _leader_writes(self, write: Callable[[Worker], None]) -> None:
        self.world.leader_writes(write)

    def connectors(self) -> dict[str, int]:
        """What is configured, by the last record."""
        configured: dict[str, int] = {}
        for entry in self.world.config.entries:
            if entry.wanted is not None and entry.kind.name == "CONNECTOR":
                configured[entry.name] = entry.wanted.tasks
            elif entry.kind.name == "REMOVED":
                configured.pop(entry.name, None)
        return configured

    # -- jobs and faults -----------------------------------------------------------------------------------------

    def fail(self, worker: Worker, job: Job, restart_after_ms: float | None = None) -> None:
        """The job throws; perhaps it is restarted."""
        self._note(f"failed {job}", worker.name)
        worker.jobs.fail(job)
        if restart_after_ms is not None:
            worker.later(restart_after_ms, lambda: worker.request(lambda: worker.restart(job)))

    def arm(self, fault: LeaderFault) -> None:
        """The next leader that finds an opportunity is wrong."""
        self._note(f"armed {fault.name}")
        self.world.armed.append(fault)

    def disobey(self, worker: Worker) -> None:
        """From now on it runs on with what it is told to stop, and says nothing of it."""
        self._note("ignores revocations", worker.name)
        worker.ignores_revocations = True

    def _note(self, what: str, process: str = "") -> None:
        self.truth.note(self.queue.now_ms, what, process)

    # -- for the monitor -----------------------------------------------------------------------------------------

    def settings(self, *, told: bool = True) -> ClusterSettings:
        """What the monitor may be told of the cluster. `told` False: only its topics."""
        worker = self.shape.worker
        one_release = len({worker.release, *(one.release for one in self.shape.others)}) == 1
        connect = ConnectSettings(
            config_topic=self.world.config.topic,
            status_topic=self.world.status.topic,
            max_delay_ms=worker.max_delay_ms if told else None,
            release=worker.release if told and one_release else None,
            java_version=worker.java_version if told else None,
        )
        return ClusterSettings(name=f"simulated-{self.seed}", connect={self.shape.group: connect})
