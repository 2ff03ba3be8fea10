"""Every way of answering wrongly is noticed, with the cluster's settings and without any.

Noticed: unexplained, or a rule breaks above info that the right record does not break; at once, by the next record, or
once every time-out of the group is over and nothing came. What is not noticed must be the bytes of a right leader:
`legitimate` says of which, and the verdict's run, equal to the byte, is the proof.
"""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from streaming.cli.captures import records_of, settings_of
from streaming.core.codec import loads
from streaming.core.configured import configured_at
from streaming.core.fold import fold_group
from streaming.core.judge_connect import CLOCKS_APART, CONFIG_BEHIND, UNKNOWN_MAXIMUM
from streaming.core.records import GroupGeneration, Row, Tick
from streaming.core.replay import decode
from streaming.core.results import Generation, Grade, Result, Verdict
from streaming.core.routing import route
from streaming.core.settings import ClusterSettings
from streaming.core.state import GroupState
from tests.streaming.core.mutant_kinds import Answered, whole_answers
from tests.streaming.core.test_mutants import CAPTURES, NAMES, grade_of, mutants, violations

LATER_MS = 200_000
"""Beyond every time-out and delay of the captures."""
WHEN = ("at once", "by timer", "by the next", "legitimate", "missed")


def legitimate(kind: str, wrong: Verdict, right: Verdict, known: bool, quiet_ms: int | None, timeouts_ms: int) -> str:
    """Which right leader gives these bytes; "" for none. `quiet_ms`: until the next record, None if there is none."""
    if kind in ("rest of a delay one less", "rest of a delay one more") and wrong.grade is Grade.MATCH:
        return "its clock reads a millisecond more or less between the two times that the record shows"
    if kind.startswith("rest of a delay") and wrong.reason == CLOCKS_APART:
        return "its clock, or the coordinator's, was set between the two records"
    if wrong.reason == CONFIG_BEHIND and quiet_ms is not None and quiet_ms < timeouts_ms:
        return "it had not applied the last config record, and its rebalance follows in time"
    if not known and wrong.grade is Grade.MATCH and wrong.era != right.era:
        return "it runs another release, and no record before excludes that"
    if not known and kind.startswith("delay") and wrong.reason == UNKNOWN_MAXIMUM:
        return "it has this maximum delay, and has shown no other"
    return ""


def rows_of(known: ClusterSettings, path: Path) -> tuple[str, list[Row], list[Row]]:
    """The Connect group, its own records, and those of its topics."""
    rows = [row for record in records_of(path) if (row := decode(record, known)) is not None]
    (group,) = settings_of(path).connect
    routed = route(rows, known)[group]
    own = [row for row in routed if row.topic == "__consumer_offsets"]
    return group, own, [row for row in routed if row.topic != "__consumer_offsets"]


def verdict_of(results: tuple[Result, ...]) -> Verdict:
    (generation,) = [one for one in results if isinstance(one, Generation)]
    return generation.verdict


@pytest.mark.parametrize("known", [True, False], ids=["with settings", "without settings"])
@pytest.mark.parametrize("name", NAMES)
def test_each_kind_is_noticed(name: str, known: bool) -> None:
    path = CAPTURES / name
    settings = settings_of(path) if known else ClusterSettings(name=path.name)
    (max_delay_ms,) = [one.max_delay_ms or 0 for one in settings_of(path).connect.values()]
    group, own, rest = rows_of(settings, path)
    state = fold_group(settings, group, None, rest, Tick(0)).state
    how, dice = Counter[tuple[str, str]](), random.Random(11)
    proofs, missed = set[tuple[str, int, str]](), list[tuple[str, int, str | None]]()
    before = None
    for row, following in zip(own, [*own[1:], None], strict=True):
        right = fold_group(settings, group, state, [row], Tick(0))
        body, after = row.body, loads(GroupState, right.state)
        if isinstance(body, GroupGeneration) and body.members and grade_of(right.results) is Grade.MATCH:
            assert after.last is not None
            configured = configured_at(after.history, after.last) or frozenset()
            one = Answered(body, after.last, before, configured, max_delay_ms)
            # With settings, `test_mutants` looks at what is wrong with one job.
            for kind, members in [*(() if known else mutants(body, dice)), *whole_answers(one, dice)]:
                if members == body.members:
                    continue
                mutant = replace(row, body=replace(body, members=members))
                wrong = fold_group(settings, group, state, [mutant], Tick(0))
                judged = verdict_of(wrong.results)
                quiet_ms = None if following is None else following.timestamp_ms - row.timestamp_ms
                if judged.grade is Grade.UNEXPLAINED or violations(wrong.results) - violations(right.results):
                    when = "at once"
                else:
                    when = _later(settings, group, wrong.state, right.state, row, following)
                    proof = legitimate(kind, judged, verdict_of(right.results), known, quiet_ms, after.timeouts_ms)
                    if when == "missed" and proof:
                        when = "legitimate"
                        proofs.add((kind, body.generation, proof))
                if when == "missed":
                    missed.append((kind, body.generation, judged.reason))
                how[kind, when] += 1
        before, state = after.last, right.state
    for kind in sorted({kind for kind, _ in how}):
        counts = ", ".join(f"{how[kind, when]} {when}" for when in WHEN if how[kind, when])
        print(f"{name} {'with' if known else 'without'} settings, {kind}: {counts}")
    for kind, generation, proof in sorted(proofs):
        print(f"{name} generation {generation}, {kind}: a right leader, if {proof}")
    assert how.total() >= 10
    assert not missed


def _later(settings: ClusterSettings, group: str, wrong: bytes, right: bytes, row: Row, following: Row | None) -> str:
    until_ms = row.timestamp_ms + LATER_MS if following is None else following.timestamp_ms
    ticked = [fold_group(settings, group, one, [], Tick(until_ms)) for one in (wrong, right)]
    if violations(ticked[0].results) - violations(ticked[1].results):
        return "by timer"
    if following is None:
        return "missed"
    after = [fold_group(settings, group, one, [following], Tick(0)) for one in (wrong, right)]
    if violations(after[0].results) - violations(after[1].results) or grade_of(after[0].results) is Grade.UNEXPLAINED:
        return "by the next"
    return "missed"
