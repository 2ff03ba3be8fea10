"""The sweep `streams-mutants` of `make attack`, short: some rounds of Kafka's leaders and a group of 19 tasks."""

import random
from collections import Counter
from functools import cache
from itertools import islice

from lab.attack import streams_mutants
from lab.attack.pieces import Done, Outcome
from lab.attack.streams_mutants import CAPTURES, NOTICED, RIGHT, Sweep
from lab.attack.streams_vectors import captured
from tests.profile import size

LEAST_NOTICED = 0.97


def _noticed(outcome: Outcome) -> float:
    came = Counter[str]()
    for key, count in outcome["counts"].items():
        came[key.rpartition("|")[2]] += count
    made = came.total() - sum(came[one] for one in RIGHT)
    assert made > 100
    return came[NOTICED] / made


@cache
def large() -> Outcome:
    return streams_mutants.attack(CAPTURES / "streams-classic-4.3.1", share=size(0.15, 1.0))


def test_wrong_answers_in_a_group_of_19_tasks_are_noticed() -> None:
    assert _noticed(large()) >= LEAST_NOTICED, large()["examples"]


def test_wrong_answers_are_noticed_whose_rounds_end_offsets_decide() -> None:
    sweep = Sweep(random.Random(1), share=0.5)
    for case in islice(captured(), 12):
        sweep.over(case.settings, case.group, case.rows, fails=case.fails)
    assert _noticed(sweep.outcome()) >= 0.95, sweep.examples


def test_the_table_has_a_row_for_each_kind_and_a_column_for_each_source() -> None:
    (text,) = streams_mutants.tables([Done(streams_mutants.SWEEP, streams_mutants.APPLICATIONS, "a", large())])
    rows = {line.rsplit("  ", 1)[0].strip() for line in text.splitlines()}
    assert rows >= {"dropped", "copy moved", "deadline left out", "copy of another topic", "all"}
    assert "real applications" in text
