"""Right leaders of simulated clusters whose workers have maximum delays of their own: never unexplained.

RM_LONG=1 simulates more clusters.
"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from lab.simulated import scenario
from lab.simulated.cluster import Cluster
from rebalance_monitor.streaming.core.connect.reasons import UNKNOWN_MAXIMUM
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import replay
from tests.profile import size

SEEDS = range(700, 700 + size(3, 50))
COMMON_MS, OTHERS_MS = 20_000, (0, 40, 10_000, 60_000, 300_000)


STAY = replace(scenario.CALM, bounce=0, kill_and_return=0, together=0)
"""No worker comes back to its address."""


def lived(seed: int, weights: scenario.Weights = scenario.CALM) -> Cluster:
    """Joins, departures and changes of configuration; each process takes one of these maxima when it starts."""
    shape = scenario.shape_of(seed, release="3.9.1")
    common = replace(shape.worker, max_delay_ms=COMMON_MS)
    others = tuple(replace(common, max_delay_ms=ms) for ms in OTHERS_MS)
    return scenario.live(seed, actions=20, weights=weights, shape=replace(shape, worker=common, others=others))


def told(cluster: Cluster, by_worker: Mapping[str, int]) -> ClusterSettings:
    settings = cluster.settings()
    ((group, connect),) = settings.connect.items()
    return replace(settings, connect={group: replace(connect, max_delay_ms_by_worker=by_worker)})


def reasons(cluster: Cluster, settings: ClusterSettings) -> dict[str, set[str | None]]:
    """The reasons of all verdicts by grade."""
    found: dict[str, set[str | None]] = {}
    for published in replay(cluster.log.stamped(), settings).objects:
        if published["kind"] == "generation":
            found.setdefault(published["verdict"]["grade"], set()).add(published["verdict"].get("reason"))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_listed_by_worker_every_answer_is_a_match(seed: int) -> None:
    cluster = lived(seed, STAY)
    own = {one.address: one.settings.max_delay_ms for one in cluster.world.workers}
    assert len(own) == len(cluster.world.workers)
    assert len(set(own.values())) > 1
    assert set(reasons(cluster, told(cluster, own))) == {Grade.MATCH.value}


@pytest.mark.parametrize("seed", SEEDS)
def test_without_settings_each_process_shows_its_own(seed: int) -> None:
    """Here workers also come back with another maximum than before."""
    cluster = lived(seed)
    found = reasons(cluster, cluster.settings(told=False))
    assert set(found) <= {Grade.MATCH.value, Grade.EXPLAINABLE.value}
    assert found.get(Grade.EXPLAINABLE.value, set()) <= {UNKNOWN_MAXIMUM.text}


def test_a_worker_that_is_not_listed_is_unexplained() -> None:
    """The reason says which setting would make its answers right."""
    found = [reasons(cluster, told(cluster, {})) for cluster in map(lived, SEEDS)]
    unexplained = {reason for one in found for reason in one.get(Grade.UNEXPLAINED.value, set())}
    assert any("then set max_delay_ms_by_worker" in (reason or "") for reason in unexplained)
