"""An application's own assignor is shown the racks and end offsets that samples tell, and they count as for Kafka's."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

import pytest

from lab.attack.streams_vectors import sample_of
from rebalance_monitor.assignors.streams.application import RackStrategy
from rebalance_monitor.assignors.streams.application_state import ApplicationState
from rebalance_monitor.assignors.streams.assignment import (
    AssignedTask,
    KafkaStreamsAssignment,
    TaskAssignment,
    TaskType,
)
from rebalance_monitor.assignors.streams.public_sticky import StickyTaskAssignor
from rebalance_monitor.assignors.streams.task_assignor import TaskAssignor
from rebalance_monitor.assignors.streams.tasks import TaskId, process_key, sorted_tasks
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.cluster.end_offsets import EndSample
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicHistory
from rebalance_monitor.streaming.core.fold import fold
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import registry
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.records import Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Verdict
from tests.streaming.core.rules.builders import GROUP, START_MS, generations
from tests.streaming.core.rules.streams import Thread, group
from tests.streaming.core.streams.simulated import Life, Part
from tests.streaming.core.streams.test_sampled_ends import SampledLife
from tests.streaming.core.streams.test_streams_plug_ins import KNOWN, InThisProcess
from tests.streaming.core.streams.test_streams_racks import lived, tell


def fewest(made: dict[UUID, KafkaStreamsAssignment], among: Sequence[UUID]) -> UUID:
    return min(among, key=lambda process: (len(made[process].tasks), process_key(process)))


def placed(state: ApplicationState, among: Callable[[TaskId], Sequence[UUID]]) -> TaskAssignment:
    """Each task with that one of these processes that has the fewest."""
    made = {process: KafkaStreamsAssignment(process) for process in state.kafka_streams_states(False)}
    for task in sorted_tasks(state.all_tasks):
        made[fewest(made, among(task) or list(made))].assign_task(AssignedTask(task, TaskType.ACTIVE))
    return TaskAssignment(tuple(made.values()))


class ByRack(TaskAssignor):
    """A task goes where a replica of its source is."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        clients = application_state.kafka_streams_states(False)

        def near(task: TaskId) -> list[UUID]:
            parts = application_state.all_tasks[task].topic_partitions
            racks = {rack for part in parts if part.is_source for rack in part.rack_ids() or ()}
            return [process for process, client in clients.items() if client.rack_id in racks]

        return placed(application_state, near)


class ByLag(TaskAssignor):
    """A task with state goes where it lags least."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        clients = application_state.kafka_streams_states(True)

        def nearest(task: TaskId) -> list[UUID]:
            if not application_state.all_tasks[task].has_changelog:
                return []
            least = min(client.lag_for(task) for client in clients.values())
            return [process for process, client in clients.items() if client.lag_for(task) == least]

        return placed(application_state, nearest)


def run_by(made: type[TaskAssignor]) -> Callable[..., FoldOutcome]:
    return partial(fold.fold_group, registry(InThisProcess(lambda state: made().assign(state))))


def judged(life: Life, made: type[TaskAssignor], knowledge: Knowledge) -> list[Generation]:
    story = life.story
    outcome = run_by(made)(story.settings, GROUP, None, story.rows, Tick(story.now_ms + 100), knowledge=knowledge)
    return generations(outcome.results)


# -- racks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [ByRack, StickyTaskAssignor])
def test_racks_that_samples_tell_decide(made: type[TaskAssignor]) -> None:
    grades: Counter[Grade] = Counter()
    decided_by_racks = 0
    for seed in (0, 2, 4):
        life = lived(seed, RackStrategy.MIN_TRAFFIC, made)
        found = judged(life, made, life.story.knowledge)
        grades.update(one.verdict.grade for one in found)
        assert {one.verdict.reason.kind for one in found if one.verdict.reason is not None} <= {
            ReasonKind.UNKNOWN_STATE
        }
        elsewhere = {name: (("nowhere",),) * len(each) for name, each in life.truth.racks.items()}
        tell(life, racks=elsewhere)
        decided_by_racks += sum(
            one.verdict.grade is Grade.UNEXPLAINED for one in judged(life, made, life.story.knowledge)
        )
    assert grades[Grade.UNEXPLAINED] == grades[Grade.NOT_JUDGED] == 0
    assert grades[Grade.MATCH] > 0.8 * grades.total()
    assert decided_by_racks > 0


def without_later(topics: TopicHistory) -> TopicHistory:
    return replace(topics, asked_ms=START_MS, answered_ms=START_MS)


@pytest.mark.parametrize("knowledge", ["none", "no later one"])
def test_racks_that_no_sample_tells_for_sure_are_never_unexplained(knowledge: str) -> None:
    reasons: Counter[ReasonKind] = Counter()
    for seed in (0, 2):
        life = lived(seed, RackStrategy.MIN_TRAFFIC, ByRack)
        told = NOTHING_KNOWN
        if knowledge != "none":
            told = replace(told, topics=without_later(life.story.knowledge.topics))
        for generation in judged(life, ByRack, told):
            assert generation.verdict.grade in (Grade.EXPLAINABLE, Grade.NOT_JUDGED), generation.verdict
            assert generation.verdict.reason is not None
            reasons[generation.verdict.reason.kind] += 1
    assert reasons[ReasonKind.UNKNOWN_RACKS] > 0.7 * reasons.total()


def test_a_partition_of_which_nothing_is_known_has_no_racks_at_all() -> None:
    seen: list[frozenset[str] | None] = []

    def look(state: ApplicationState) -> TaskAssignment:
        seen.extend(part.rack_ids() for info in state.all_tasks.values() for part in info.topic_partitions)
        return placed(state, lambda _: [])

    story = group((Thread(id="a1", active="0_0 0_1"),), known=KNOWN)
    partial(fold.fold_group, registry(InThisProcess(look)))(story.settings, GROUP, None, story.rows, Tick(story.now_ms))
    assert set(seen) == {None}


def test_a_rack_strategy_that_it_looks_at_must_be_known() -> None:
    """Under each strategy that is possible it is asked once."""
    strategies: list[RackStrategy] = []

    def look(state: ApplicationState) -> TaskAssignment:
        strategies.append(state.assignment_configs.rack_aware_assignment_strategy)
        return placed(state, lambda _: [])

    shared = (Thread(id="a1", active="0_0"), Thread(id="b1", active="0_1"))
    for threads, grade in ((shared, Grade.EXPLAINABLE), (tuple(reversed_tasks(shared)), Grade.NOT_JUDGED)):
        story = group(threads, known=KNOWN)
        outcome = partial(fold.fold_group, registry(InThisProcess(look)))(
            story.settings, GROUP, None, story.rows, Tick(story.now_ms + 100)
        )
        (generation,) = generations(outcome.results)
        assert generation.verdict.grade is grade
        assert "rack.aware.assignment.strategy" in generation.verdict.why
    assert set(strategies) == set(RackStrategy)


def reversed_tasks(threads: tuple[Thread, ...]) -> Iterator[Thread]:
    for thread, other in zip(threads, reversed(threads), strict=True):
        yield replace(thread, active=other.active)


# -- end offsets -------------------------------------------------------------------------------------------------------


def graded(told: SampledLife, *, sampled: bool) -> Counter[Grade]:
    return Counter(one.verdict.grade for one in generations(told.fold(sampled=sampled, run=run_by(ByLag))))


def test_end_offsets_that_did_not_change_decide() -> None:
    without: Counter[Grade] = Counter()
    exact: Counter[Grade] = Counter()
    for seed in range(3):
        told = SampledLife(seed, grow=0, assignor=ByLag).lived()
        without += graded(told, sampled=False)
        exact += graded(told, sampled=True)
    assert without[Grade.UNEXPLAINED] == exact[Grade.UNEXPLAINED] == exact[Grade.NOT_JUDGED] == 0
    assert without[Grade.MATCH] < 0.5 * without.total()
    assert exact[Grade.MATCH] > 0.8 * exact.total()


@pytest.mark.parametrize("grow", [3, 400])
def test_end_offsets_that_grew_leave_it_explainable(grow: int) -> None:
    """The plug-in may decide by any lag between both samples."""
    grades: Counter[Grade] = Counter()
    for seed in range(2):
        grades += graded(SampledLife(seed, grow=grow, assignor=ByLag).lived(), sampled=True)
    assert grades[Grade.UNEXPLAINED] == 0
    assert grades[Grade.MATCH] < 0.5 * grades.total()


FEW = (Part(0, "in", 2), Part(1, "re", 2, stateful=True))
"""Two tasks with state: few end offsets between two samples that are near each other."""


class ByParity(TaskAssignor):
    """All tasks go to one process or to another, by whether the lags add up to an odd number."""

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        clients = application_state.kafka_streams_states(True)
        stateful = [task for task, info in application_state.all_tasks.items() if info.has_changelog]
        total = sum(max(client.lag_for(task), 0) for client in clients.values() for task in stateful)
        chosen = sorted(clients, key=process_key)[total % 2 if len(clients) > 1 else 0]
        return placed(application_state, lambda _: [chosen])


@pytest.mark.parametrize("made", [ByLag, ByParity])
def test_every_end_offset_between_near_samples_is_tried(made: type[TaskAssignor]) -> None:
    """Only what all of them give is a match; the two ends alone prove nothing of what lies between."""
    found: Counter[Grade] = Counter()
    for seed in range(3):
        told = SampledLife(seed, grow=1, assignor=made, parts=FEW).lived()
        found += Counter(one.verdict.grade for one in generations(told.fold(sampled=True, run=run_by(made))))
    assert found[Grade.UNEXPLAINED] == 0
    if made is ByLag:
        assert found[Grade.MATCH] > 0.6 * found.total()
    else:
        assert found[Grade.EXPLAINABLE] > 0.2 * found.total()


def test_end_offsets_of_another_changelog_are_no_alarm() -> None:
    """A restored cluster may have other offsets under the same names."""
    told = SampledLife(1, grow=0, assignor=ByLag).lived()
    told.known = [
        replace(
            topics,
            ends={name: tuple(_further(one) for one in samples) for name, samples in topics.ends.items()},
        )
        for topics in told.known
    ]
    assert graded(told, sampled=True)[Grade.UNEXPLAINED] == 0


def _further(sample: EndSample) -> EndSample:
    return replace(sample, ends=tuple(end + 5_000 * (at + 1) for at, end in enumerate(sample.ends)))


# -- waiting -----------------------------------------------------------------------------------------------------------


class Live:
    """A monitor that reads the first two records as they come, and asks brokers for topics in three racks."""

    def __init__(self, made: type[TaskAssignor]) -> None:
        life = lived(0, RackStrategy.MIN_TRAFFIC, made)
        self.story, self.racks, self.run = life.story, life.truth.racks, run_by(made)
        self.topics = NO_SAMPLES
        first, self.second = self.story.rows[:2]
        for asked_ms in (first.timestamp_ms - 10_000, first.timestamp_ms + SKEW_MS):
            self.sample(asked_ms)
        self.read_ms = self.second.timestamp_ms + 2 * SKEW_MS
        self.outcome = self.fold(None, [first], self.read_ms)

    def sample(self, at_ms: int) -> None:
        self.topics = self.topics.with_sample(sample_of(at_ms, self.racks))

    def fold(self, state: Saved | None, rows: list[Row], now_ms: int) -> FoldOutcome:
        knowledge = Knowledge(topics=self.topics, asked=True)
        return self.run(self.story.settings, GROUP, state, rows, Tick(now_ms), knowledge=knowledge)

    def reads(self, rows: list[Row], now_ms: int) -> Verdict:
        self.outcome = self.fold(self.outcome.state, rows, now_ms)
        return generations(self.outcome.results)[-1].verdict


def test_a_record_waits_for_the_racks_after_it_once_the_plug_in_has_looked_at_racks() -> None:
    live = Live(ByRack)
    assert live.reads([live.second], live.read_ms).pending_until_ms is not None
    assert live.outcome.sample_from_ms is not None
    live.sample(live.outcome.sample_from_ms)
    verdict = live.reads([], live.read_ms + 1_000)
    assert verdict.grade is Grade.MATCH, verdict
    assert live.outcome.sample_from_ms is None


def test_where_no_sample_comes_it_is_judged_without() -> None:
    live = Live(ByRack)
    live.reads([live.second], live.read_ms)
    verdict = live.reads([], live.read_ms + live.story.settings.judge_wait_ms)
    assert verdict.grade is Grade.EXPLAINABLE
    assert verdict.reason is not None
    assert verdict.reason.kind is ReasonKind.UNKNOWN_RACKS


def test_a_plug_in_that_looks_at_no_sample_waits_for_none() -> None:
    class Plain(TaskAssignor):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            return placed(application_state, lambda _: [])

    live = Live(Plain)
    assert live.reads([live.second], live.read_ms).grade is Grade.MATCH
