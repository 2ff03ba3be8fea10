"""Answers that are given again: verdicts, findings and states are the same with and without what is remembered."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.bench.generations.load import Load
from lab.bench.generations.played import Size
from lab.simulated import scenario
from rebalance_monitor.assignors.consumer.model import Claim, ConsumerMember
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.connect.leader import answered_before as of_leaders
from rebalance_monitor.streaming.core.consumer import answered_before as of_consumers
from rebalance_monitor.streaming.core.consumer.assignors import ASSIGNORS, Assignor
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.codec import forget_parts
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import RawRecord, decode
from tests.profile import size

CUT = 7
"""Rows of a batch, so that states are stored and read in between."""


def forget() -> None:
    of_consumers.LAST.clear()
    of_leaders.LAST.clear()
    forget_parts()


def folded(
    records: Sequence[RawRecord], cluster: ClusterSettings, knowledge: Knowledge, *, remember: bool
) -> tuple[list[Result], dict[str, Saved]]:
    """The results of all groups and their last states, batch by batch in the order of time; nothing is remembered from
    one batch to the next if not `remember`."""
    rows = [row for one in records if (row := decode(one, cluster)) is not None]
    results: list[Result] = []
    states: dict[str, Saved] = {}
    forget()
    for first in range(0, len(rows), CUT):
        part = rows[first : first + CUT]
        for group, own in route(part, cluster).items():
            if not remember:
                forget()
            tick = Tick(part[-1].timestamp_ms)
            outcome = fold_group(cluster, group, states.get(group), own, tick, knowledge=knowledge)
            states[group] = outcome.state
            results += outcome.results
    return results, states


def same(records: Sequence[RawRecord], cluster: ClusterSettings, knowledge: Knowledge = NOTHING_KNOWN) -> None:
    assert folded(records, cluster, knowledge, remember=True) == folded(records, cluster, knowledge, remember=False)


@pytest.mark.parametrize("kind", ["connect", "range", "cooperative-sticky", "sticky", "roundrobin"])
def test_a_load(kind: str) -> None:
    load = Load(Size(generations=40, groups=2, changing=0.25, wrong=0.1), (kind,))
    records = list(load.records())
    same(records, load.settings, load.knowledge())
    same(records, replace(load.settings, client_libraries={}))


@pytest.mark.parametrize("seed", [3, 21])
def test_the_life_of_a_connect_cluster(seed: int) -> None:
    cluster = scenario.live(seed, actions=12)
    records = [one.stamped() for one in sorted(cluster.log.written, key=lambda one: one.true_ms)]
    same(records, cluster.settings())
    same(records, cluster.settings(told=False))


def _reports(dice: random.Random, names: Sequence[str], wanted: Sequence[str]) -> Iterator[ConsumerMember]:
    partitions = [(topic, number) for topic in wanted for number in range(3)]
    for name in names:
        owned = tuple(dice.sample(partitions, dice.randint(0, 3)))
        claim = Claim(owned if dice.random() < 0.7 else (), dice.choice((None, -1, 5, 6, 7)))
        yield ConsumerMember(
            id=name,
            instance_id=dice.choice((None, f"i-{name}")),
            topics=tuple(dice.sample(list(wanted), dice.randint(1, len(wanted)))),
            owned=owned,
            generation=dice.choice((-1, 5, 6, 7)),
            claim=claim,
            claim_again=claim,
        )


def _later(member: ConsumerMember, by: int) -> ConsumerMember:
    """The same report of a later generation."""

    def on(generation: int | None) -> int | None:
        return generation if generation is None or generation < 0 else generation + by

    return replace(
        member,
        generation=member.generation if member.generation < 0 else member.generation + by,
        claim=replace(member.claim, generation=on(member.claim.generation)),
        claim_again=replace(member.claim_again, generation=on(member.claim_again.generation)),
    )


@cache
def _eras() -> list[tuple[Assignor[object], object]]:
    return [(assignor, era) for assignor in ASSIGNORS.values() for era in assignor.eras]


@settings(max_examples=size(20, 600), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_only_the_order_of_generations_counts(seed: int, by: int) -> None:
    dice = random.Random(seed)
    topics = {name: (frozenset[str](),) * 3 for name in ("a", "b")}
    members = list(_reports(dice, [f"m{number}" for number in range(dice.randint(1, 4))], list(topics)))
    later = [_later(one, by) for one in members]
    for assignor, era in _eras():
        try:
            expected = assignor.recompute(later, topics, era=era)
        except Exception as why:
            with pytest.raises(type(why)):
                of_consumers.recompute(assignor, later, topics, era)
            continue
        of_consumers.LAST.clear()
        of_consumers.recompute(assignor, members, topics, era)
        assert of_consumers.recompute(assignor, later, topics, era) == expected
