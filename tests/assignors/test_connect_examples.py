"""Courses of events with known outcomes: who starts and stops what, how long the rest waits.

Two connectors C1, C2 with tasks T1.0 to T1.3, T2.0 to T2.3, unless a test says otherwise; times in ms.
"""

from collections.abc import Callable
from typing import Any

import pytest

from rebalance_monitor.assignors.connect.model import ConnectResult, Jobs

Cluster = Any
NewCluster = Callable[..., Cluster]


def jobs(listed: Jobs) -> str:
    """`C1 T1.0` for connector1 and its first task."""
    connectors = [name.replace("connector", "C") for name in listed.connectors]
    return " ".join(connectors + [f"{name.replace('connector', 'T')}.{n}" for name, n in listed.tasks])


def moves(result: ConnectResult) -> dict[str, str]:
    """What each member starts and stops, for those that do: `+C1 T1.0 -T2.1`."""
    texts = {
        member: f"{'+' * bool(share.assigned)}{jobs(share.assigned)} {'-' * bool(share.revoked)}{jobs(share.revoked)}"
        for member, share in result.shares.items()
    }
    return {member: text.strip() for member, text in texts.items() if text.strip()}


@pytest.fixture
def three(new_cluster: NewCluster) -> Cluster:
    """worker1, worker2, worker3 after the first round."""
    cluster = new_cluster({"connector1": 4, "connector2": 4})
    cluster.join("worker1", "worker2", "worker3")
    first = cluster.rebalance(0)
    assert first.delay_ms == 0
    assert moves(first) == {"worker1": "+C1 T1.0 T1.3 T2.2", "worker2": "+C2 T1.1 T2.0 T2.3", "worker3": "+T1.2 T2.1"}
    return cluster


def test_a_lost_worker_is_waited_for_once(three: Cluster) -> None:
    three.leave("worker3")
    seen = [three.rebalance(now) for now in (10_000, 160_000, 310_001, 320_000)]
    assert [result.delay_ms for result in seen] == [300_000, 150_000, 0, 0]
    assert [moves(result) for result in seen] == [{}, {}, {"worker1": "+T1.2", "worker2": "+T2.1"}, {}]
    assert jobs(three.active["worker1"]) == "C1 T1.2 T1.0 T1.3 T2.2"


def test_a_worker_that_returns_empty_gets_its_jobs_at_the_end(three: Cluster) -> None:
    three.leave("worker3")
    assert three.rebalance(10_000).delay_ms == 300_000
    three.join("worker3b")
    waiting = three.rebalance(100_000)
    assert (waiting.delay_ms, moves(waiting), three.after.candidates) == (210_000, {}, ("worker3b",))
    over = three.rebalance(310_001)
    assert (over.delay_ms, moves(over)) == (0, {"worker3b": "+T1.2 T2.1"})


def test_a_zombie_ends_the_window(three: Cluster) -> None:
    zombie = three.leave("worker3")
    three.rebalance(10_000)
    three.join("worker3b", process=zombie)
    back = three.rebalance(100_000)
    assert (back.delay_ms, moves(back)) == (0, {})


def test_a_late_zombie_loses_everything_first(three: Cluster) -> None:
    zombie = three.leave("worker3")
    three.rebalance(10_000)
    three.rebalance(310_001)
    three.join("worker3b", process=zombie)
    assert moves(three.rebalance(400_000)) == {"worker1": "-T1.2", "worker2": "-T2.1", "worker3b": "-T1.2 T2.1"}
    assert not three.after.revoked_in_previous
    assert moves(three.rebalance(400_100)) == {"worker3b": "+T1.2 T2.1"}


def test_a_new_leader_does_not_wait(three: Cluster) -> None:
    three.leave("worker1")
    result = three.rebalance(10_000, leader="worker2")
    assert (result.delay_ms, moves(result)) == (0, {"worker2": "+T2.2", "worker3": "+C1 T1.0 T1.3"})
    three.rebalance(10_001, leader="worker2")
    assert jobs(three.active["worker2"]) == "C2 T2.2 T2.0 T2.3 T1.1"


def test_a_new_leader_notices_deleted_jobs_one_round_late(three: Cluster) -> None:
    three.leave("worker1")
    del three.connectors["connector2"]
    assert moves(three.rebalance(10_000, leader="worker2")) == {"worker2": "+T1.0 -T2.0", "worker3": "+C1 T1.3"}
    stopped = three.rebalance(10_500, leader="worker2").shares
    assert {member: set(jobs(share.revoked).split()) for member, share in stopped.items()} == {
        "worker2": {"C2", "T2.3"},
        "worker3": {"T2.1"},
    }


def test_a_generation_the_leader_missed_cuts_the_window_short(three: Cluster) -> None:
    three.leave("worker3")
    assert three.rebalance(10_000, missed=["worker1"]).delay_ms == 300_000
    early = three.rebalance(20_000)
    assert (early.delay_ms, moves(early)) == (0, {"worker1": "+T1.2", "worker2": "+T2.1"})


def grown(new_cluster: NewCluster) -> tuple[Cluster, ConnectResult]:
    cluster = new_cluster({"connector1": 4, "connector2": 4})
    cluster.join("worker1")
    cluster.rebalance(0)
    cluster.join("worker2")
    assert moves(cluster.rebalance(1000)) == {"worker1": "-C1 T1.0 T1.1 T1.2 T1.3"}
    cluster.join("worker3")
    return cluster, cluster.rebalance(1500)


def test_joining_one_after_another_backs_off(new_cluster: NewCluster) -> None:
    cluster, third = grown(new_cluster)
    assert (third.delay_ms, moves(third)) == (40, {"worker2": "+C1 T1.0 T1.2", "worker3": "+T1.1 T1.3"})
    assert moves(cluster.rebalance(1545)) == {"worker1": "-T2.0"}
    cluster.join("worker4")
    fifth = cluster.rebalance(2000)
    assert (fifth.delay_ms, moves(fifth)) == (1600, {"worker4": "+T2.0"})
    assert cluster.rebalance(2100).delay_ms == 1500
    seventh = cluster.rebalance(2200)
    assert (seventh.delay_ms, moves(seventh)) == (0, {"worker1": "-T2.1"})
    assert (cluster.after.revoked_in_previous, cluster.after.successive_revocations) == (True, 2)
    assert moves(cluster.rebalance(2300)) == {"worker4": "+T2.1"}
    assert (cluster.after.revoked_in_previous, cluster.after.successive_revocations) == (False, 0)


def test_a_departure_in_a_back_off_does_not_wait_in_full(new_cluster: NewCluster) -> None:
    cluster, _ = grown(new_cluster)
    cluster.leave("worker2")
    result = cluster.rebalance(1700)
    assert result.delay_ms == 0
    assert moves(result)["worker3"].startswith("+C1 T1.0 T1.2")
    assert cluster.after.successive_revocations == 1


def test_a_delay_although_nothing_is_lost(new_cluster: NewCluster) -> None:
    cluster = new_cluster({"connector1": 4, "connector2": 4})
    cluster.join("worker1", "worker2")
    cluster.rebalance(0)
    cluster.join("worker3")
    assert moves(cluster.rebalance(1000)) == {"worker1": "-T1.0", "worker2": "-T2.1"}
    cluster.leave("worker3")
    wasted = cluster.rebalance(1500)
    assert (wasted.delay_ms, moves(wasted)) == (300_000, {"worker1": "+T1.0", "worker2": "+T2.1"})
    assert cluster.rebalance(2000).delay_ms == 0


def test_a_candidate_is_told_to_stop_what_it_never_had(three: Cluster) -> None:
    three.leave("worker2")
    three.leave("worker3")
    three.rebalance(10_000)
    three.join("worker2b")
    assert three.rebalance(20_000).delay_ms == 290_000
    assert moves(three.rebalance(310_001)) == {"worker2b": "+C2 T1.2 T2.0 T2.1 T2.3 -T1.1"}
    assert moves(three.rebalance(310_500)) == {"worker1": "+T1.1"}


def test_candidates_come_in_hash_order_not_by_name(three: Cluster) -> None:
    three.leave("worker2")
    three.leave("worker3")
    three.rebalance(10_000)
    three.join("worker10", "worker9")
    three.rebalance(20_000)
    assert three.after.candidates == ("worker9", "worker10")
    over = moves(three.rebalance(310_001))
    assert over["worker9"].startswith("+C2 ")
    assert "T1.2" in over["worker10"]


@pytest.mark.parametrize(
    ("joined", "revoked"),
    [
        (("worker1", "worker13", "worker2"), {"worker1": "-T1.0", "worker13": "-T1.4"}),
        (("worker13", "worker1", "worker2"), {"worker1": "-T1.0 T1.1"}),
    ],
)
def test_the_order_of_joining_decides_who_keeps_one_more(
    new_cluster: NewCluster, joined: tuple[str, ...], revoked: dict[str, str]
) -> None:
    cluster = new_cluster({"connector1": 7})
    cluster.join(*joined)
    tasks = [("connector1", n) for n in range(7)]
    cluster.members["worker1"].held = Jobs(("connector1",), tuple(tasks[:4]))
    cluster.members["worker13"].held = Jobs((), tuple(tasks[4:]))
    assert moves(cluster.rebalance(0, leader="worker1")) == revoked
