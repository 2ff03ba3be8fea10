"""Verdicts on Streams groups whose leader may look at racks: what is not known of racks is no alarm and no match."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from lab.attack.streams_vectors import Case, cases, sample_of
from rebalance_monitor.assignors.streams.application import RackStrategy
from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.leader import MakeAssignor
from rebalance_monitor.assignors.streams.tasks import task_of
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicHistory
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Grade, Verdict
from rebalance_monitor.streaming.core.model.settings import StreamsSettings
from rebalance_monitor.streaming.core.streams.generation import _floor
from rebalance_monitor.streaming.core.streams.hypotheses import Remembered
from rebalance_monitor.streaming.core.streams.members import UnreadableThread, threads_of
from rebalance_monitor.streaming.core.streams.observed import observed
from rebalance_monitor.streaming.core.streams.replica_racks import known_racks
from rebalance_monitor.streaming.core.streams.topology import Seen, learnt
from rebalance_monitor.streaming.core.streams.verdict import judge
from tests.profile import size
from tests.streaming.core.rules.builders import GROUP, START_MS, generations
from tests.streaming.core.streams.simulated import Life, Part, Replicas, Truth
from tests.streaming.core.streams.test_simulated_lives import loud, mutants

RACKS = ("r0", "r1", "r2")
PARTS = (Part(0, "in", 4), Part(1, "re", 4, stateful=True), Part(2, "zz", 3, stateful=True))
LEADER_ERRORS = 1
"""Rounds of the vectors in which the leader answers with an error instead of tasks."""
STRATEGIES = (RackStrategy.MIN_TRAFFIC, RackStrategy.BALANCE_SUBTOPOLOGY)
OWN = (BuiltIn.HIGH_AVAILABILITY, BuiltIn.LEGACY_STICKY)


def verdicts(case: Case, settings: StreamsSettings, topics: TopicHistory) -> Iterator[Verdict]:
    seen: Seen = ()
    floor: dict[str, int] = {}
    for at_ms, body in case.rounds:
        threads = threads_of(body)
        assert not isinstance(threads, UnreadableThread)
        seen = learnt(seen, threads)
        record = observed(case.application, body.leader, threads, seen)
        record = replace(record, racks=known_racks(topics, settings.topology, case.application, seen, at_ms))
        ends = {task_of(task): end for task, end in floor.items()}
        yield judge(settings, record, at_ms, Remembered(built_in=True), ends).verdict
        floor = _floor(floor, record)


@pytest.mark.parametrize("told", [True, False])
def test_rounds_of_kafkas_own_leaders_with_a_rack_strategy_are_judged(told: bool) -> None:
    """Every one whose leader answered with tasks, whether the strategy is known or not."""
    grades: Counter[Grade] = Counter()
    for case in cases():
        if case.looks_at_racks:
            settings = replace(case.settings, topology=case.topology)
            settings = settings if told else replace(settings, rack_strategy=None)
            grades.update(verdict.grade for verdict in verdicts(case, settings, case.topics))
    assert grades[Grade.NOT_JUDGED] == LEADER_ERRORS
    assert grades[Grade.UNEXPLAINED] == 0
    assert grades[Grade.MATCH] + grades[Grade.EXPLAINABLE] == 35


def test_without_samples_nothing_is_unexplained_and_every_doubt_is_named() -> None:
    reasons: Counter[ReasonKind] = Counter()
    for case in cases():
        if case.looks_at_racks:
            for verdict in verdicts(case, replace(case.settings, topology=case.topology), NO_SAMPLES):
                assert verdict.grade is not Grade.UNEXPLAINED
                if verdict.reason is not None:
                    reasons[verdict.reason.kind] += 1
    assert reasons[ReasonKind.UNKNOWN_RACKS] >= 10


def text_of(parts: tuple[Part, ...]) -> str:
    """The topology as Kafka Streams prints it."""
    return "Topologies:\n" + "".join(
        f"  Sub-topology: {part.number}\n    Source: S{part.number} (topics: [{part.topic}])\n      --> none\n"
        f"    Processor: P{part.number} (stores: [{f'store{part.number}' if part.stateful else ''}])\n"
        for part in parts
    )


def lived(
    seed: int,
    strategy: RackStrategy,
    assignor: BuiltIn | MakeAssignor = BuiltIn.HIGH_AVAILABILITY,
    *,
    without: str | None = None,
) -> Life:
    """Joins, leaves and restarts in three racks. `without`: a topic one of whose brokers has no rack."""
    dice = random.Random(seed)
    racks: dict[str, tuple[Replicas, ...]] = {
        name: tuple(tuple(dice.sample(RACKS, 1 + seed % 2)) for _ in range(part.tasks))
        for part in PARTS
        for name in (part.topic, part.changelog)
        if name == part.topic or part.stateful
    }
    if without is not None:
        racks[without] = ((None,), *racks[without][1:])
    truth = Truth(parts=PARTS, assignor=assignor, standbys=seed % 2, strategy=strategy, racks=dict(racks))
    life = Life(dice, truth, known=replace(truth.known(), topology=text_of(PARTS)))
    tell(life)
    for at, name in enumerate("abc"):
        life.join(name, rack=RACKS[at % 3])
    life.settle()
    for number in range(4):
        life.advance(catch_up=dice.random())
        match dice.randrange(3):
            case 0:
                life.join(f"p{number}", rack=dice.choice(RACKS))
            case 1 if len(life.processes) > 2:
                life.leave(dice.choice(list(life.processes)))
            case _:
                life.restart(dice.choice(list(life.processes)))
        life.settle()
    return life


def tell(life: Life, *, at_ms: int = START_MS, racks: Mapping[str, tuple[Replicas, ...]] | None = None) -> None:
    """A sample of all topics, at the same moment as the group begins, and one of the same after it has ended."""
    topics = NO_SAMPLES
    for asked_ms in (at_ms, at_ms + 3_600_000):
        topics = topics.with_sample(sample_of(asked_ms, racks or life.truth.racks))
    life.story.knowledge = replace(NOTHING_KNOWN, topics=topics)


@pytest.mark.parametrize("assignor", OWN)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_answer_of_a_leader_that_looks_at_racks_is_an_alarm(strategy: RackStrategy, assignor: BuiltIn) -> None:
    grades: Counter[Grade] = Counter()
    decided_by_racks = 0
    for seed in range(size(2, 8)):
        life = lived(seed, strategy, assignor)
        results = life.story.fold()
        assert not loud(results), seed
        grades.update(one.verdict.grade for one in generations(results))
        settings = life.story.settings
        plain = replace(settings.streams[GROUP], rack_strategy="none")
        life.story.settings = replace(settings, streams={GROUP: plain})
        decided_by_racks += sum(one.verdict.grade is Grade.UNEXPLAINED for one in generations(life.story.fold()))
    assert grades[Grade.UNEXPLAINED] == 0
    assert grades[Grade.NOT_JUDGED] <= 0.05 * grades.total()
    assert decided_by_racks > 0, "racks decide no answer of these lives"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_unknown_strategy_and_unknown_racks_are_no_alarm(strategy: RackStrategy) -> None:
    for seed in range(2):
        life = lived(seed, strategy)
        told, knowledge = life.story.settings, life.story.knowledge
        own = told.streams[GROUP]
        for settings, known in (
            (replace(own, rack_strategy=None), knowledge),
            (own, NOTHING_KNOWN),
            (replace(own, rack_strategy=None), NOTHING_KNOWN),
            (replace(own, topology=None), knowledge),
        ):
            life.story.settings, life.story.knowledge = replace(told, streams={GROUP: settings}), known
            results = life.story.fold()
            assert not loud(results), seed
            assert Grade.UNEXPLAINED not in {one.verdict.grade for one in generations(results)}, seed


@pytest.mark.parametrize("told", [True, False])
def test_replicas_that_may_have_moved_since_the_last_sample_are_no_alarm(told: bool) -> None:
    """The leader knows of replicas that moved after the last sample. With a sample after the record it is an alarm."""
    grades: dict[bool, Counter[Grade]] = {True: Counter(), False: Counter()}
    for seed in range(3):
        life = lived(seed, RackStrategy.MIN_TRAFFIC)
        if not told:
            own = replace(life.story.settings.streams[GROUP], rack_strategy=None)
            life.story.settings = replace(life.story.settings, streams={GROUP: own})
        shifted = {name: each[1:] + each[:1] for name, each in life.truth.racks.items()}
        tell(life, racks=shifted)
        known = life.story.knowledge.topics
        last_ms = life.story.rows[-1].timestamp_ms
        for later in (True, False):
            topics = known if later else replace(known, asked_ms=last_ms - 10_000, answered_ms=last_ms - 10_000)
            life.story.knowledge = replace(NOTHING_KNOWN, topics=topics)
            last = generations(life.story.fold())[-1].verdict
            grades[later][last.grade] += 1
            if not later:
                assert last.reason is not None
    assert grades[False][Grade.UNEXPLAINED] == grades[False][Grade.MATCH] == 0
    assert grades[True][Grade.UNEXPLAINED] > 0 or not told


def test_a_large_group_is_not_searched_for_the_cheapest_placement_and_says_so() -> None:
    parts = (Part(0, "in", 40),)
    racks: dict[str, tuple[Replicas, ...]] = {"in": tuple((RACKS[at % 3],) for at in range(40))}
    truth = Truth(parts=parts, strategy=RackStrategy.BALANCE_SUBTOPOLOGY, racks=racks)
    life = Life(random.Random(1), truth, known=replace(truth.known(), topology=text_of(parts)))
    tell(life)
    for at in range(20):
        life.join(f"p{at}", rack=RACKS[at % 3])
    life.round()
    life.leave("p3")
    life.settle()
    verdicts = [one.verdict for one in generations(life.story.fold())]
    assert {one.grade for one in verdicts} <= {Grade.EXPLAINABLE, Grade.NOT_JUDGED}
    assert all("in so large a group" in one.why for one in verdicts)


def test_a_broker_without_rack_turns_racks_off() -> None:
    """Then the strategy decides nothing, and no doubt is left where every sample shows so."""
    for seed in range(2):
        life = lived(seed, RackStrategy.MIN_TRAFFIC, without="in")
        own = life.story.settings.streams[GROUP]
        for settings in (own, replace(own, rack_strategy=None)):
            life.story.settings = replace(life.story.settings, streams={GROUP: settings})
            for generation in generations(life.story.fold()):
                assert generation.verdict.grade in (Grade.MATCH, Grade.EXPLAINABLE)
                assert generation.verdict.reason is None or "rack" not in generation.verdict.why


@pytest.mark.parametrize("told", [True, False])
def test_a_moved_task_is_never_explained_by_racks(told: bool) -> None:
    dice = random.Random(7)
    grades: Counter[Grade] = Counter()
    for seed in range(3):
        story = lived(seed, RackStrategy.MIN_TRAFFIC).story
        if not told:
            unknown = replace(story.settings.streams[GROUP], rack_strategy=None)
            story.settings = replace(story.settings, streams={GROUP: unknown})
        state: Saved | None = None
        for number, row in enumerate(story.rows):
            assert isinstance(row.body, GroupGeneration)
            moved = dict(mutants(row.body, dice)).get("moved") if number % 2 else None
            if moved is not None:
                changed = replace(row, body=moved)
                outcome = fold_group(story.settings, GROUP, state, [changed], None, knowledge=story.knowledge)
                grades[generations(outcome.results)[0].verdict.grade] += 1
            state = fold_group(story.settings, GROUP, state, [row], None, knowledge=story.knowledge).state
    assert grades[Grade.MATCH] + grades[Grade.EXPLAINABLE] == 0
    assert grades[Grade.UNEXPLAINED] >= 0.7 * grades.total()
    assert grades.total() > 5


TAGS = ("zone", "row", "host")


def tagged(seed: int, keys: tuple[str, ...]) -> Life:
    """Joins, leaves and restarts of processes with these client tags, by all of which copies are spread."""
    dice = random.Random(seed)
    parts = (Part(1, "re", 4, stateful=True),)
    truth = Truth(parts=parts, standbys=1, tags=keys)
    life = Life(dice, truth, known=replace(truth.known(), rack_tags=None, topology=text_of(parts)))
    for at in range(5):
        life.join(f"p{at}", tags={key: f"{key}{dice.randrange(2)}" for key in keys})
    life.settle()
    for at in range(3):
        life.advance(catch_up=1.0)
        life.leave(f"p{at}")
        life.settle()
    return life


@pytest.mark.parametrize("keys", [TAGS[:1], TAGS])
def test_rack_tags_that_nobody_told_are_no_alarm_and_no_match_where_they_decide(keys: tuple[str, ...]) -> None:
    decided = 0
    for seed in range(3):
        life = tagged(seed, keys)
        unknown = [one.verdict for one in generations(life.story.fold())]
        assert Grade.UNEXPLAINED not in {one.grade for one in unknown}
        settings = life.story.settings
        without = replace(settings.streams[GROUP], rack_tags=())
        life.story.settings = replace(settings, streams={GROUP: without})
        for blind, other in zip(unknown, generations(life.story.fold()), strict=True):
            if other.verdict.grade is Grade.UNEXPLAINED:
                decided += 1
                assert blind.grade is not Grade.MATCH, "the tags decide, and nobody told them"
    assert decided


def test_a_record_waits_for_the_racks_after_it() -> None:
    """One of a leader that looks at racks, and not longer than `judge.wait_ms`."""
    life = lived(0, RackStrategy.MIN_TRAFFIC)
    story, row = life.story, life.story.rows[0]
    sample = sample_of(row.timestamp_ms - 10_000, life.truth.racks)
    topics = NO_SAMPLES.with_sample(sample)
    read_ms = row.timestamp_ms + 2 * SKEW_MS

    def read(state: Saved | None, rows: list[Row], now_ms: int) -> FoldOutcome:
        knowledge = replace(NOTHING_KNOWN, topics=topics, asked=True)
        return fold_group(story.settings, GROUP, state, rows, Tick(now_ms), knowledge=knowledge)

    first = read(None, [row], read_ms)
    assert generations(first.results)[-1].verdict.pending_until_ms is not None
    late = generations(read(first.state, [], read_ms + story.settings.judge_wait_ms).results)[-1].verdict
    assert late.reason is not None
    assert late.reason.kind in (ReasonKind.UNKNOWN_RACKS, ReasonKind.UNKNOWN_STATE)
    assert first.sample_from_ms is not None
    topics = topics.with_sample(sample_of(first.sample_from_ms, life.truth.racks))
    told = generations(read(first.state, [], read_ms + 1_000).results)[-1].verdict
    assert told.pending_until_ms is None
    assert told.grade in (Grade.MATCH, Grade.EXPLAINABLE)
    assert "sample" not in told.why
