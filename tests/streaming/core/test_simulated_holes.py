"""Right leaders of simulated clusters some of whose records are missing: never unexplained, then or later.

RM_LONG=1 simulates more clusters.
"""

import random
from collections.abc import Collection
from functools import cache

import pytest

from lab.attack.life import Life, of_cluster
from lab.simulated import scenario
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, decode
from tests.profile import size

SEEDS = range(40, 40 + size(2, 50))
HOLES = 6
RESTLESS = scenario.Weights(freeze=14, outage=10, kill=8, leave=8)
"""Groups that are empty from time to time, and former leaders that come back."""
KNOWN = {
    "a delay of 0 ms runs from a generation that is missing to one that is seen": (5080, (18, 19)),
    "a frozen leader answers a generation when it is over, and leads again": (1032, ()),
}


@cache
def life(seed: int, weights: scenario.Weights = scenario.USUAL) -> Life:
    return of_cluster(f"seed {seed}", scenario.live(seed, actions=18, weights=weights, shape=scenario.shape_of(seed)))


def rows_of(life_seen: Life) -> tuple[list[Row], list[Row]]:
    """The group's own records, and those of its topics."""
    rows = [row for record in life_seen.records if (row := decode(record.stamped(), life_seen.settings)) is not None]
    routed = route(rows, life_seen.settings)[life_seen.group]
    own = sorted((row for row in routed if row.topic == OFFSETS_TOPIC), key=lambda row: row.offset)
    return own, [row for row in routed if row.topic != OFFSETS_TOPIC]


def unexplained(life_seen: Life, left_out: Collection[int] = ()) -> list[int]:
    """The generations called so where the records at these places are missing."""
    own, rest = rows_of(life_seen)
    seen = [row for place, row in enumerate(own) if place not in left_out]
    results = fold_group(life_seen.settings, life_seen.group, None, [*rest, *seen], Tick(0)).results
    told = [each for each in results if isinstance(each, Generation)]
    return [each.generation for each in told if each.verdict.grade is Grade.UNEXPLAINED]


@pytest.mark.parametrize(("seed", "left_out"), KNOWN.values(), ids=KNOWN.keys())
def test_these_lives_are_explained(seed: int, left_out: Collection[int]) -> None:
    assert not unexplained(life(seed), left_out)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_hole_accuses_a_right_leader(seed: int) -> None:
    """Holes of one to three records, those with an empty generation first."""
    lived = life(seed, RESTLESS)
    own, _ = rows_of(lived)
    dice = random.Random(seed)
    places = list(range(1, len(own) - 3))
    empty = [at for at in places if isinstance(body := own[at].body, GroupGeneration) and not body.members]
    for first in [*empty, *dice.sample(places, min(len(places), HOLES))][:HOLES]:
        hole = range(first, first + dice.choice((1, 1, 2, 3)))
        assert not unexplained(lived, hole), hole
