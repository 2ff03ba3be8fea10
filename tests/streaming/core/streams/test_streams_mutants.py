"""Answers of Kafka's own Streams leaders, each changed by one task, copy or deadline: none passes as right.

Noticed: the verdict is unexplained, or a rule breaks above info that the right answer keeps. What is neither is not
judged (the end offsets that are possible are too many, no sample tells racks), or it is the answer of a right leader,
and is proved to be: its topic has one partition less, of which no record tells; its sub-topology has no state, and no
record shows any, or it has, and every task of it has its copies; or it could read end offsets where the leader of the
case could not, or the reverse. RM_LONG=1 changes every round; `-s` prints the tables.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lab.attack.streams_answers import mutants
from lab.attack.streams_mutants import BLIND, READING, RIGHT, read, rightly
from lab.attack.streams_vectors import Case, cases
from rebalance_monitor.assignors.streams.tasks import TaskId
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Grade, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.core.streams.verdict import CANNOT_READ
from tests.profile import size
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.test_mutants import violations
from tests.vector_files import GROUP_CAPTURES

SHARE = size(0.1, 1.0)
"""Of the rounds that are changed."""
CAPTURE = GROUP_CAPTURES / "streams-classic-4.3.1"
UNEXPLAINED, VIOLATED, NOT_JUDGED = "unexplained", "violated", "not judged"


def how(wrong: Sequence[Result], right: Sequence[Result]) -> str:
    """How a wrong answer is noticed; else its verdict."""
    (generation,) = generations(wrong)
    verdict = generation.verdict
    if verdict.grade is Grade.UNEXPLAINED:
        return UNEXPLAINED
    if violations(wrong) - violations(right):
        return VIOLATED
    if verdict.grade is Grade.NOT_JUDGED and verdict.reason is not None:
        return f"{NOT_JUDGED}, {verdict.reason.kind.value}"
    return f"{verdict.grade.value} {verdict.why}"


def swept(
    settings: ClusterSettings, group: str, rows: list[Row], dice: random.Random, *, fails: bool = False
) -> Iterator[tuple[str, str]]:
    """Kinds of mutants of these records, each with how it is noticed. `fails`: the leader cannot always read end
    offsets."""
    state: Saved | None = None
    shown: set[TaskId] = set()
    for row in rows:
        right = fold_group(settings, group, state, [row], None)
        body = row.body
        assert isinstance(body, GroupGeneration)
        told = generations(right.results)
        if told and told[0].verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE) and dice.random() < SHARE:
            for kind, wrong in mutants(body, dice):
                found = how(fold_group(settings, group, state, [replace(row, body=wrong)], None).results, right.results)
                if found.startswith((Grade.MATCH.value, Grade.EXPLAINABLE.value)):
                    found = rightly(body, wrong, shown, settings.streams[group].standbys) or (
                        READING if fails else found
                    )
                if found == f"{Grade.EXPLAINABLE.value} {CANNOT_READ}":
                    found = BLIND
                yield kind, found
        shown.update(task for thread in read(body) for task in (*thread.active, *thread.standby, *thread.offset_sums))
        state = right.state


def rows_of(case: Case) -> list[Row]:
    return [
        Row(topic="__consumer_offsets", partition=0, offset=offset, timestamp_ms=at_ms, group="app", body=body)
        for offset, (at_ms, body) in enumerate(case.rounds)
    ]


def counted(found: Iterable[tuple[str, str]]) -> Counter[str]:
    """How many were noticed how; the table by kind is printed."""
    kinds = Counter(found)
    for kind in sorted({kind for kind, _ in kinds}):
        print(f"{kind}:", {how: count for (one, how), count in sorted(kinds.items()) if one == kind})
    every: Counter[str] = Counter()
    for (_, how), count in kinds.items():
        every[how] += count
    print(dict(every))
    return every


def assert_none_passes(found: Counter[str], *, caught: float) -> None:
    """`caught`: the share that is noticed at once at least; nothing else passes as right without being it."""
    judged = {how for how in found if not how.startswith(NOT_JUDGED)}
    assert judged <= {UNEXPLAINED, VIOLATED, *RIGHT}
    assert sum(found[how] for how in RIGHT) <= found.total() // 40
    assert found[UNEXPLAINED] + found[VIOLATED] >= caught * found.total()


def test_no_changed_answer_of_kafkas_own_leaders_passes() -> None:
    dice = random.Random(5)
    found = counted(
        each
        for case in cases()
        for each in swept(
            ClusterSettings(name="c", streams={"app": case.settings}),
            "app",
            rows_of(case),
            dice,
            fails="offsets-fail" in case.tags,
        )
    )
    assert found.total() > 50
    assert_none_passes(found, caught=0.85)


def test_no_changed_answer_of_a_real_application_passes() -> None:
    """Many tasks change hands there at once, and which thread gets a withheld task rests on end offsets."""
    settings = settings_of(CAPTURE)
    rows = [row for record in records_of(CAPTURE) if (row := decode(record, settings)) is not None]
    generations_of_it = [row for row in rows if isinstance(row.body, GroupGeneration)]
    found = counted(swept(settings, "app-4.3.1", generations_of_it, random.Random(4)))
    assert found.total() > 20
    assert_none_passes(found, caught=0.55)
