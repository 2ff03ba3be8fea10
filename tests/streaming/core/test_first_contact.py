"""A leader whose memory is not known is wrong only if no memory at all gives its answer."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from lab.attack import first_contact
from lab.attack.life import simulated
from rebalance_monitor.streaming.core.connect.leader.rows import Received, split
from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Tick
from rebalance_monitor.streaming.core.model.results import Grade
from tests.profile import LONG, size
from tests.streaming.core.mutant_sweep import some_leader_gives
from tests.streaming.core.restless import Restless, records, seen
from tests.streaming.core.test_mutants import NAMES, grade_of, mutants, violations
from tests.streaming.core.test_mutants_across_gaps import states_of

SEEDS = range(size(3, 60))
STATIC_SEEDS = size((6_022,), tuple(range(6_002, 6_102, 4)))
"""Varied clusters of two kinds of static workers, some without a wildcard worker."""
RIGHT = {Grade.MATCH, Grade.EXPLAINABLE}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_leader_is_never_unexplained_wherever_a_reader_begins(seed: int) -> None:
    """Among them are workers that gave their jobs up in an outage, and delays whose beginning was not seen."""
    story = Restless(seed).live(25)
    places = range(1, len(records(story)))
    for first in places if LONG else random.Random(seed).sample(places, 4):
        assert {one.verdict.grade for one in seen(story, first)} <= RIGHT, first


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_leader_is_never_unexplained_whatever_records_are_missing(seed: int) -> None:
    """What an unseen round leaves: revocations, back-off counts, candidates, members that came and went."""
    story = Restless(seed).live(25)
    holes = [range(at, at + count) for count in (1, 2, 3) for at in range(len(records(story)) - count)]
    for hole in holes if LONG else random.Random(seed).sample(holes, 4):
        assert {one.verdict.grade for one in seen(story, 0, hole)} <= RIGHT, hole


@pytest.mark.parametrize(
    ("seed", "hole"),
    [
        pytest.param(22, range(17, 19), id="an-old-candidate-has-jobs-and-two-new-ones-came-one-after-the-other"),
        pytest.param(36, range(21, 22), id="the-leader-gave-its-jobs-up-in-the-unseen-round-and-was-given-another"),
        pytest.param(46, range(10, 11), id="all-gave-their-jobs-up-and-the-only-candidate-left-is-given-all"),
    ],
)
def test_what_an_outage_in_unseen_rounds_leaves_behind(seed: int, hole: range) -> None:
    assert {one.verdict.grade for one in seen(Restless(seed).live(25), 0, hole)} <= RIGHT


@pytest.mark.parametrize("name", [one for one in NAMES if not one.startswith("eager")])
def test_a_wrong_first_answer_is_unexplained_unless_some_memory_gives_it(name: str) -> None:
    """Each generation of a capture as the first that is seen, with one job changed: none is a match, and at least 99 of
    100 are noticed, or are the answer of a leader with some memory: the verdict's run gives it, task by task. No memory
    hands a job out twice; one job given to somebody else may have been lost, and the one that was given it idle."""
    known, group, own, states = states_of(name)
    grades, kinds, dice = Counter[Grade](), Counter[tuple[str, str]](), random.Random(7)
    for row in own[2 :: 1 if LONG else 3]:
        body = row.body
        if not isinstance(body, GroupGeneration) or not body.members or body.protocol == EAGER:
            continue
        right = fold_group(known, group, states[0], [row], Tick(0))
        assert grade_of(right.results) in RIGHT
        for kind, members in mutants(body, dice):
            wrong = fold_group(known, group, states[0], [replace(row, body=replace(body, members=members))], Tick(0))
            grades[grade_of(wrong.results)] += 1
            found = grade_of(wrong.results) is Grade.UNEXPLAINED or violations(wrong.results) - violations(
                right.results
            )
            kinds[kind, "found" if found else "proved" if some_leader_gives(members, wrong.results) else "missed"] += 1
    print(f"{name}: {dict(grades)}, {dict(kinds)}")
    assert grades[Grade.MATCH] == 0
    assert kinds["doubled", "found"] > 0
    assert kinds["doubled", "proved"] == 0
    assert sum(count for (_, how), count in kinds.items() if how == "missed") * 100 <= grades.total()
    assert grades[Grade.UNEXPLAINED] * 2 >= grades.total()


@pytest.mark.parametrize("kind", first_contact.KINDS[:2])
@pytest.mark.parametrize("seed", STATIC_SEEDS)
def test_jobs_that_nobody_may_run_make_no_leader_wrong(seed: int, kind: str) -> None:
    """Every worker declares its own jobs, so the others lie in every round, whatever the leader remembers of them."""
    assert first_contact.attack(simulated(seed), kind)["unexplained"] == []


def test_two_rows_are_filled_in_order() -> None:
    def jobs(*receivers: str) -> list[Received]:
        return [Received(one) for one in receivers]

    assert split(jobs("w1", "w2", "w1", "w1"), ["w1", "w1"], ["w1", "w2"]) is not None
    assert split(jobs("w2", "w2", "w1", "w1"), ["w1", "w1"], ["w1", "w2"]) is None
    assert split(jobs("w1", "w2"), ["w2"], ["w1"]) == [False, True]
    assert split([Received("w1", lost=True), Received("w1")], ["w1"], ["w1"]) == [True, False]
    assert split([Received("w1", lost=False), Received("w1", lost=False)], ["w1"], ["w1"]) is None
    assert split([], [], []) == []


def test_the_order_in_a_members_list_tells_the_parts_apart() -> None:
    def tasks(*second: bool | None) -> list[Received]:
        return [Received("w1", series="C", second=one) for one in second]

    three = ["w1", "w1", "w1"]
    assert split(tasks(None, None, None), three[:1], three[:2]) == [False, False, True]
    assert split(tasks(None, None, None), three[:1], three[:2], lost_first=True) == [True, False, False]
    assert split(tasks(False, True, False), three[:1], three[:2]) == [False, True, False]
    assert split(tasks(False, True, False), three[:1], three[:2], lost_first=True) is None
    assert split(tasks(False, True, False), [], three) is None
    either = [Received("w1", lost=True, series="C"), Received("w1", lost=False, series="C")]
    assert split(either, ["w1"], ["w1"]) is None
    assert split(either, ["w1"], ["w1"], lost_first=True) == [True, False]
    other = [either[0], Received("w1", lost=False, series="D")]
    assert split(other, ["w1"], ["w1"]) == [True, False]
    assert split(tasks(None, None), ["w1"], ["w1"], afford=lambda _: False) is None
