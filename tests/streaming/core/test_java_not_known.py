"""The leader's Java walks copies of 12, 24, 48 … jobs in one of two orders, and its release is not configured.

A release that is not the leader's may give its answer by the order of the other Java: the right one must not be lost.
"""

import pytest

from lab.simulated.cluster import Cluster, Shape
from lab.simulated.worker import WorkerSettings
from rebalance_monitor.streaming.core.replay import replay


@pytest.mark.parametrize("java", [11, 21])
@pytest.mark.parametrize("release", ["2.8.2", "3.3.2", "3.4.1", "3.9.1", "4.3.1"])
def test_a_worker_returns_beside_one_that_holds_twelve_tasks(release: str, java: int) -> None:
    cluster = Cluster(1, Shape(worker=WorkerSettings(release=release, java_version=java, max_delay_ms=3)))
    cluster.add()
    second = cluster.add()
    cluster.run(10_000)
    cluster.create("orders", 12)
    cluster.run(30_000)
    cluster.freeze(second, 20_000)
    cluster.run(60_000)
    cluster.delete("orders")
    cluster.run(30_000)
    judged = replay(cluster.log.stamped(), cluster.settings(told=False))
    grades = {one["verdict"]["grade"] for one in judged.objects if one["kind"] == "generation"}
    assert grades <= {"match", "explainable"}
