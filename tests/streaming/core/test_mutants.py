"""A verdict must notice one job swapped, moved, dropped or doubled: unexplained, or a rule breaks."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pytest

from rebalance_monitor.assignors.connect.wire_entries import wire_entries_assigned, wire_entries_revoked
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, encode_assignment
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.connect.observed import ConnectorOrTask
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Result, Severity, Subject
from rebalance_monitor.streaming.core.replay import decode
from tests.profile import LONG
from tests.vector_files import CAPTURES

NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())


def given(member: MemberRow) -> ConnectAssignment:
    assert isinstance(member.assignment, ConnectAssignment)
    return member.assignment


def with_jobs(member: MemberRow, jobs: Sequence[ConnectorOrTask]) -> MemberRow:
    """The same answer with these jobs handed out."""
    changed = replace(
        given(member),
        connectors=tuple(job for job in jobs if isinstance(job, str)),
        tasks=tuple(job for job in jobs if not isinstance(job, str)),
    )
    blob = encode_assignment(
        changed,
        wire_entries_assigned(changed.connectors, changed.tasks, 17),
        wire_entries_revoked(changed.revoked_connectors, changed.revoked_tasks),
    )
    return replace(member, assignment=changed, assignment_bytes=blob)


def handed_out(member: MemberRow) -> list[ConnectorOrTask]:
    return [*given(member).connectors, *given(member).tasks]


def mutants(
    body: GroupGeneration, dice: random.Random, *, every: bool = LONG
) -> Iterator[tuple[str, tuple[MemberRow, ...]]]:
    """One change at a time to what was handed out: to one connector and one task, or to every job of every member."""
    members = list(body.members)
    chosen: list[tuple[int, ConnectorOrTask]] = []
    for of_kind in (str, tuple):
        all_jobs = [(n, job) for n, member in enumerate(members) for job in handed_out(member) if type(job) is of_kind]
        chosen += all_jobs if every else dice.sample(all_jobs, min(1, len(all_jobs)))
    for source, job in chosen:
        yield from changed(members, source, job, dice)


def changed(
    members: list[MemberRow], source: int, job: ConnectorOrTask, dice: random.Random
) -> Iterator[tuple[str, tuple[MemberRow, ...]]]:
    mine = handed_out(members[source])
    dropped = list(members)
    dropped[source] = with_jobs(members[source], [one for one in mine if one != job])
    yield "dropped", tuple(dropped)
    others = [index for index in range(len(members)) if index != source]
    if not others:
        return
    target = dice.choice(others)
    theirs = handed_out(members[target])
    doubled = list(members)
    doubled[target] = with_jobs(members[target], [*theirs, job])
    yield "doubled", tuple(doubled)
    moved = list(dropped)
    moved[target] = doubled[target]
    yield "moved", tuple(moved)
    same_kind = [one for one in theirs if type(one) is type(job)]
    if same_kind:
        back = dice.choice(same_kind)
        swapped = list(members)
        swapped[source] = with_jobs(members[source], [back if one == job else one for one in mine])
        swapped[target] = with_jobs(members[target], [job if one == back else one for one in theirs])
        yield "swapped", tuple(swapped)


def violations(results: Iterable[Result]) -> set[tuple[str, tuple[Subject, ...], Severity]]:
    """What is found above info."""
    return {
        (one.code, one.subjects, one.severity)
        for one in results
        if isinstance(one, Incident) and one.transition in ("opened", "updated") and one.severity is not Severity.INFO
    }


def grade_of(results: Iterable[Result]) -> Grade:
    (generation,) = [one for one in results if isinstance(one, Generation)]
    return generation.verdict.grade


@pytest.mark.parametrize("name", NAMES)
def test_mutants_are_noticed(name: str) -> None:
    """At least 99 of 100 are unexplained or break a rule that the record as it was does not; none is a match.

    A leader whose snapshot lacks the last config record drops that record's connector, too: then the verdict is
    explainable, no law may speak, and what the members report in the next record shows that it was no such leader.
    """
    path = CAPTURES / name
    known = settings_of(path)
    (group,) = known.connect
    rows = [row for record in records_of(path) if (row := decode(record, known)) is not None]
    own = [row for row in route(rows, known)[group] if row.topic == "__consumer_offsets"]
    rest = [row for row in route(rows, known)[group] if row.topic != "__consumer_offsets"]
    state = fold_group(known, group, None, rest, Tick(0)).state
    made, late, missed, by_rule = Counter[str](), 0, [], Counter[str]()
    dice = random.Random(7)
    for row, following in zip(own, [*own[1:], None], strict=True):
        right = fold_group(known, group, state, [row], Tick(0))
        body = row.body
        if isinstance(body, GroupGeneration) and body.members and grade_of(right.results) is Grade.MATCH:
            after_right = None
            for kind, members in mutants(body, dice):
                mutant = replace(row, body=replace(body, members=members))
                wrong = fold_group(known, group, state, [mutant], Tick(0))
                broken = violations(wrong.results) - violations(right.results)
                made[kind] += 1
                assert grade_of(wrong.results) is not Grade.MATCH, (name, kind, body.generation)
                if grade_of(wrong.results) is not Grade.UNEXPLAINED and not broken and following is not None:
                    late += 1
                    if after_right is None:
                        after_right = violations(fold_group(known, group, right.state, [following], Tick(0)).results)
                    after = fold_group(known, group, wrong.state, [following], Tick(0))
                    broken = violations(after.results) - after_right
                by_rule.update({code for code, _, _ in broken})
                if grade_of(wrong.results) is not Grade.UNEXPLAINED and not broken:
                    missed.append((kind, body.generation))
        state = right.state
    print(
        f"{name}: {made.total()} mutants {dict(made)}, {late} noticed by the next record, "
        f"{len(missed)} not noticed, rules {dict(sorted(by_rule.items()))}"
    )
    assert made.total() >= 8
    assert len(missed) * 100 <= made.total(), missed
