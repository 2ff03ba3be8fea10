"""Answers of Kafka's own leaders, with samples of topics around each record: none is accused."""

from lab.attack.streams_vectors import captured
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.streams.catalogue import ERROR_ASSIGNMENT
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.test_mutants import violations


def test_no_answer_of_kafkas_own_leaders_is_accused() -> None:
    grades = []
    for case in captured():
        for _, results in case.judged():
            grades += [one.verdict.grade for one in generations(results)]
            assert {code for code, _, _ in violations(results)} <= {ERROR_ASSIGNMENT.code}, case.name
    assert Grade.UNEXPLAINED not in grades
    assert grades.count(Grade.MATCH) >= 0.6 * len(grades)
