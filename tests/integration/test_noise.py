"""The noise budget: what is everyday work must tell nobody anything, warnings included.

Every scenario runs on a real broker and goes through the real decoding, the pure fold and its damping. All that takes
its time in life, the scheduled delay and the damping of every rule, is SPEED times shorter here, so that an incident
that stays open for long enough is told as it would be in life. At the end the clock is put forward by an hour:
nothing may be left that would be told later.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import broker
from lab.cluster.broker import Broker
from lab.process import Lab
from lab.simulated_group.protocol import Process
from lab.simulated_group.rehearsal import PATIENCE_S, TIMING, Rehearsal, rehearsal
from lab.simulated_group.watcher import Watcher
from rebalance_monitor.streaming.core.catalogue import CATALOGUE, RULES
from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.incidents.book import whole
from rebalance_monitor.streaming.core.incidents.damping import alert_severity
from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Grade, Incident, Part, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Damping
from rebalance_monitor.streaming.store.maintenance import Windows
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.postgres_server import postgres_server
from tests.streaming.builders import commit

pytestmark = pytest.mark.integration
SPEED = 20
MAX_DELAY_MS = 300_000 // SPEED
DAMPING = {one.code: Damping(one.for_ms // SPEED, one.keep_firing_ms // SPEED) for one in RULES}
AN_HOUR_MS = 3_600_000
LOUD = (AlertSeverity.CRITICAL, AlertSeverity.WARNING)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Broker]]:
    with Lab(Path(tmp_path_factory.mktemp("noise"))) as lab:
        yield lab, broker.start_anywhere(lab)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres_server() as dsn:
        yield dsn


# -- what is said of a scenario --------------------------------------------------------------------------------------


def told(watcher: Watcher) -> list[Incident]:
    """Every incident as it was when people were told of it; loud ones first."""
    fired = [one for history in watcher.incidents.values() for one in history if one.firing]
    return sorted(fired, key=lambda one: (LOUD + (AlertSeverity.INFO,)).index(one.alert))


def counts(watcher: Watcher, settings: ClusterSettings) -> str:
    """How many incidents of each alert severity were found, and told."""
    found = Counter(
        alert_severity(CATALOGUE, settings, history[0].group, whole(history[0]), history[0].opened_at_ms)
        for history in watcher.incidents.values()
    )
    heard = {alert: len({one.incident_id for one in told(watcher) if one.alert is alert}) for alert in AlertSeverity}
    said = ", ".join(f"{alert.value} {found[alert]} found, {heard[alert]} told" for alert in AlertSeverity)
    codes = Counter(history[0].code for history in watcher.incidents.values())
    return f"{said}; {dict(sorted(codes.items()))}"


def assert_quiet(watcher: Watcher, settings: ClusterSettings, what: str) -> None:
    """Prints what was found; nothing loud was told, and nothing will be when time goes on."""
    watcher.look(ahead_ms=AN_HOUR_MS)
    grades = Counter(grade.value for grade in watcher.grades())
    print(f"\n{what}: {watcher.seen} generations {dict(grades)}; {counts(watcher, settings)}")
    assert Grade.UNEXPLAINED not in watcher.grades()
    assert [(one.alert, one.code, one.message) for one in told(watcher) if one.alert in LOUD] == []


# -- Connect ---------------------------------------------------------------------------------------------------------


@contextmanager
def connect(kafka: tuple[Lab, Broker], group: str, connectors: dict[str, int]) -> Iterator[Rehearsal]:
    with rehearsal(*kafka, group, connectors, max_delay_ms=MAX_DELAY_MS, timing=TIMING, damping=DAMPING) as stage:
        yield stage


def watch(stage: Rehearsal, what: str, condition: Callable[[], bool]) -> None:
    """Until the condition holds, judging all the time as the job does."""

    def holds() -> bool:
        stage.watcher.look()
        return condition()

    stage.lab.wait_for(what, holds, timeout_s=PATIENCE_S)


def together(stage: Rehearsal, after: int) -> bool:
    """Whether all members are in one generation later than `after`, delays or not."""
    at = {worker.completed_generation for worker in stage.group.workers}
    return len(at) == 1 and min(at) > after


def act(stage: Rehearsal, what: str, action: Callable[[], object]) -> None:
    """Do it, and wait for the rebalance that follows."""
    before = stage.group.generation
    action()
    watch(stage, f"the rebalance after {what}", lambda: together(stage, before))


def start(stage: Rehearsal, workers: int, process: Process) -> list[str]:
    names = [f"worker-{number}" for number in range(workers)]
    for name in names:
        stage.join(name, process)
    watch(stage, "a calm group", stage.group.calm)
    return names


def roll(stage: Rehearsal, names: Sequence[str], process: Process) -> None:
    """Each worker in turn leaves, and comes back once the group has noticed."""
    for name in names:
        act(stage, f"{name} left", partial(stage.leave, name))
        act(stage, f"{name} came back", partial(stage.join, name, process))
    watch(stage, "a calm group", stage.group.calm)


def test_a_rolling_restart_of_twelve_workers(kafka: tuple[Lab, Broker]) -> None:
    with connect(kafka, "rolling", {f"sink-{number}": 3 for number in range(20)}) as stage:
        names = start(stage, 12, Process())
        before = stage.watcher.seen
        roll(stage, names, Process())
        assert stage.watcher.seen - before >= 24, "one generation for each leave and each join"
        assert_quiet(stage.watcher, stage.settings, "rolling restart of 12 workers")


def test_two_hundred_connectors_made_at_once(kafka: tuple[Lab, Broker]) -> None:
    """Made one by one as through REST: first the connector alone, then, once it runs, its tasks."""
    with connect(kafka, "bulk", {"first": 1}) as stage:
        start(stage, 4, Process())
        for start_at in range(0, 200, 10):
            names = [f"bulk-{number}" for number in range(start_at, start_at + 10)]
            for tasks in (0, 2):
                before = stage.group.generation
                for name in names:
                    stage.group.config.create(name, tasks)
                    stage.group.reconfigured()
                watch(stage, "a rebalance", lambda before=before: stage.group.generation > before)  # type: ignore[misc]
        watch(stage, "a calm group", stage.group.calm)
        assert len(stage.group.config.newest.connectors) == 201
        assert_quiet(stage.watcher, stage.settings, "200 connectors made at once")


def test_a_dedicated_mirror_maker(kafka: tuple[Lab, Broker]) -> None:
    """Without internal REST every node advertises NOTUSED, and all sign statuses with the flow's name."""
    node = Process(url="NOTUSED", worker_id="west->east")
    flow = {"MirrorSourceConnector": 8, "MirrorCheckpointConnector": 3, "MirrorHeartbeatConnector": 1}
    with connect(kafka, "west-mm2", flow) as stage:
        names = start(stage, 3, node)
        roll(stage, names, node)
        stage.group.config.create("MirrorSourceConnector", 12)  # new topics upstream
        act(stage, "new tasks", stage.group.reconfigured)
        watch(stage, "a calm group", stage.group.calm)
        act(stage, "a node was killed", partial(stage.group.kill, stage.cast[names[0]]))
        watch(stage, "a calm group", stage.group.calm)
        stage.join("worker-3", node)
        watch(stage, "a calm group", stage.group.calm)
        assert_quiet(stage.watcher, stage.settings, "dedicated MirrorMaker")


def test_a_restart_of_all_connectors(kafka: tuple[Lab, Broker]) -> None:
    """Each with all its tasks, as through REST: no rebalance, only statuses."""
    with connect(kafka, "restarted", {f"sink-{number}": 3 for number in range(8)}) as stage:
        start(stage, 3, Process())
        before = stage.group.generation
        for name in stage.group.config.newest.connectors:
            stage.group.config.restart(name)
            for worker in stage.group.workers:
                for job in list(worker.running):
                    if name == (job if isinstance(job, str) else job[0]):
                        worker.restart(job)
            stage.watcher.look()
        stage.group.reconfigured()  # the requests moved the end of the config topic, and one more round follows
        watch(stage, "a rebalance", lambda: together(stage, before))
        watch(stage, "a calm group", stage.group.calm)
        watch(stage, "all restarts", lambda: restarts(stage.watcher) == 8 * 4)
        assert_quiet(stage.watcher, stage.settings, "restart of 8 connectors with 3 tasks each")


def restarts(watcher: Watcher) -> int:
    """Connectors and tasks that were restarted, by their statuses."""
    return len(
        {(one.record.connector, one.record.task) for one in watcher.statuses if one.record.state == "RESTARTING"}
    )


def test_scaled_to_zero_under_maintenance(kafka: tuple[Lab, Broker], database: str) -> None:
    """The incidents are there and nobody is notified of them, neither meanwhile nor when the window ends."""
    with connect(kafka, "emptied", {f"sink-{number}": 3 for number in range(4)}) as stage:
        names = start(stage, 3, Process())
        now_ms = time.time_ns() // 1_000_000
        window = Maintenance(
            cluster="*",
            groups="emptied",
            owner="us",
            reason="upgrade",
            from_ms=now_ms,
            until_ms=now_ms + AN_HOUR_MS // 2,
        )
        with notified(database, stage.settings.name, stage.watcher, window) as outbox:
            stage.leave(*names)
            watch(stage, "nobody there", lambda: any(one.rule == "all_workers_gone" for one in told(stage.watcher)))
            start(stage, 3, Process())
            stage.watcher.look(ahead_ms=AN_HOUR_MS)
            print(f"\nscale to zero: {counts(stage.watcher, stage.settings)}")
            assert not any(history[-1].firing for history in stage.watcher.incidents.values())
            assert told(stage.watcher)[0].alert is LOUD[0]
            assert outbox() == []


@contextmanager
def notified(dsn: str, cluster: str, watcher: Watcher, window: Maintenance) -> Iterator[Callable[[], list[str]]]:
    """The keys of all notifications that a job with this window and this watcher's eyes has written."""
    at_ms = window.from_ms
    store = PostgresStore(dsn, cluster, windows=Windows((window,)), now_ms=lambda: at_ms)
    store.migrate()
    epoch, batches = store.claim(), count()

    def publish(results: Sequence[Result], now_ms: int) -> None:
        nonlocal at_ms
        at_ms, number = now_ms, next(batches)
        incidents = [one for one in results if isinstance(one, Incident | Part)]
        store.commit(commit(epoch, number, number + 1, *incidents))

    def keys() -> list[str]:
        with store.database.session() as connection:
            return [key for (key,) in connection.execute("select key from rebalance_monitor.outbox order by sequence")]

    watcher.publish = publish
    yield keys
    store.close()


def test_the_same_ears_hear_a_duplicate(kafka: tuple[Lab, Broker]) -> None:
    """What keeps still about everyday work does not keep still about harm."""
    with connect(kafka, "harmed", {"alpha": 4, "beta": 4}) as stage:
        start(stage, 3, Process())
        act(stage, "a wrong answer", stage.group.spoil)
        assert stage.group.obedient
        watch(stage, "somebody told", lambda: bool(told(stage.watcher)))
        print(f"\na duplicate: {counts(stage.watcher, stage.settings)}")
        assert (told(stage.watcher)[0].alert, told(stage.watcher)[0].rule) == (LOUD[0], "duplicate_active")


# -- consumers -------------------------------------------------------------------------------------------------------

TOPIC, PARTITIONS = "orders", 12
WAVES = (1, 4, 8, 3, 6, 2)


class Autoscaled:
    """Real consumers of one group that come and go, polled in turn."""

    def __init__(self, bootstrap: str, group: str, strategy: str) -> None:
        self.members: list[Consumer] = []
        self._made = 0
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "partition.assignment.strategy": strategy,
            "session.timeout.ms": 6_000,
            "heartbeat.interval.ms": 200,
            "log_level": 0,
        }

    def scale(self, size: int) -> None:
        """So many members from now on; the oldest leave first, as with a deployment that is replaced."""
        while len(self.members) > size:
            self.members.pop(0).close()
        while len(self.members) < size:
            self._made += 1
            member = Consumer({**self._settings, "client.id": f"pod-{self._made}"})
            member.subscribe([TOPIC])
            self.members.append(member)

    def spread(self) -> bool:
        """Whether every partition has one consumer and every consumer has work; also keeps all of them going."""
        for member in self.members:
            member.poll(0)
        held = [[part.partition for part in member.assignment()] for member in self.members]
        return all(held) and sorted(number for one in held for number in one) == list(range(PARTITIONS))


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_an_autoscaled_consumer_group(kafka: tuple[Lab, Broker], strategy: str) -> None:
    lab, server = kafka
    admin = AdminClient({"bootstrap.servers": server.address, "log_level": 0})
    if TOPIC not in admin.list_topics(timeout=PATIENCE_S).topics:
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE_S)
    group = f"autoscaled-{strategy}"
    racks = TopicMetadata(0, {TOPIC: (frozenset(),) * PARTITIONS})
    settings = ClusterSettings(name="rehearsal", session_timeout_ms=6_000, damping=DAMPING)
    scaled = Autoscaled(server.address, group, strategy)
    with Watcher(server.address, settings, group, knowledge_of([racks])) as watcher:

        def spread() -> bool:
            watcher.look()
            return scaled.spread()

        try:
            for size in WAVES:
                scaled.scale(size)
                lab.wait_for(f"{size} consumers with work", spread, timeout_s=PATIENCE_S)
        finally:
            scaled.scale(0)
        assert_quiet(watcher, settings, f"autoscaled consumers, {strategy}")
        assert watcher.seen >= len(WAVES)
