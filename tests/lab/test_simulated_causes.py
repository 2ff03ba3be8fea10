"""What is published of simulated clusters says no more than is true: who left, who was lost, which family leads."""

from collections import Counter
from dataclasses import replace

import pytest

from lab.simulated import scenario
from lab.simulated.cluster import Cluster
from rebalance_monitor.assignors.connect.eras import era_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import replay

SEEDS = range(5)
PARTINGS = frozenset({"worker_left", "worker_lost", "worker_gone"})


def removed(cluster: Cluster, first: int, last: int, member_id: str) -> str:
    """Why the coordinator removed this member in these generations: `left` or `lost`; "" where it did not."""
    for round_ in cluster.truth.rounds:
        for reason in round_.reasons if first <= round_.generation <= last else ():
            if reason in (f"left: {member_id}", f"lost: {member_id}"):
                return reason.partition(":")[0]
    return ""


def partings(cluster: Cluster, shift: dict[str, int]) -> Counter[tuple[str, str, str]]:
    """Kind, certainty and truth of each worker that is said to be gone, under these clocks."""
    found: Counter[tuple[str, str, str]] = Counter()
    members: dict[str, str] = {}
    before = 0
    for published in replay(cluster.log.stamped(shift), cluster.settings()).objects:
        if published["kind"] != "generation":
            continue
        for cause in published["cause"]:
            for subject in cause["subjects"] if cause["kind"] in PARTINGS else ():
                member_id = members.get(subject["id"], subject["id"])
                truth = removed(cluster, before + 1, published["generation"], member_id)
                found[cause["kind"], cause["certainty"], truth] += 1
        members = {member["worker"]: member["member_id"] for member in published["members"]}
        before = published["generation"]
    return found


def test_who_left_for_certain_has_left_whatever_the_workers_clocks_say() -> None:
    right = wrong = 0
    for seed in SEEDS:
        cluster = scenario.live(seed=seed)
        workers = [clock for clock in cluster.log.clocks() if clock.startswith("worker")]
        for skew_ms in (-15_000, 0, 15_000):
            found = partings(cluster, dict.fromkeys(workers, skew_ms))
            assert {truth for kind, sure, truth in found if (kind, sure) == ("worker_left", "certain")} <= {"left"}
            for (kind, sure, truth), count in found.items():
                if skew_ms == 0 and sure == "likely":
                    right, wrong = right + count * kind.endswith(truth), wrong + count * (not kind.endswith(truth))
    assert right > 5 * wrong, (right, wrong)


def without_release(settings: ClusterSettings) -> ClusterSettings:
    connect = {name: replace(one, release=None, java_version=None) for name, one in settings.connect.items()}
    return replace(settings, connect=connect)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_leaders_own_family_is_among_those_that_can_have_given_the_answer(seed: int) -> None:
    cluster = scenario.live(seed=seed)
    era = era_of(cluster.shape.worker.release).name
    objects = replay(cluster.log.stamped({}), without_release(cluster.settings())).objects
    verdicts = [one["verdict"] for one in objects if one["kind"] == "generation"]
    explained = [one for one in verdicts if one["grade"] in ("match", "explainable") and one["assignor"] != "eager"]
    assert [one for one in explained if era not in one["eras"]] == []
