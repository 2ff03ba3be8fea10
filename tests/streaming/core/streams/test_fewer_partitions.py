"""An application whose topics were made anew with fewer partitions, or whose topology lost sub-topologies."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rebalance_monitor.streaming.core.cluster.knowledge import knowledge_of
from rebalance_monitor.streaming.core.cluster.topics import TopicMetadata
from rebalance_monitor.streaming.core.model.results import Grade, Incident, Result, Severity
from tests.streaming.core.rules.builders import generations
from tests.streaming.core.streams.simulated import Life, Part, Truth

PARTS = (Part(0, "in", 4), Part(1, "re", 5, stateful=True), Part(2, "zz", 3, stateful=True))
FEWER = {
    "partitions without state": (Part(0, "in", 2), *PARTS[1:]),
    "partitions with state": (PARTS[0], Part(1, "re", 3, stateful=True), PARTS[2]),
    "everywhere": (Part(0, "in", 1), Part(1, "re", 2, stateful=True), Part(2, "zz", 1, stateful=True)),
    "the last sub-topology": PARTS[:2],
}
BACK = ("stopped", "emptied", "deleted")


def back_with(life: Life, parts: tuple[Part, ...], how: str) -> None:
    """All processes are stopped, and started with these topics; the group may be empty, or gone, in between."""
    story = life.story
    if how != "stopped":
        story.generation += 1
        story.group_record((), "consumer")
    if how == "deleted":
        story.tombstone()
        story.generation = 0
    life.truth = replace(life.truth, parts=parts)
    life.ends = dict.fromkeys(life.tasks(stateful=True), 0)
    for name in list(life.processes):
        life.restart(name)
    life.settle()
    for _ in range(2):
        life.advance()
        life.settle(after_ms=60_000)
    life.join("q")
    life.settle()
    life.advance(catch_up=1)
    life.settle(after_ms=60_000)


def lived(seed: int, change: str, how: str) -> tuple[Life, int]:
    dice = random.Random(seed)
    truth = Truth(parts=PARTS, standbys=seed % 3, warm_ups=1 + seed % 2)
    life = Life(dice, truth, known=truth.known())
    for name in "abc"[: dice.randint(2, 3)]:
        life.join(name, threads=dice.randint(1, 3))
    life.settle()
    life.advance(grow=50_000, catch_up=1)
    life.settle(after_ms=60_000)
    before = len(life.story.rows)
    back_with(life, FEWER[change], how)
    return life, before


@pytest.mark.parametrize("how", BACK)
@pytest.mark.parametrize("change", FEWER)
def test_fewer_partitions_are_no_alarm(change: str, how: str) -> None:
    for seed in range(2):
        life, before = lived(seed, change, how)
        results = life.story.fold()
        after = [one for one in generations(results) if one.source.offset >= before]
        assert not loud(results), (seed, loud(results)[0].message)
        grades = [one.verdict.grade for one in after]
        assert Grade.UNEXPLAINED not in grades, (seed, grades)
        assert grades[-1] in (Grade.MATCH, Grade.EXPLAINABLE), seed


@pytest.mark.parametrize("sampled", [False, True])
def test_a_sample_makes_sure_that_a_topic_has_fewer_partitions(sampled: bool) -> None:
    """A leader that left out the last tasks would give the same record."""
    truth = Truth(parts=PARTS[:1])
    life = Life(random.Random(1), truth, known=truth.known())
    for name in "ab":
        life.join(name)
    life.settle()
    life.truth = replace(life.truth, parts=FEWER["partitions without state"][:1])
    for name in "ab":
        life.restart(name)
    if sampled:
        topics = {"in": (frozenset[str](),) * 2}
        life.story.knowledge = knowledge_of([TopicMetadata(life.story.now_ms + 1, topics)])
    life.round()
    last = generations(life.story.fold())[-1]
    assert [cause.kind for cause in last.cause if cause.kind == "topic_changed"]
    assert last.verdict.grade is (Grade.MATCH if sampled else Grade.EXPLAINABLE)
    assert sampled or "no sample shows yet that topics have fewer partitions: in (2, before 4)" in last.verdict.why


@pytest.mark.parametrize("change", FEWER)
def test_topics_that_samples_show_to_shrink_under_a_running_application_are_no_alarm(change: str) -> None:
    """Its threads still own partitions that do not exist any more, and nobody is given them."""
    for seed in range(2):
        truth = Truth(parts=PARTS, standbys=seed)
        life = Life(random.Random(seed), truth, known=truth.known())
        samples = [TopicMetadata(life.story.now_ms - 1, of(PARTS))]
        for name in "abc":
            life.join(name)
        life.settle()
        life.advance(catch_up=1)
        life.settle(after_ms=60_000)
        before = len(life.story.rows)
        life.truth = replace(life.truth, parts=FEWER[change])
        life.ends = {task: life.ends[task] for task in life.tasks(stateful=True)}
        life.story.knowledge = knowledge_of([*samples, TopicMetadata(life.story.now_ms + 1, of(FEWER[change]))])
        life.settle()
        life.advance(catch_up=1)
        life.settle(after_ms=60_000)
        results = life.story.fold()
        assert not loud(results), (seed, loud(results)[0].message)
        after = [one for one in generations(results) if one.source.offset >= before]
        assert Grade.UNEXPLAINED not in [one.verdict.grade for one in after], seed
        assert after[-1].verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE), seed


def of(parts: Sequence[Part]) -> dict[str, tuple[frozenset[str], ...]]:
    """What a sample tells of their topics."""
    return {part.topic: (frozenset[str](),) * part.tasks for part in parts}


def loud(results: list[Result]) -> list[Incident]:
    return [one for one in results if isinstance(one, Incident) and one.severity is not Severity.INFO]
