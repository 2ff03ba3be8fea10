"""Answers of Kafka's own leaders, with samples of topics around each record: none is accused."""

import random
from dataclasses import replace

import pytest

from lab.attack.streams_answers import mutants
from lab.attack.streams_vectors import captured
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.streams.catalogue import ERROR_ASSIGNMENT
from rebalance_monitor.streaming.core.streams.verdict import CANNOT_READ
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.test_mutants import violations

KINDS = ("moved", "moved in its process", "dropped", "copy moved in its process")


def test_no_answer_of_kafkas_own_leaders_is_accused() -> None:
    grades = []
    for case in captured():
        for _, results in case.judged():
            grades += [one.verdict.grade for one in generations(results)]
            assert {code for code, _, _ in violations(results)} <= {ERROR_ASSIGNMENT.code}, case.name
    assert Grade.UNEXPLAINED not in grades
    assert grades.count(Grade.MATCH) >= 0.6 * len(grades)


@pytest.mark.parametrize("name", ["sf0201", "sf0202", "sf0203"])
def test_a_blind_leaders_answer_is_known_and_a_wrong_one_is_told(name: str) -> None:
    """End offsets could not be read: threads keep their tasks in another order, and in no other than that."""
    case = next(one for one in captured() if one.name == name)
    *before, last = case.rows
    outcome = fold_group(case.settings, case.group, None, before, None, knowledge=case.knowledge)

    def verdict(row: Row) -> Verdict:
        done = fold_group(case.settings, case.group, outcome.state, [row], None, knowledge=case.knowledge)
        return generations(done.results)[-1].verdict

    right = verdict(last)
    assert (right.grade, right.why) == (Grade.EXPLAINABLE, CANNOT_READ)
    assert isinstance(last.body, GroupGeneration)
    wrong = {kind: body for kind, body in mutants(last.body, random.Random(name)) if kind in KINDS}
    assert wrong
    assert {verdict(replace(last, body=body)).grade for body in wrong.values()} == {Grade.UNEXPLAINED}
