"""A verdict must notice one job swapped, moved, dropped or doubled: unexplained, or a rule breaks."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assignors.java_order import wire_entries_assigned, wire_entries_revoked
from schemas.connect_protocol import ConnectAssignment, encode_assignment
from streaming.cli.replay import _settings, records_of
from streaming.core.fold import fold_group
from streaming.core.records import GroupGeneration, MemberRow, Row, Tick
from streaming.core.replay import decode
from streaming.core.results import Generation, Grade, Incident
from streaming.core.routing import route

CAPTURES = Path(__file__).parents[2] / "vectors" / "captures"
NAMES = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())


def given(member: MemberRow) -> ConnectAssignment:
    assert isinstance(member.assignment, ConnectAssignment)
    return member.assignment


def with_tasks(member: MemberRow, tasks: tuple[tuple[str, int], ...]) -> MemberRow:
    changed = replace(given(member), tasks=tasks)
    blob = encode_assignment(
        changed,
        wire_entries_assigned(changed.connectors, changed.tasks, 17),
        wire_entries_revoked(changed.revoked_connectors, changed.revoked_tasks),
    )
    return replace(member, assignment=changed, assignment_bytes=blob)


def mutants(body: GroupGeneration, dice: random.Random) -> Iterator[tuple[str, tuple[MemberRow, ...]]]:
    """One change at a time to the tasks that were handed out."""
    members = list(body.members)
    holding = [index for index, member in enumerate(members) if given(member).tasks]
    if not holding:
        return
    source = dice.choice(holding)
    tasks = given(members[source]).tasks
    task = dice.choice(tasks)
    dropped = list(members)
    dropped[source] = with_tasks(members[source], tuple(one for one in tasks if one != task))
    yield "dropped", tuple(dropped)
    others = [index for index in range(len(members)) if index != source]
    if not others:
        return
    target = dice.choice(others)
    doubled = list(members)
    doubled[target] = with_tasks(members[target], (*given(members[target]).tasks, task))
    yield "doubled", tuple(doubled)
    other = given(members[target]).tasks
    if other:
        swapped = list(members)
        back = dice.choice(other)
        swapped[source] = with_tasks(members[source], tuple(back if one == task else one for one in tasks))
        swapped[target] = with_tasks(members[target], tuple(task if one == back else one for one in other))
        yield "swapped", tuple(swapped)
    moved = list(dropped)
    moved[target] = doubled[target]
    yield "moved", tuple(moved)


def noticed(name: str) -> tuple[int, list[tuple[str, str, int]]]:
    """How many mutants of a capture's generations were made, and which of them the verdict let pass."""
    path = CAPTURES / name
    known = _settings(path, None, use_settings=True)
    (group,) = known.connect
    rows = [row for record in records_of(path) if (row := decode(record, known)) is not None]
    own = [row for row in route(rows, known)[group] if row.topic == "__consumer_offsets"]
    rest = [row for row in route(rows, known)[group] if row.topic != "__consumer_offsets"]
    state = fold_group(known, group, None, rest, Tick(0)).state
    made, missed = Counter[str](), []
    dice = random.Random(7)
    for row in own:
        if isinstance(row.body, GroupGeneration) and row.body.members:
            for kind, members in mutants(row.body, dice):
                if members == row.body.members:
                    continue
                mutant: Row = replace(row, body=replace(row.body, members=members))
                results = fold_group(known, group, state, [mutant], Tick(0)).results
                grades = {one.verdict.grade for one in results if isinstance(one, Generation)}
                broken = any(isinstance(one, Incident) and one.transition == "opened" for one in results)
                made[kind] += 1
                assert broken or Grade.MATCH not in grades, (name, kind, row.body.generation)
                if Grade.UNEXPLAINED not in grades and not broken:
                    missed.append((name, kind, row.body.generation))
        state = fold_group(known, group, state, [row], Tick(0)).state
    print(f"{name}: {sum(made.values())} mutants {dict(made)}, {len(missed)} not noticed")
    return sum(made.values()), missed


def test_mutants_are_noticed() -> None:
    outcomes = [noticed(name) for name in NAMES]
    made = sum(count for count, _ in outcomes)
    missed = [one for _, some in outcomes for one in some]
    assert made > 200
    assert len(missed) * 100 <= made, missed
