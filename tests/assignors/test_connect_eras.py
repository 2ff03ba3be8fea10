"""What each kind of round rests on: the switches that tell one era from another, clocks, memory."""

from collections.abc import Callable
from typing import Any

import pytest

from rebalance_monitor.assignors.connect.eras import ERAS

Cluster = Any
Answer = Any
NewCluster = Callable[..., Cluster]
PAIR = ("Aa", "BB")


def returned_at_once(cluster: Cluster) -> Answer:
    away = cluster.leave("b")
    cluster.rebalance(1_000)
    cluster.join("c", process=away)
    return cluster.rebalance(2_000)


def assignment_missed(cluster: Cluster) -> Answer:
    cluster.connectors["late"] = 1
    cluster.rebalance(1_000, missed=("b",))
    return cluster.rebalance(2_000)


def two_idle_when_the_delay_ends(cluster: Cluster) -> Answer:
    cluster.leave("b")
    cluster.join("c", "d")
    cluster.rebalance(1_000)
    return cluster.rebalance(10**9)


def three_joined_one_by_one(cluster: Cluster) -> Answer:
    results = []
    for number, name in enumerate("cd"):
        cluster.join(name)
        results.append(cluster.rebalance(number))
    return results[-1]


def twice_held_beside_an_idle_member(cluster: Cluster) -> Answer:
    cluster.members["b"].held = cluster.members["a"].held
    cluster.join("c")
    return cluster.rebalance(1_000)


def many_of_one_hash(cluster: Cluster) -> Answer:
    cluster.join(*(f"{a}{b}{c}{d}" for a in PAIR for b in PAIR for c in PAIR for d in PAIR))
    return cluster.rebalance(1_000)


@pytest.mark.parametrize(
    ("era", "story", "rests_on"),
    [
        ("A0", returned_at_once, {"ends_idle_delay"}),
        ("A1", returned_at_once, {"ends_idle_delay"}),
        ("A1", assignment_missed, {"watches_departures"}),
        ("A2", assignment_missed, {"watches_departures"}),
        ("A2", two_idle_when_the_delay_ends, {"deals_to_all_candidates", "now_ms"}),
        ("A3a", two_idle_when_the_delay_ends, {"deals_to_all_candidates", "now_ms"}),
        ("A3a", twice_held_beside_an_idle_member, {"counts_every_holder", "revokes_to_ceiling", "revokes_duplicates"}),
        ("A3a", many_of_one_hash, {"regroups_members"}),
        ("A5", many_of_one_hash, {"regroups_members"}),
        ("A5", three_joined_one_by_one, {"now_ms", "max_delay_ms", "balances_fully"}),
        ("A5", assignment_missed, {"last_completed_generation"}),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_an_answer_names_what_it_rests_on(
    new_cluster: NewCluster, era: str, story: Callable[[Cluster], Answer], rests_on: set[str]
) -> None:
    cluster = new_cluster({"connector-1": 7, "a": 3, "b": 2}, era=ERAS[era], protocol="compatible")
    cluster.join("a", "b")
    cluster.rebalance(0)
    cluster.rebalance(0)
    assert story(cluster).rests_on >= rests_on


@pytest.mark.parametrize(("era", "others"), [("A5", ["A4", "A3b", "A3a", "A2", "A1", "A0"]), ("A3a", ["A3b", "A2"])])
def test_a_steady_round_rests_on_no_era_since_its_kind(new_cluster: NewCluster, era: str, others: list[str]) -> None:
    cluster = new_cluster({"connector-1": 5}, era=ERAS[era], protocol="compatible")
    cluster.join("a", "b")
    rounds = [cluster.rebalance(number * 1000) for number in range(3)]
    assert all(ERAS[era].alike(ERAS[other], rounds[-1].rests_on) for other in others)
    assert not rounds[-1].rests_on & {"now_ms", "max_delay_ms", "last_completed_generation"}
