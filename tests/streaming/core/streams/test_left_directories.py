"""An application that was stopped comes back with another topology or with new changelogs, and with its old disks."""

import random
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Grade, Incident, Severity
from rebalance_monitor.streaming.core.streams.members import StreamsThread, UnreadableThread, threads_of
from rebalance_monitor.streaming.core.streams.topology import leftovers, restarted
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.streams.simulated import Life, Part, Truth

PARTS = (Part(0, "in", 4), Part(1, "re", 5, stateful=True), Part(2, "zz", 3, stateful=True))
NEW = {
    "one in front": (
        Part(0, "pre", 3), Part(1, "in", 4), Part(2, "re", 5, stateful=True), Part(3, "zz", 3, stateful=True)
    ),
    "no state any more": (Part(0, "in", 4), Part(1, "re", 5), Part(2, "zz", 3, stateful=True)),
    "the first gone": (Part(0, "re", 5, stateful=True), Part(1, "zz", 3, stateful=True)),
    "new changelogs": PARTS,
}  # fmt: skip


def running(seed: int) -> Life:
    """Two or three processes whose copies have caught up."""
    dice = random.Random(seed)
    truth = Truth(parts=PARTS, standbys=seed % 3, warm_ups=1 + seed % 2)
    life = Life(dice, truth, known=truth.known())
    for name in "abc"[: dice.randint(2, 3)]:
        life.join(name, threads=dice.randint(1, 3))
    life.settle()
    life.advance(grow=50_000, catch_up=1)
    life.settle(after_ms=60_000)
    return life


def back_with(life: Life, parts: tuple[Part, ...]) -> None:
    """All processes are stopped, and started with this topology, whose changelogs are empty."""
    life.truth = replace(life.truth, parts=parts)
    life.ends = dict.fromkeys(life.tasks(stateful=True), 0)
    for name in list(life.processes):
        life.restart(name)
    life.settle()
    for _ in range(3):
        life.advance()
        life.settle(after_ms=60_000)


def cleaned(life: Life) -> None:
    """The cleaner removes directories of tasks that a process has not."""
    for process in life.processes.values():
        own = {task for thread in process.threads for task in (*thread.active, *thread.standby)}
        process.on_disk = {task: total for task, total in process.on_disk.items() if task in own & life.ends.keys()}


@pytest.mark.parametrize("change", NEW)
def test_what_is_left_on_disks_accuses_nobody(change: str) -> None:
    for seed in range(3):
        life = running(seed)
        before = life.story.generation
        back_with(life, NEW[change])
        cleaned(life)
        life.join("q")
        life.settle()
        results = life.story.fold()
        loud = [one for one in results if isinstance(one, Incident) and one.severity is not Severity.INFO]
        grades = [one.verdict.grade for one in generations(results) if one.generation > before]
        assert not loud, seed
        assert Grade.UNEXPLAINED not in grades, seed
        assert grades[-1] in (Grade.MATCH, Grade.EXPLAINABLE), seed


def last_threads(life: Life) -> tuple[StreamsThread, ...]:
    """The threads of the last record."""
    body = life.story.rows[-1].body
    assert isinstance(body, GroupGeneration)
    threads = threads_of(body)
    assert not isinstance(threads, UnreadableThread)
    return threads


def test_nothing_is_left_where_the_application_goes_on() -> None:
    life = running(0)
    life.restart("a")
    life.round()
    assert leftovers({}, last_threads(life), anew=restarted(last_threads(life))) == {}


def test_a_directory_is_left_until_its_process_opens_it() -> None:
    life = running(1)
    for name in list(life.processes):
        life.restart(name)
    life.round()
    left = leftovers({}, last_threads(life), anew=restarted(last_threads(life)))
    assert left
    life.advance(grow=500)
    life.round()
    kept = leftovers(left, last_threads(life), anew=restarted(last_threads(life)))
    assert sum(map(len, kept.values())) < sum(map(len, left.values()))


ROLLED = {
    "one in front": NEW["one in front"],
    "the first gone": NEW["the first gone"],
    "one in front, and behind": (*NEW["one in front"], Part(4, "end", 2)),
}


@pytest.mark.parametrize("change", ROLLED)
def test_another_topology_that_processes_get_one_after_another_accuses_nobody(change: str) -> None:
    """The leader first. Members that still run the topology before, and directories that are left of it, report tasks
    by its numbers."""
    for seed in range(3):
        life = running(seed)
        before = life.story.generation
        life.truth = replace(life.truth, parts=ROLLED[change])
        life.ends = dict.fromkeys(life.tasks(stateful=True), 60_000)
        for name in list(life.processes):
            life.restart(name)
            life.settle()
        life.settle()
        for _ in range(4):
            life.advance()
            life.settle(after_ms=60_000)
        results = life.story.fold()
        loud = [one for one in results if isinstance(one, Incident) and one.severity is not Severity.INFO]
        grades = [one.verdict.grade for one in generations(results) if one.generation > before]
        assert not loud, (seed, loud[0].message)
        assert Grade.UNEXPLAINED not in grades, seed
        assert grades[-1] in (Grade.MATCH, Grade.EXPLAINABLE), seed
