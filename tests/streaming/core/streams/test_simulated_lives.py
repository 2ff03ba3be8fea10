"""Simulated applications: whatever happens to them, what their leader answers is no alarm, and what it does not, is."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab.attack import streams_answers
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.tasks import TaskId, sorted_partitions
from rebalance_monitor.schemas.consumer_protocol import encode_assignment
from rebalance_monitor.schemas.streams_assignment import encode_assignment_info
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import GroupGeneration, MemberRow
from rebalance_monitor.streaming.core.model.results import Grade, Incident, Result, Severity
from rebalance_monitor.streaming.core.streams.members import StreamsThread, UnreadableThread, task_id, threads_of
from tests.profile import size
from tests.streaming.core.rules.builders import GROUP, generations
from tests.streaming.core.streams.simulated import Life, Part, Truth

PARTS = (Part(0, "in", 4), Part(1, "re", 5, stateful=True), Part(2, "zz", 3, stateful=True))
OWN = (BuiltIn.HIGH_AVAILABILITY, BuiltIn.LEGACY_STICKY, BuiltIn.PUBLIC_STICKY)


def lived(seed: int, assignor: BuiltIn, *, known: bool = True) -> Life:
    """Joins, leaves and restarts, each with its follow-up generations; copies catch up now fast, now slowly."""
    dice = random.Random(seed)
    truth = Truth(parts=PARTS, assignor=assignor, standbys=seed % 3, warm_ups=1 + seed % 2)
    life = Life(dice, truth, known=truth.known() if known else None)
    life.join("a", threads=2)
    life.settle()
    for number in range(9):
        life.advance(catch_up=dice.random())
        names = list(life.processes)
        match dice.randrange(5) if number else 0:
            case 0:
                life.join(f"p{number}", threads=dice.randint(1, 2))
            case 1 if len(names) > 1:
                life.leave(dice.choice(names))
            case 2:
                life.restart(dice.choice(names))
            case _:
                pass
        life.settle()
    return life


def loud(results: list[Result]) -> list[Incident]:
    return [one for one in results if isinstance(one, Incident) and one.severity is not Severity.INFO]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("assignor", OWN)
def test_no_answer_is_an_alarm(assignor: BuiltIn, known: bool) -> None:
    grades: Counter[Grade] = Counter()
    lives = size(3, 12) if known else size(2, 6)
    for seed in range(lives):
        results = lived(seed, assignor, known=known).story.fold()
        assert not loud(results), seed
        grades.update(one.verdict.grade for one in generations(results))
    assert grades[Grade.UNEXPLAINED] == 0
    assert grades[Grade.NOT_JUDGED] <= 0.05 * grades.total()
    assert grades.total() > 10 * lives


def stand_still(life: Life) -> None:
    """No copy has restored anything yet."""
    for process in life.processes.values():
        copied = {task for thread in process.threads for task in thread.standby}
        process.on_disk.update(dict.fromkeys(copied & life.ends.keys(), 0))


def test_a_copy_that_has_nothing_yet_may_go_to_a_process_that_lags_alike() -> None:
    """Of processes that lag alike, the one with the lower id is preferred."""
    grades: Counter[Grade] = Counter()
    for seed in range(4):
        dice = random.Random(seed)
        truth = Truth(parts=PARTS, standbys=1 + seed % 2, warm_ups=1 + seed % 3)
        life = Life(dice, truth, known=truth.known())
        for name in ("a", "b", "c", "d"):
            life.join(name, threads=dice.randint(1, 2))
            life.settle()
            life.advance(grow=900)
            stand_still(life)
        results = life.story.fold()
        assert not loud(results), seed
        grades.update(one.verdict.grade for one in generations(results))
    assert set(grades) <= {Grade.MATCH, Grade.EXPLAINABLE}


UPGRADES = (("3.9.1", None, True), ("2.8.2", "3.9.1", False), ("2.8.2", "4.3.1", False), ("3.3.2", "4.3.1", False))
"""The release before, the one after, and whether the new one speaks a version that nobody knows."""


@pytest.mark.parametrize(("before", "after", "unknown"), UPGRADES)
def test_a_rolling_upgrade_is_no_alarm(before: str, after: str | None, unknown: bool) -> None:
    """An old leader pools the threads that it cannot understand. It is upgraded last: then nobody old is left."""
    grades: Counter[tuple[Grade, str]] = Counter()
    for seed in range(4):
        dice = random.Random(seed)
        truth = Truth(parts=PARTS, release=before, standbys=seed % 2)
        life = Life(dice, truth, known=replace(truth.known(), release=None, rack_tags=None))
        for name in ("a", "b", "c"):
            life.join(name, threads=1 + seed % 2)
        life.settle()
        life.advance(catch_up=1)
        for name in ("b", "c", *(() if unknown else ("a",))):
            life.restart(name, release=after, speaks_future=unknown)
            life.settle()
            life.advance()
            life.settle(after_ms=60_000)
        results = life.story.fold()
        assert not loud(results), seed
        for generation in generations(results):
            grades[generation.verdict.grade, generation.verdict.reason.kind if generation.verdict.reason else ""] += 1
    assert not [kind for (grade, kind) in grades if grade is Grade.UNEXPLAINED]
    not_judged = sum(count for (grade, _), count in grades.items() if grade is Grade.NOT_JUDGED)
    assert not_judged <= 0.05 * grades.total(), grades
    assert grades[Grade.EXPLAINABLE, "unknown_process_id"] > 5 or before == "3.3.2"


@pytest.mark.parametrize("release", ["2.4.1", "2.5.1"])
def test_leaders_up_to_2_5_are_judged_as_far_as_they_are_known(release: str) -> None:
    """The tasks of each process, that is: how threads shared them nobody has described."""
    grades: Counter[Grade] = Counter()
    for seed in range(4):
        dice = random.Random(seed)
        life = Life(dice, Truth(parts=PARTS, release=release, standbys=seed % 2, assignor=BuiltIn.LEGACY_STICKY))
        for name in ("a", "b", "c"):
            life.join(name, threads=2)
        life.round()
        life.advance()
        life.restart("b")
        life.round()
        life.leave("c")
        life.round()
        results = life.story.fold()
        assert not loud(results), seed
        grades.update(one.verdict.grade for one in generations(results))
        for row in life.story.rows:
            assert isinstance(row.body, GroupGeneration)
            moved = dict(mutants(row.body, dice))["moved"]
            outcome = fold_group(life.story.settings, GROUP, None, [replace(row, body=moved)], None)
            assert generations(outcome.results)[0].verdict.grade is Grade.NOT_JUDGED
    assert grades[Grade.EXPLAINABLE] >= 0.7 * grades.total()
    assert grades[Grade.UNEXPLAINED] == 0


def test_a_group_that_is_deleted_early_begins_anew_without_an_alarm() -> None:
    """Everybody leaves, the coordinator forgets the group, and processes come back with what is on their disks."""
    for seed in range(size(2, 8)):
        life = lived(seed, BuiltIn.HIGH_AVAILABILITY)
        life.story.generation += 1
        life.story.group_record((), "consumer")
        life.story.tombstone()
        life.story.generation = 0
        for name in list(life.processes):
            life.restart(name)
        life.settle()
        life.advance()
        life.settle()
        results = life.story.fold()
        assert not loud(results), seed
        assert Grade.UNEXPLAINED not in {one.verdict.grade for one in generations(results)}, seed


def mutants(body: GroupGeneration, dice: random.Random) -> Iterator[tuple[str, GroupGeneration]]:
    """The answer with one active task of a process moved to another process, given to nobody, or to both."""
    threads = threads_of(body)
    assert not isinstance(threads, UnreadableThread)
    givers = [thread for thread in threads if thread.pairs]
    if not givers:
        return
    giver = dice.choice(givers)
    takers = [thread for thread in threads if thread.process_id != giver.process_id]
    pair = dice.choice(giver.pairs)
    less = [one for one in giver.pairs if one[1] != pair[1]]
    yield "removed", _with(body, (giver, less))
    if takers:
        taker = dice.choice(takers)
        yield "moved", _with(body, (giver, less), (taker, [*taker.pairs, pair]))
        yield "doubled", _with(body, (taker, [*taker.pairs, pair]))


def _with(body: GroupGeneration, *given: tuple[StreamsThread, list[tuple[tuple[str, int], TaskId]]]) -> GroupGeneration:
    rows = {thread.id: _row(thread, pairs) for thread, pairs in given}
    return replace(body, members=tuple(rows.get(one.member_id, one) for one in body.members))


def _row(thread: StreamsThread, pairs: list[tuple[tuple[str, int], TaskId]]) -> MemberRow:
    tasks = {part: task for part, task in pairs}
    partitions = tuple(sorted_partitions(tasks))
    told = replace(
        thread.told,
        active=tuple(tasks[part][:2] for part in partitions),
        standby=tuple(one for one in thread.told.standby if task_id(one[0]) not in tasks.values()),
    )
    answer = replace(thread.given, partitions=partitions, user_data=encode_assignment_info(told))
    return replace(thread.row, assignment=answer, assignment_bytes=encode_assignment(answer))


@pytest.mark.parametrize("assignor", OWN)
def test_changed_answers_are_caught(assignor: BuiltIn) -> None:
    """By the verdict or by a rule. A task that is taken away may look withheld: its owner gives it up, and which thread
    of another process will get it may depend on end offsets. Then nobody can tell, and nobody calls it right."""
    caught: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    every: Counter[str] = Counter()
    dice, lives = random.Random(5), size(5, 16)
    for seed in range(lives):
        story = lived(seed, assignor).story
        state: Saved | None = None
        for number, row in enumerate(story.rows):
            assert isinstance(row.body, GroupGeneration)
            for kind, body in mutants(row.body, dice) if number % 3 == 1 else ():
                results = fold_group(story.settings, GROUP, state, [replace(row, body=body)], None).results
                grade = generations(results)[0].verdict.grade
                seen = bool(loud(list(results))) or grade is Grade.UNEXPLAINED
                every[kind] += 1
                caught[kind] += seen
                explained[kind] += not seen and grade is not Grade.NOT_JUDGED
            state = fold_group(story.settings, GROUP, state, [row], None).state
    print(assignor.value, {kind: f"{caught[kind]} of {count}" for kind, count in every.items()}, dict(explained))
    assert min(every.values()) > 15 * lives // 8
    assert caught["moved"] >= 0.95 * every["moved"]
    assert caught["doubled"] == every["doubled"]
    assert caught["removed"] >= 0.5 * every["removed"]
    assert explained["moved"] == 0
    assert explained["removed"] <= 0.1 * every["removed"]


def test_a_task_that_is_dropped_is_noticed_where_its_process_has_one_thread() -> None:
    """Under the public sticky assignor, which leaves open who has copies."""
    changed = 0
    for seed in range(3):
        dice = random.Random(seed)
        truth = Truth(parts=PARTS, assignor=BuiltIn.PUBLIC_STICKY, standbys=1)
        life = Life(dice, truth, known=truth.known())
        for name in ("a", "b", "c"):
            life.join(name)
            life.settle()
        state: Saved | None = None
        for row in life.story.rows:
            assert isinstance(row.body, GroupGeneration)
            for kind, body in streams_answers.mutants(row.body, dice):
                if kind == "dropped" and state is not None:  # at first nobody knows how many tasks there are
                    outcome = fold_group(life.story.settings, GROUP, state, [replace(row, body=body)], None)
                    grade = generations(outcome.results)[0].verdict.grade
                    assert grade in (Grade.UNEXPLAINED, Grade.NOT_JUDGED) or loud(list(outcome.results))
                    changed += 1
            state = fold_group(life.story.settings, GROUP, state, [row], None).state
    assert changed > 10
