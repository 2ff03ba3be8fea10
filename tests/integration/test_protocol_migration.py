"""KIP-415's migration on real Connect workers: eager -> compatible -> sessioned, rolled one by one, and back to eager
by a single worker. Every generation is judged, and nothing is called wrong that is not. On the way up each step moves
and stops what was computed before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from lab.cluster import broker, config_topic, jars, java, workers
from lab.cluster.broker import Broker
from lab.cluster.java import Java
from lab.cluster.workers import Worker
from lab.ports import free_ports
from lab.process import Lab
from lab.simulated_group.watcher import Judged, Watcher
from rebalance_monitor.streaming.core.connect.observed import job_name
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.results import Certainty, Grade, Severity
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.whatif.connect_history import ConnectSetting
from rebalance_monitor.streaming.stories.whatif.connect_rolling import rolling_restart
from tests.streaming.stories.whatif.upgraded import moved_and_stopped
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP = "migration"
MAX_DELAY_MS = 2_000
CONNECTORS = {"orders": 3, "invoices": 2}
JOBS = sum(1 + tasks for tasks in CONNECTORS.values())
WORKERS = 3
HARMFUL = frozenset({Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL})
# What a protocol that goes down is expected to say: it is told, and it is no false alarm.
DOWNGRADE = frozenset({"CONNECT-K13", "CONNECT-K2"})


@dataclass(slots=True)
class Cluster:
    """Three real workers and what the monitor says of them."""

    lab: Lab
    java: Java
    broker: Broker
    watcher: Watcher
    workers: list[Worker]

    def roll(self, number: int, protocol: str, alone: str | None = None) -> None:
        """The worker leaves; its successor at the same address has another `connect.protocol`. `alone`: it stays away
        until the others have come to rest under this protocol."""
        before = self.workers[number]
        before.child.stop()
        if alone is not None:
            self.settled(alone, gone=number)
        (self.workers[number],) = self._start([before.port], protocol, number + 1)

    def upgrade(self, protocol: str) -> None:
        """Each worker is restarted in the order of `advise --steps`, and each step moves and stops what that says."""
        generations = self._published()
        asked = ConnectSetting(protocol=protocol, delay_ms=MAX_DELAY_MS)
        restart, ends = rolling_restart(generations, asked), [generations[0]["generation"]]
        for step in restart.steps:
            number = next(number for number, one in enumerate(self.workers) if one.address == step.member)
            last = step is restart.steps[-1]
            self.roll(number, protocol, alone=step.then if last else generations[0]["protocol"])
            ends.append(self.settled(step.then)[-1].observed.generation)
        came = [moved_and_stopped(self._published(), *between) for between in pairwise(ends)]
        told = [{(one.moved, one.stopped) for one in step.courses} for step in restart.steps]
        print(f"to {protocol}, moved and stopped by each step: {came}; computed before: {told}")
        assert [one in some for one, some in zip(came, told, strict=True)] == [True] * WORKERS

    def _published(self) -> list[Published]:
        """The newest first."""
        return [as_object(one.published) for one in reversed(self.watcher.generations())]

    def _start(self, ports: list[int], protocol: str, first_number: int = 1) -> list[Worker]:
        return workers.start(
            self.lab, self.java, jars.fetch(self.java), self.broker, group=GROUP, ports=ports,
            max_delay_ms=MAX_DELAY_MS, protocol=protocol, first_number=first_number,
        )  # fmt: skip

    def begin(self, protocol: str) -> None:
        self.workers = self._start(free_ports(WORKERS), protocol)
        for name, tasks in CONNECTORS.items():
            workers.create_sink(self.workers[0], name, tasks, name)

    def settled(self, protocol: str, gone: int | None = None) -> list[Judged]:
        """All generations so far, once the group has all workers but the one of this number, this protocol and nothing
        left to do."""
        there = {one.address for number, one in enumerate(self.workers) if number != gone}

        def done() -> bool:
            self.watcher.look()
            found = self.watcher.generations()
            if not found:
                return False
            last = found[-1].observed
            held = found[-1].held()
            calm = not (last.error or last.delay_ms or last.revoked())
            return (
                calm
                and set(found[-1].hands()) == there
                and last.protocol == protocol
                and len(held) == len(set(held)) == JOBS
            )

        self.lab.wait_for(f"the group under {protocol}", done, timeout_s=PATIENCE_S)
        return self.watcher.generations()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Lab(tmp_path) as lab:
        runtime = java.find()
        port, controller_port = free_ports(2)
        node = broker.start(lab, runtime, jars.fetch(runtime), port, controller_port)
        configs, statuses = workers.config_topic(GROUP), workers.status_topic(GROUP)
        config_topic.create(node.address, {configs: 1, statuses: 3})
        known = ConnectSettings(
            config_topic=configs,
            status_topic=statuses,
            max_delay_ms=MAX_DELAY_MS,
            release=jars.kafka_release(),
            java_version=runtime.version,
        )
        settings = ClusterSettings(
            name="migration", session_timeout_ms=6_000, rebalance_timeout_ms=20_000, connect={GROUP: known}
        )
        with Watcher(node.address, settings, GROUP) as watcher:
            yield Cluster(lab, runtime, node, watcher, [])


def test_the_group_moves_up_when_its_last_worker_does_and_down_with_its_first(cluster: Cluster) -> None:
    cluster.begin("eager")
    cluster.settled("default")
    for protocol in ("compatible", "sessioned"):
        cluster.upgrade(protocol)
    up = len(cluster.settled("sessioned"))
    cluster.roll(WORKERS - 1, "eager")
    found = cluster.settled("default")

    others = [(one.observed.generation, one.published.verdict) for one in found]
    assert [(number, one.reason) for number, one in others if one.grade is not Grade.MATCH] == []
    levels = [one.observed.protocol for one in found]
    assert sorted(set(levels), key=levels.index) == ["default", "compatible", "sessioned"]

    # KIP-415 meant the group to pass through an empty round on its way down. Kafka's code has none: the first round
    # after the downgrade deals everything anew, and no worker is told to stop what it runs.
    at = next(number for number, one in enumerate(found) if number >= up and one.observed.protocol == "default")
    down, last = found[at], found[at - 1]
    assert down.published.verdict.assignor == "eager"
    assert "protocol_changed" in {cause.kind for cause in down.published.cause}
    assert len(down.held()) == JOBS
    assert {one.code for one in cluster.watcher.findings() if one.severity in HARMFUL} <= DOWNGRADE
    hands = down.hands()
    moved = {job_name(job) for worker, jobs in last.hands().items() for job in jobs - hands.get(worker, jobs)}

    def suspected() -> bool:
        cluster.watcher.look()
        found = cluster.watcher.all_that_joined(down.published.at_ms)
        twice = [one for one in found if one.code == "CONNECT-K2" and one.certainty is not Certainty.POSSIBLE]
        assert all("fell from a cooperative protocol to eager" in one.message for one in twice)
        return moved <= {subject.id for one in twice for subject in one.subjects}

    cluster.lab.wait_for("a suspicion about each job that moved while its old worker runs on", suspected)
