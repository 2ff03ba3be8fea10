"""Samples of changelogs' end offsets: what they decide is a match, and no sample ever makes an alarm."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from rebalance_monitor.assignors.streams.built_in import BuiltIn
from rebalance_monitor.assignors.streams.leader import MakeAssignor
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.cluster.end_offsets import EndBounds
from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, TopicHistory, TopicSample
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.state import Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Result
from rebalance_monitor.streaming.core.streams.caught_up import within
from rebalance_monitor.streaming.core.streams.sampled_ends import changelogs_of
from tests.streaming.core.rules.builders import GROUP, generations
from tests.streaming.core.streams.simulated import Life, Part, Truth
from tests.streaming.core.streams.test_simulated_lives import loud
from tests.streaming.folded_group import FoldedGroup

PARTS = (Part(0, "in", 4), Part(1, "re", 5, stateful=True), Part(2, "zz", 3, stateful=True))
APART_MS = SKEW_MS + 1_000


def text_of(parts: Sequence[Part]) -> str:
    """What Topology.describe() says of them."""
    return "Topologies:\n" + "".join(
        f"   Sub-topology: {part.number}\n"
        f"    Source: S{part.number} (topics: [{part.topic}])\n      --> P{part.number}\n"
        f"    Processor: P{part.number} (stores: [{f'store{part.number}' if part.stateful else ''}])\n      --> none\n"
        f"      <-- S{part.number}\n"
        for part in parts
    )


TEXT = text_of(PARTS)


class SampledLife:
    """An application whose changelogs somebody samples before and after each of its records."""

    def __init__(
        self,
        seed: int,
        *,
        grow: int,
        assignor: BuiltIn | MakeAssignor = BuiltIn.HIGH_AVAILABILITY,
        parts: tuple[Part, ...] = PARTS,
    ) -> None:
        self.dice, self.grow, self.topic_id, self.parts = random.Random(seed), grow, b"i" * 16, parts
        truth = Truth(parts=parts, assignor=assignor, standbys=seed % 3, warm_ups=1 + seed % 2)
        self.life = Life(self.dice, truth, known=replace(truth.known(), topology=text_of(parts)))
        self.topics = NO_SAMPLES
        self.known: list[TopicHistory] = []

    def sample(self) -> None:
        now_ms, ends = self.life.story.now_ms, self.life.ends
        told = {
            part.changelog: tuple(ends[task] for task in self.life.tasks(stateful=True) if task[0] == part.number)
            for part in self.parts
            if part.stateful
        }
        topics = {name: ((1,),) * len(each) for name, each in told.items()}
        ids = dict.fromkeys(told, self.topic_id)
        self.topics = self.topics.with_sample(TopicSample(now_ms - 10, now_ms, topics, {}, ids, told))

    def grows(self) -> None:
        if self.grow:
            self.life.advance(grow=self.grow, catch_up=self.dice.random())

    def round(self) -> None:
        """One record: changelogs grow between the sample before and the leader's question, and until the one after."""
        self.sample()
        self.grows()
        self.life.round(after_ms=APART_MS)
        self.grows()
        self.life.story.now_ms += APART_MS
        self.sample()
        self.known.append(self.topics)

    def lived(self) -> "SampledLife":
        self.life.join("a", threads=2)
        self.round()
        for number in range(8):
            self.life.advance(grow=150, catch_up=self.dice.random())
            names = list(self.life.processes)
            match self.dice.randrange(5) if number else 0:
                case 0:
                    self.life.join(f"p{number}", threads=self.dice.randint(1, 2))
                case 1 if len(names) > 1:
                    self.life.leave(self.dice.choice(names))
                case 2:
                    self.life.restart(self.dice.choice(names))
                case _:
                    pass
            self.round()
            self.round()
        return self

    def fold(self, *, sampled: bool = True, run: Callable[..., FoldOutcome] = fold_group) -> list[Result]:
        state: Saved | None = None
        results: list[Result] = []
        for row, topics in zip(self.life.story.rows, self.known, strict=True):
            knowledge = Knowledge(topics=topics if sampled else NO_SAMPLES)
            outcome = run(self.life.story.settings, GROUP, state, [row], None, knowledge=knowledge)
            state = outcome.state
            results += outcome.results
        return results

    def grades(self, *, sampled: bool = True) -> Counter[Grade]:
        results = self.fold(sampled=sampled)
        assert not loud(results)
        return Counter(one.verdict.grade for one in generations(results))


def test_exact_end_offsets_make_a_match_of_what_could_only_be_explained() -> None:
    """Of the first record no member tells which sub-topologies have state: the sampled changelogs do."""
    without: Counter[Grade] = Counter()
    for seed in range(5):
        told = SampledLife(seed, grow=0).lived()
        without += told.grades(sampled=False)
        assert {one.verdict.grade for one in generations(told.fold())} == {Grade.MATCH}
    assert without[Grade.MATCH] < 0.5 * without.total()


@pytest.mark.parametrize("grow", [3, 40, 400])
def test_true_bounds_are_never_an_alarm_and_lose_no_match(grow: int) -> None:
    without: Counter[Grade] = Counter()
    bounded: Counter[Grade] = Counter()
    for seed in range(3):
        told = SampledLife(seed, grow=grow).lived()
        without += told.grades(sampled=False)
        bounded += told.grades()
    assert bounded[Grade.UNEXPLAINED] == bounded[Grade.NOT_JUDGED] == 0
    assert bounded[Grade.MATCH] >= without[Grade.MATCH] + (grow == 3)
    print(grow, without, bounded)


def test_samples_tell_in_which_order_threads_keep_their_tasks_under_a_sticky_assignor() -> None:
    """The assignor itself looks at no end offset."""
    without: Counter[Grade] = Counter()
    sampled: Counter[Grade] = Counter()
    for seed in range(4):
        told = SampledLife(seed, grow=0, assignor=BuiltIn.LEGACY_STICKY).lived()
        without += told.grades(sampled=False)
        sampled += told.grades()
    assert without[Grade.NOT_JUDGED] == sampled[Grade.NOT_JUDGED] == 0
    assert sampled[Grade.MATCH] > without[Grade.MATCH]


def test_samples_of_other_topics_accuse_no_answer() -> None:
    """Whoever makes a changelog anew under the same name and id, or restores a cluster, makes samples wrong. All that
    they show is that members report more than is there."""
    for seed in range(3):
        told = SampledLife(seed, grow=40).lived()
        by = (-90, 1_000, 100_000)[seed]
        told.known = [_shifted(topics, by) for topics in told.known]
        results = told.fold()
        assert {one.code for one in loud(results)} == ({"STREAMS-S22"} if by < 0 else set())
        assert Grade.UNEXPLAINED not in {one.verdict.grade for one in generations(results)}


def _shifted(topics: TopicHistory, by: int) -> TopicHistory:
    return replace(
        topics,
        ends={
            name: tuple(replace(one, ends=tuple(max(end + by, 0) for end in one.ends)) for one in samples)
            for name, samples in topics.ends.items()
        },
    )


def test_a_changelog_that_was_made_anew_decides_nothing() -> None:
    told = SampledLife(1, grow=0).lived()
    before = told.grades(sampled=False)
    anew = []
    for number, topics in enumerate(told.known):
        samples = {
            name: (*each[:-1], replace(each[-1], topic_id=bytes([number]) * 16)) for name, each in topics.ends.items()
        }
        anew.append(replace(topics, ends=samples))
    told.known = anew
    assert told.grades() == before


def test_within_lists_the_sets_that_the_bounds_allow() -> None:
    a, b, c, d = (Life(random.Random(number), Truth(parts=PARTS)).uuid() for number in range(4))
    sums = {a: -2, b: 900, c: 400}
    sets = [
        [one.caught_up for one in within(sums, (a, b, c, d), 100, EndBounds(*bounds)) or ()]
        for bounds in ((900, 1_000), (900, 1_001), (1_001, 9_000), (0, 1_000), (0, 899))
    ]
    assert sets == [[{a, b}], [{a, b}, {a}], [{a}], [{a, b}], []]
    assert [one.caught_up for one in within({}, (a, b), 100, EndBounds(50, 100)) or ()] == [{a, b}]


def test_changelogs_are_named_by_application_topology_and_store() -> None:
    assert changelogs_of(TEXT, "app") == {(1, ""): ("app-store1-changelog",), (2, ""): ("app-store2-changelog",)}
    assert changelogs_of(None, "app") == {}


class Live(FoldedGroup):
    """A monitor that reads each record `READ_AFTER_MS` after it was written, and asks brokers."""

    def __init__(self) -> None:
        self.told = SampledLife(0, grow=0)
        super().__init__(self.life.story.settings, GROUP)
        self.life.join("a", threads=2)
        self.life.join("b", threads=2)
        for _ in range(3):
            self.told.round()
            self.life.advance(grow=150)
        self.reads(self.life.story.now_ms)
        self.told.sample()
        self.life.join("c", threads=2)
        self.life.round(after_ms=APART_MS)

    @property
    def life(self) -> Life:
        return self.told.life

    def reads(self, now_ms: int) -> Generation:
        done = 0 if self.outcome is None else 3
        rows = [] if self.outcome is not None and self.outcome.sample_from_ms else self.life.story.rows[done:]
        self.settings, self.knowledge = self.life.story.settings, Knowledge(topics=self.told.topics, asked=True)
        return generations(self.fold(rows, now_ms).results)[-1]


def test_a_record_waits_for_the_sample_after_it() -> None:
    live = Live()
    read_ms = live.life.story.now_ms + 100
    assert live.reads(read_ms).verdict.pending_until_ms is not None
    assert live.outcome is not None
    assert live.outcome.sample_from_ms == read_ms
    live.life.story.now_ms = read_ms + 20
    live.told.sample()
    assert live.reads(read_ms + 500).verdict.grade is Grade.MATCH
    assert live.outcome.sample_from_ms is None


def test_where_no_sample_comes_the_record_is_judged_without() -> None:
    live = Live()
    read_ms = live.life.story.now_ms + 100
    live.reads(read_ms)
    verdict = live.reads(read_ms + live.life.story.settings.judge_wait_ms).verdict
    assert verdict.grade is Grade.EXPLAINABLE
    assert verdict.reason is not None
    assert verdict.reason.kind is ReasonKind.UNKNOWN_END_OFFSETS


def test_without_a_topology_nothing_waits() -> None:
    live = Live()
    settings = live.life.story.settings
    live.life.story.settings = replace(settings, streams={GROUP: replace(settings.streams[GROUP], topology=None)})
    assert live.reads(live.life.story.now_ms + 100).verdict.pending_until_ms is None
