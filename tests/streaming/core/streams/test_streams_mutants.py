"""Answers of Kafka's own Streams leaders, each changed by one task, copy or deadline: none passes as right.

Noticed: the verdict is unexplained, or a rule breaks above info that the right answer keeps. What is neither is either
not judged, or the answer of a right leader under what no record holds: then the leader's computation, run once more
under end offsets that the members' reports allow, gives every byte of it that counts. RM_MUTANTS=all changes everything
in every round; `-s` prints the tables.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Grade, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.streams.answer_mutants import mutants
from tests.streaming.core.streams.leaders import Case, cases
from tests.streaming.core.test_mutants import violations

EVERYTHING = os.environ.get("RM_MUTANTS") == "all"
SHARE = 1.0 if EVERYTHING else 0.03
"""Of the rounds of the cases."""
CAPTURE = Path(__file__).parents[3] / "vectors" / "captures-groups" / "streams-classic-4.3.1"
UNEXPLAINED, VIOLATED = "unexplained", "violated"
Kinds = Counter[tuple[str, str]]


def judged(settings: ClusterSettings, group: str, state: Saved | None, row: Row, known: Knowledge) -> list[Result]:
    return list(fold_group(settings, group, state, [row], None, knowledge=known).results)


def how(wrong: list[Result], right: list[Result]) -> str:
    (generation,) = generations(wrong)
    if generation.verdict.grade is Grade.UNEXPLAINED:
        return UNEXPLAINED
    if violations(wrong) - violations(right):
        return VIOLATED
    kind = generation.verdict.reason.kind.value if generation.verdict.reason else ""
    return f"{generation.verdict.grade.value} {kind}"


def swept(settings: ClusterSettings, group: str, rows: list[Row], dice: random.Random) -> Iterator[tuple[str, str]]:
    state: Saved | None = None
    for row in rows:
        right = fold_group(settings, group, state, [row], None)
        body = row.body
        assert isinstance(body, GroupGeneration)
        told = generations(list(right.results))
        if told and told[0].verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE) and dice.random() < SHARE:
            for kind, wrong in mutants(body, dice):
                changed = fold_group(settings, group, state, [replace(row, body=wrong)], None)
                yield kind, how(list(changed.results), list(right.results))
        state = right.state


def rows_of(case: Case) -> list[Row]:
    return [
        Row(topic="__consumer_offsets", partition=0, offset=offset, timestamp_ms=at_ms, group="app", body=body)
        for offset, (at_ms, body) in enumerate(case.rounds)
    ]


def printed(kinds: Kinds) -> None:
    for kind in sorted({kind for kind, _ in kinds}):
        print(f"{kind}:", {how: count for (one, how), count in sorted(kinds.items()) if one == kind})
    print({how: sum(count for (_, one), count in kinds.items() if one == how) for how in sorted({h for _, h in kinds})})


def test_changed_answers_of_kafkas_own_leaders() -> None:
    kinds: Kinds = Counter()
    dice = random.Random(5)
    for case in cases():
        settings = ClusterSettings(name="c", streams={"app": case.settings})
        kinds.update(swept(settings, "app", rows_of(case), dice))
    printed(kinds)
    assert kinds.total() > 100


def test_changed_answers_of_a_real_application() -> None:
    settings = settings_of(CAPTURE)
    rows = [row for record in records_of(CAPTURE) if (row := decode(record, settings)) is not None]
    rows = [row for row in rows if isinstance(row.body, GroupGeneration)]
    kinds: Kinds = Counter(swept(settings, "app-4.3.1", rows, random.Random(5)))
    printed(kinds)
