"""The cluster in virtual time: the same seed is the same life, and a right leader's answers are judged right."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lab.simulated import scenario
from lab.simulated.cluster import Cluster, Shape
from lab.simulated.partitioner import partition_of
from lab.simulated.worker import WorkerSettings
from lab.simulated_group.faults import LeaderFault
from lab.simulated_group.protocol import Mode
from rebalance_monitor.assignors.connect.eras import ERAS
from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.replay import replay

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "vectors" / "captures"


def three_workers(seed: int = 1, **settings: object) -> Cluster:
    cluster = Cluster(seed, Shape(worker=WorkerSettings(max_delay_ms=20_000, **settings)))  # type: ignore[arg-type]
    for _ in range(3):
        cluster.add()
    cluster.run(8_000)
    cluster.create("orders", 6)
    cluster.create("clicks", 3)
    cluster.run(15_000)
    return cluster


def test_a_seed_is_a_life_whatever_the_hash_seed_of_python() -> None:
    code = (
        "from hashlib import sha256; from lab.simulated.scenario import live; "
        "print(sha256(repr(list(live(3, actions=10).log.stamped())).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@pytest.mark.parametrize("release", scenario.RELEASES)
def test_a_calm_life_of_every_era_is_judged_right_to_the_byte(release: str) -> None:
    mode = Mode.COMPATIBLE if release == "2.3.1" else Mode.SESSIONED
    cluster = scenario.live(
        5, actions=20, weights=scenario.CALM, shape=scenario.shape_of(5, release=release, mode=mode)
    )
    told = replay(cluster.log.stamped(), cluster.settings())
    assert told.objects[-1]["grades"] == {
        **dict.fromkeys(told.objects[-1]["grades"], 0),
        "match": len(generations(told)),
    }
    assert len(generations(told)) > 15


def generations(told: object) -> list[dict[str, object]]:
    return [one for one in told.objects if one["kind"] == "generation"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(4))
def test_workers_that_differ_are_judged_right(seed: int) -> None:
    """An upgrade under way, a change of the protocol, static workers: the leader is right all the time."""
    cluster = scenario.live(seed, actions=10, shape=scenario.varied_shape(seed))
    told = replay(cluster.log.stamped(), cluster.settings())
    grades = Counter(one["verdict"]["grade"] for one in generations(told))  # type: ignore[index]
    assert grades.keys() <= {"match", "explainable"}
    assert grades["match"] > 8


def test_every_era_has_a_release() -> None:
    assert len(ERAS) <= len(scenario.RELEASES)


def test_statuses_lie_where_the_java_producer_puts_them() -> None:
    found = 0
    for name in ("zombie", "steady", "sessioned-4.3.1"):
        for record in records_of(CAPTURES / name):
            if record.topic.endswith("-status") and record.key is not None:
                assert partition_of(record.key, 3) == record.partition
                found += 1
    assert found > 100


def test_a_killed_worker_is_lost_and_its_jobs_wait_for_the_delay() -> None:
    cluster = three_workers()
    cluster.workers[2].kill()
    cluster.run(60_000)
    reasons = [one.reasons[0] for one in cluster.truth.rounds[-2:]]
    assert reasons[0].startswith("lost: ")
    assert "delay over" in reasons[1]
    assert cluster.truth.rounds[-1].state_ms - cluster.truth.rounds[-2].state_ms >= 20_000
    assert not cluster.truth.duplicates()


def test_a_clean_stop_says_unassigned_and_leaves() -> None:
    cluster = three_workers()
    worker = cluster.workers[2]
    worker.stop()
    cluster.run(5_000)
    said = [one for one in cluster.log.written if one.clock == worker.clock and b"UNASSIGNED" in (one.value or b"")]
    assert said
    assert cluster.truth.rounds[-1].reasons[0].startswith("left: ")


def test_a_frozen_worker_comes_back_under_a_new_id_with_its_jobs_and_runs_beside_their_new_owners() -> None:
    cluster = three_workers()
    worker = next(one for one in cluster.workers if not one.leads)
    known = worker.member_id
    cluster.freeze(worker, 45_000)
    cluster.run(90_000)
    assert worker.member_id != known
    assert cluster.truth.duplicates(100)
    told = replay(cluster.log.stamped(), cluster.settings())
    rules = Counter(one["code"] for one in told.objects if one["kind"] == "violation")
    assert rules["CONNECT-I2"]
    assert rules["CONNECT-K16"]


def test_a_long_outage_makes_workers_give_their_jobs_up_and_keep_their_ids() -> None:
    cluster = three_workers()
    before = {one.member_id for one in cluster.workers}
    cluster.outage(8_000, other_broker=True)
    cluster.run(30_000)
    assert {one.member_id for one in cluster.workers} == before
    assert [one.what for one in cluster.truth.events].count("gave its jobs up") == 3
    assert any(one.clock == "broker:2" for one in cluster.log.written)


def test_a_short_outage_passes_unseen() -> None:
    cluster = three_workers()
    rounds = len(cluster.truth.rounds)
    cluster.outage(1_000)
    cluster.run(30_000)
    assert len(cluster.truth.rounds) == rounds


def test_a_fault_of_the_leader_is_in_the_truth_and_doubles_a_job() -> None:
    cluster = three_workers()
    cluster.arm(LeaderFault.DUPLICATE)
    cluster.create("mail", 4)
    cluster.run(20_000)
    assert [one.spoiled for one in cluster.truth.rounds if one.spoiled] == ["DUPLICATE"]
    assert cluster.truth.duplicates(100)


def test_the_clock_of_a_worker_moves_its_records_alone() -> None:
    cluster = three_workers()
    clock = cluster.workers[0].clock
    for right, wrong in zip(cluster.log.stamped(), cluster.log.stamped({clock: -500}), strict=True):
        assert right.timestamp_ms - wrong.timestamp_ms in (0, 500)
        if b'"worker_id":"10.0.0.1:8083"' in (right.value or b""):
            assert right.timestamp_ms - wrong.timestamp_ms == 500
        elif right.topic == "__consumer_offsets":
            assert right == wrong
