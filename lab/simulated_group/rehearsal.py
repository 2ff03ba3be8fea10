"""A simulated group on a stage of its own: topics, workers by name, and a watcher that judges every generation."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from lab.cluster import config_topic, workers
from lab.cluster.broker import Broker
from lab.process import Lab
from lab.simulated_group.leader import JAVA_VERSION
from lab.simulated_group.members import SimulatedGroup
from lab.simulated_group.protocol import Job, Process
from lab.simulated_group.status import VERSION
from lab.simulated_group.watcher import Judged, Watcher
from lab.simulated_group.worker import SimulatedWorker, Timing
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings, Damping

# Sessions outlast a busy machine's pauses; heartbeats tell a member soon that the group rebalances.
TIMING = Timing(session_timeout_ms=6_000, heartbeat_interval_ms=150, rebalance_timeout_ms=10_000)
PATIENCE_S = 120.0


@dataclass(slots=True)
class Rehearsal:
    """The group, who plays which part in it, and what the monitor says of it."""

    lab: Lab
    group: SimulatedGroup
    watcher: Watcher
    settings: ClusterSettings
    cast: dict[str, SimulatedWorker] = field(default_factory=dict)
    _told: int = 0

    def join(self, name: str, process: Process) -> None:
        """A new process plays this part, at the address of the one that played it before."""
        self.cast[name] = self.group.add(process, self.cast[name].port if name in self.cast else None)

    def leave(self, *names: str) -> None:
        for name in names:
            self.group.remove(self.cast[name])

    def roll(self, name: str, process: Process) -> None:
        self.cast[name] = self.group.bounce(self.cast[name], process)

    def settle(self, what: str, after: int) -> None:
        """Until all members are in one generation later than `after` and nothing is pending."""
        self.lab.wait_for(what, lambda: self.group.settled() and self.group.generation > after, timeout_s=PATIENCE_S)

    def story(self) -> list[Judged]:
        """The generations since the last call, up to the one the group is in."""
        found: list[Judged] = []

        def complete() -> bool:
            self.watcher.look()
            found[:] = self.watcher.generations()
            return bool(found) and found[-1].observed.generation >= self.group.generation

        self.lab.wait_for("the group's records", complete, timeout_s=PATIENCE_S)
        fresh, self._told = found[self._told :], len(found)
        return fresh

    def hands(self) -> dict[str, frozenset[Job]]:
        """What each part holds, by the group's last record."""
        hands = self.watcher.generations()[-1].hands()
        return {name: hands[worker.address] for name, worker in self.cast.items() if worker.address in hands}


@contextmanager
def rehearsal(
    lab: Lab,
    broker: Broker,
    group: str,
    connectors: Mapping[str, int],
    *,
    max_delay_ms: int,
    timing: Timing = TIMING,
    damping: Mapping[str, Damping] | None = None,
) -> Iterator[Rehearsal]:
    """An empty group with these connectors configured (name -> tasks), watched from its first record on.

    `damping` by a rule's code or title; without it, the catalogue's.
    """
    config, status = workers.config_topic(group), workers.status_topic(group)
    config_topic.create(broker.address, {config: 1, status: 3})
    log = config_topic.ConfigLog(broker.address, config)
    for name, tasks in connectors.items():
        log.create(name, tasks)
    known = ConnectSettings(
        config_topic=config, status_topic=status, max_delay_ms=max_delay_ms, release=VERSION, java_version=JAVA_VERSION
    )
    settings = ClusterSettings(
        name="rehearsal",
        session_timeout_ms=timing.session_timeout_ms,
        rebalance_timeout_ms=timing.rebalance_timeout_ms,
        connect={group: known},
        damping=damping or {},
    )
    simulated = SimulatedGroup(
        broker.address, group, workers=0, config=log, status_topic=status, max_delay_ms=max_delay_ms, timing=timing
    )
    with simulated, Watcher(broker.address, settings, group) as watcher:
        yield Rehearsal(lab, simulated, watcher, settings)
