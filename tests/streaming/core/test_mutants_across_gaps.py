"""Where records are missing a right answer is never called wrong, and a wrong one is still noticed, if less often."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode
from tests.profile import LONG
from tests.streaming.core.mutant_sweep import some_leader_gives
from tests.streaming.core.test_mutants import NAMES, grade_of, mutants, violations
from tests.vector_files import CAPTURES

COOPERATIVE = [name for name in NAMES if not name.startswith("eager")] if LONG else ["zombie"]
LOST = (1, 2) if LONG else (1,)


def states_of(name: str) -> tuple[ClusterSettings, str, list[Row], list[Saved]]:
    """The group's records, and its state before each of them."""
    path = CAPTURES / name
    known = settings_of(path)
    (group,) = known.connect
    rows = route([row for record in records_of(path) if (row := decode(record, known)) is not None], known)[group]
    own = [row for row in rows if row.topic == "__consumer_offsets"]
    rest = [row for row in rows if row.topic != "__consumer_offsets"]
    states = [fold_group(known, group, None, rest, Tick(0)).state]
    for row in own:
        states.append(fold_group(known, group, states[-1], [row], Tick(0)).state)
    return known, group, own, states


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("name", COOPERATIVE)
def test_a_gap_weakens_the_verdict_and_does_not_blind_it(name: str, lost: int) -> None:
    """Each generation once without the record, or records, before it: none is unexplained; of its mutants none is a
    match, and all are noticed, most at once, the others by the next record, or are right answers of a leader that
    remembers something else of the rounds that were not seen: the round is run with that memory and gives them, task
    by task. Of those there are fewer than 3 of 100."""
    known, group, own, states = states_of(name)
    grades, made, noticed, proved = Counter[str](), 0, 0, 0
    dice = random.Random(7)
    for at in range(1 + lost, len(own)):
        body = own[at].body
        if not isinstance(body, GroupGeneration) or not body.members or body.protocol == EAGER:
            continue
        before = states[at - lost]
        right = fold_group(known, group, before, [own[at]], Tick(0))
        grades[grade_of(right.results)] += 1
        for _, members in mutants(body, dice):
            wrong = fold_group(known, group, before, [replace(own[at], body=replace(body, members=members))], Tick(0))
            grade = grade_of(wrong.results)
            assert grade is not Grade.MATCH, body.generation
            made += 1
            broken = violations(wrong.results) - violations(right.results)
            if grade is not Grade.UNEXPLAINED and not broken and at + 1 < len(own):
                after = [fold_group(known, group, one.state, [own[at + 1]], Tick(0)) for one in (wrong, right)]
                broken = violations(after[0].results) - violations(after[1].results)
            if grade is Grade.UNEXPLAINED or broken:
                noticed += 1
            else:
                proved += some_leader_gives(members, wrong.results)
    print(f"{name}, {lost} lost: {dict(grades)}, {noticed} of {made} mutants noticed, {proved} proved to be right")
    assert grades.keys() <= {Grade.MATCH, Grade.EXPLAINABLE}
    assert noticed + proved == made
    assert proved * 100 < made * 3


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_may_begin_anywhere(name: str) -> None:
    """The memory after the first record seen is what the record tells and no more: no later generation is unexplained,
    and from the second generation on nearly all are a match."""
    known, group, own, states = states_of(name)
    grades = Counter[Grade]()
    for first in range(1, len(own), 1 if LONG else 6):
        results = fold_group(known, group, states[0], own[first:], Tick(0)).results
        grades.update([one.verdict.grade for one in results if isinstance(one, Generation)][1:])
    assert grades.keys() <= {Grade.MATCH, Grade.EXPLAINABLE}
    assert grades[Grade.EXPLAINABLE] * 10 <= grades.total()
