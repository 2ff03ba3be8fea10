"""The sweep `consumer-mutants` of `make attack`, short: some generations of one capture of Kafka's own client."""

from collections import Counter
from functools import cache
from random import Random

import pytest

from lab.attack import consumer_mutants
from lab.attack.consumer_mutants import CAPTURES, KINDS, LAWS_ALONE, RECOMPUTED, mutants
from lab.attack.pieces import Done
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS

CAPTURE, EVERY = "java-classic", 4
LEAST_NOTICED = 0.97


@cache
def done(*, configured: bool) -> Done:
    cell = consumer_mutants.CONFIGURED if configured else consumer_mutants.NOT_CONFIGURED
    outcome = consumer_mutants.attack(CAPTURES / CAPTURE, configured=configured, every=EVERY)
    return Done(consumer_mutants.SWEEP, cell, CAPTURE, outcome)


@pytest.mark.parametrize("configured", [True, False], ids=["Java is configured", "nothing is configured"])
@pytest.mark.parametrize("assignor", sorted(ASSIGNORS))
def test_wrong_answers_that_are_recomputed_are_noticed(assignor: str, configured: bool) -> None:
    count, outcome = Counter[str](), done(configured=configured).outcome
    for key, times in outcome["counts"].items():
        of, who, _, came = key.split("|")
        if (of, who) == (assignor, RECOMPUTED):
            count[came] += times
    made = count.total() - count["right"]
    assert made > 40
    assert count["noticed"] / made >= LEAST_NOTICED, outcome["examples"]


def test_most_sticky_answers_are_recomputed_though_nothing_is_configured() -> None:
    who = Counter[str]()
    for key, times in done(configured=False).outcome["counts"].items():
        assignor, of, _, _ = key.split("|")
        who[of] += times if assignor == "sticky" else 0
    assert who[RECOMPUTED] > 5 * who[LAWS_ALONE]


def test_the_tables_name_each_assignor() -> None:
    (text, *_) = consumer_mutants.tables([done(configured=True), done(configured=False)])
    for assignor in ASSIGNORS:
        assert f"{assignor}, Java is configured" in text
        assert f"{assignor}, nothing is configured" in text


def test_each_kind_changes_the_answer() -> None:
    right = ((("a", 0), ("a", 1)), (("a", 2),))
    made = dict(mutants(right, {"a": 3}, Random(1)))
    assert tuple(sorted(made)) == tuple(sorted(KINDS))
    assert right not in made.values()
    assert len({one for share in made["no such number"] for one in share} - {("a", 0), ("a", 1), ("a", 2)}) == 1
