"""What single workers of a simulated group can do wrong, on a real broker, and what the monitor says of each."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.cluster import broker
from lab.cluster.broker import Broker
from lab.process import Lab
from lab.simulated_group.faults import LeaderFault, WorkerFault
from lab.simulated_group.protocol import Process
from lab.simulated_group.rehearsal import PATIENCE_S, TIMING, Rehearsal, rehearsal
from lab.simulated_group.watcher import Judged
from lab.simulated_group.worker import SimulatedWorker
from rebalance_monitor.streaming.core.connect.observed import job_name
from rebalance_monitor.streaming.core.model.results import Certainty, Grade, Severity

pytestmark = pytest.mark.integration
MAX_DELAY_MS = 1_000
CONNECTORS = {"alpha": 4, "beta": 4}
LOUD = frozenset({Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL})


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Broker]]:
    with Lab(Path(tmp_path_factory.mktemp("simulated-workers"))) as lab:
        yield lab, broker.start_anywhere(lab)


@pytest.fixture
def stage(kafka: tuple[Lab, Broker], request: pytest.FixtureRequest) -> Iterator[Rehearsal]:
    with rehearsal(*kafka, request.node.name.replace("_", "-"), CONNECTORS, max_delay_ms=MAX_DELAY_MS) as made:

        def all_join() -> None:
            for name in "ABC":
                made.join(name, Process())

        after(made, all_join)
        yield made


def after(stage: Rehearsal, action: Callable[[], object]) -> list[Judged]:
    """The generations that the action leads to, until the group has settled."""
    before = stage.group.generation
    action()
    stage.settle("the group", before)
    return stage.story()


def rounds(stage: Rehearsal, count: int) -> None:
    """So many rounds more, each asked for by the leader."""
    for _ in range(count):
        before = stage.group.generation
        stage.group.rejoin()
        stage.lab.wait_for("another round", lambda before=before: stage.group.generation > before, timeout_s=PATIENCE_S)  # type: ignore[misc]


def follower(stage: Rehearsal) -> str:
    return next(name for name in "ABC" if stage.cast[name] is not stage.group.leader)


def first(story: list[Judged], worker: SimulatedWorker, *, there: bool = True) -> Judged:
    """The first generation with this worker, or without it: a round that changes nothing can stand before it."""
    return next(one for one in story if (worker.address in one.hands()) is there)


def codes(stage: Rehearsal, story: list[Judged], severities: frozenset[Severity] = LOUD) -> set[str]:
    return {one.code for one in stage.watcher.findings(story[0].published.at_ms) if one.severity in severities}


def grades(story: list[Judged]) -> set[Grade]:
    return {one.published.verdict.grade for one in story}


def test_a_killed_worker_is_missed_when_its_session_ends(stage: Rehearsal) -> None:
    name = follower(stage)
    victim = stage.cast[name]
    jobs = frozenset(victim.running)
    story = after(stage, lambda: stage.group.kill(victim))
    assert grades(story) == {Grade.MATCH}
    missed = first(story, victim, there=False)
    assert missed.observed.delay_ms == MAX_DELAY_MS
    assert not jobs & set(missed.held())
    assert set(story[-1].held()) >= jobs
    assert codes(stage, story) == set()
    last = {(one.record.connector, one.record.task): one.record for one in stage.watcher.statuses}
    assert {one.state for one in last.values()} == {"RUNNING"}
    assert victim.address not in {one.worker_id for one in last.values()}


def test_a_group_that_a_member_has_just_left_has_not_settled(kafka: tuple[Lab, Broker]) -> None:
    """The others learn of it with their next heartbeat, and are in one generation until then."""
    slow = replace(TIMING, heartbeat_interval_ms=2_000)
    with rehearsal(*kafka, "just-left", CONNECTORS, max_delay_ms=0, timing=slow) as stage:
        for name in "ABC":
            stage.join(name, Process())
        stage.settle("three workers", -1)
        for name in "AB":
            before = stage.group.generation
            stage.leave(name)
            assert not stage.group.settled()
            stage.settle(f"the group without {name}", before)
        assert set(stage.story()[-1].hands()) == {stage.cast["C"].address}


def test_a_worker_that_was_cut_off_returns_with_its_jobs(stage: Rehearsal) -> None:
    name = follower(stage)
    zombie = stage.cast[name]
    jobs = frozenset(zombie.running)
    after(stage, lambda: stage.group.vanish(zombie))
    zombie.say_running()
    story = after(stage, lambda: stage.group.come_back(zombie))
    assert grades(story) == {Grade.MATCH}
    back = first(story, zombie).observed
    assert back.views[back.workers()[zombie.address]].held == jobs
    assert "CONNECT-I2" in codes(stage, story)
    assert "CONNECT-K16" in codes(stage, story, frozenset({Severity.INFO}))
    assert len(story[-1].held()) == len(set(story[-1].held()))


def test_a_worker_that_ignores_a_revocation(stage: Rehearsal) -> None:
    """Nobody is given a job before its holder has let go. In the log it looks like one that missed its answer, until
    the leader pauses between two revocations: who has heard of the pause has heard of the revocation before (K1).
    """
    for worker in stage.group.workers:
        worker.faults.add(WorkerFault.IGNORED_REVOCATION)
    story = after(stage, lambda: stage.join("D", Process()))
    told = first(story, stage.cast["D"]).observed.revoked()
    rounds(stage, 2)
    story = stage.story()
    assert told
    assert story[-1].observed.views[story[-1].observed.workers()[stage.cast["D"].address]].holds == frozenset()
    assert all(told <= set(one.held()) | one.observed.revoked() for one in story)
    stage.group.relent()
    story = after(stage, stage.group.rejoin)
    assert grades(story) == {Grade.MATCH}
    assert codes(stage, story) <= {"CONNECT-K1"}
    assert codes(stage, story[-1:]) == set()
    assert len(stage.hands()["D"]) > 0
    assert len(story[-1].held()) == len(set(story[-1].held())) == 10


def test_a_worker_that_secretly_goes_on(stage: Rehearsal) -> None:
    for worker in stage.group.workers:
        worker.faults.add(WorkerFault.HIDDEN_WORK)
    story = after(stage, lambda: stage.join("D", Process()))
    assert codes(stage, story) == set()
    for worker in stage.group.workers:
        worker.say_running()
    wanted = {job_name(job) for job in stage.hands()["D"]}

    def noticed() -> bool:
        stage.watcher.look()
        last = [transitions[-1] for transitions in stage.watcher.incidents.values()]
        twice = [one for one in last if one.code == "CONNECT-K2" and one.certainty is Certainty.CERTAIN]
        return {subject.id for one in twice for subject in one.subjects if subject.type != "worker"} == wanted

    stage.lab.wait_for("jobs that run twice", noticed, timeout_s=PATIENCE_S)


def test_a_worker_that_stops_reading_the_config_topic(stage: Rehearsal) -> None:
    name = follower(stage)
    stage.cast[name].faults.add(WorkerFault.STALE_CONFIG)
    stage.group.config.create("gamma", 2)
    rounds(stage, 4)
    stage.cast[name].faults.clear()
    story = after(stage, stage.group.rejoin)
    assert grades(story) == {Grade.MATCH}
    assert "CONNECT-K11" in codes(stage, story)
    assert len(set(story[-1].held())) == 13


def test_a_leader_that_stops_reading_the_config_topic(stage: Rehearsal) -> None:
    leader = stage.group.leader
    leader.faults.add(WorkerFault.STALE_CONFIG)
    stage.group.config.create("gamma", 2)
    before = stage.group.generation
    stage.group.reconfigured()
    stage.lab.wait_for("a burst of mismatches", lambda: stage.group.generation >= before + 5)
    leader.faults.clear()
    stage.settle("the group", before)
    story = stage.story()
    assert grades(story) == {Grade.MATCH}
    assert {one.observed.error for one in story} == {0, 1}
    assert "CONNECT-K11" in codes(stage, story)
    assert len(set(story[-1].held())) == 13


def test_a_leader_that_never_stops_revoking(stage: Rehearsal) -> None:
    before = stage.group.generation
    stage.group.mislead(LeaderFault.NEVER_ENDING_REVOCATIONS)
    stage.group.rejoin()
    stage.lab.wait_for("many rounds", lambda: stage.group.generation >= before + 12)
    misled = stage.story()
    stage.group.relent()
    stage.settle("the group", before)
    story = [*misled, *stage.story()]
    assert all(one.observed.revoked() for one in misled)
    assert "CONNECT-I13" in codes(stage, story)
    assert len(story[-1].held()) == len(set(story[-1].held())) == 10
