"""Consumer groups read as they go on, with samples of the topics that come before, after, late or never."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.topics import NO_SAMPLES, Replicas, TopicSample
from rebalance_monitor.streaming.core.consumer.awaited_sample import METADATA_AGE_MS
from rebalance_monitor.streaming.core.model.reasons import ReasonKind
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Verdict
from tests.streaming.core.rules.builders import GROUP, Story, generations, incidents
from tests.streaming.core.rules.consumers import Consumer, group, record, shares
from tests.streaming.folded_group import FoldedGroup

READ_AFTER_MS = 100
BALANCED = shares(m1="a-0 a-1", m2="a-2")
GROWN = shares(m1="a-0 a-1", m2="a-2 a-3")
WRONG = shares(m1="a-1 a-2", m2="a-0")


def partitions(**counts: int) -> dict[str, Replicas]:
    return {topic: ((1,),) * count for topic, count in counts.items()}


class Live(FoldedGroup):
    """A monitor that reads along. `polled`: somebody asks brokers for topics."""

    def __init__(self, story: Story, *, polled: bool = True) -> None:
        super().__init__(story.settings, GROUP, Knowledge(asked=polled))
        self.story, self.told = story, 0

    def sampled(self, asked_ms: int, **counts: int) -> None:
        topics = self.knowledge.topics.with_sample(TopicSample(asked_ms, asked_ms + 10, partitions(**counts)))
        self.knowledge = replace(self.knowledge, topics=topics)

    def reads(self, now_ms: int | None = None) -> Verdict:
        """What is new, at this time; the last verdict on the newest generation."""
        rows = self.story.rows[self.told :]
        self.told = len(self.story.rows)
        at_ms = self.story.now_ms + READ_AFTER_MS if now_ms is None else now_ms
        self.fold(rows, at_ms)
        return self.said[-1].verdict

    @property
    def waits_for_ms(self) -> int | None:
        assert self.outcome is not None
        return self.outcome.sample_from_ms

    @property
    def said(self) -> list[Generation]:
        return generations(self.results)

    @property
    def opened(self) -> list[Incident]:
        return [one for one in incidents(self.results) if one.transition == "opened"]


def sampled_later(live: Live, **counts: int) -> Verdict:
    """The verdict when a sample has come that no record need wait longer for."""
    live.sampled(live.story.now_ms + 120_000, **counts)
    return live.reads(live.story.now_ms + 120_500)


def pending(verdict: Verdict) -> bool:
    return verdict.pending_until_ms is not None


def kind(verdict: Verdict) -> ReasonKind | None:
    return None if verdict.reason is None else verdict.reason.kind


def test_what_a_sample_before_supports_is_said_at_once() -> None:
    live = Live(group("range", BALANCED))
    live.sampled(live.story.now_ms - 1_000, a=3)
    assert live.reads().grade is Grade.MATCH
    assert live.waits_for_ms is None


def test_partitions_that_were_added_are_no_alarm() -> None:
    live = Live(group("range", GROWN))
    live.sampled(live.story.now_ms - 1_000, a=3)
    assert pending(live.reads())
    from_ms = live.waits_for_ms
    assert from_ms == live.story.now_ms + READ_AFTER_MS + METADATA_AGE_MS
    live.sampled(from_ms, a=4)
    verdict = live.reads(from_ms + 500)
    assert (verdict.grade, kind(verdict)) == (Grade.EXPLAINABLE, ReasonKind.UNKNOWN_TOPICS)
    assert live.waits_for_ms is None


def test_a_sample_that_was_asked_too_early_is_not_enough() -> None:
    live = Live(group("range", GROWN))
    live.sampled(live.story.now_ms - 1_000, a=3)
    live.reads()
    assert live.waits_for_ms is not None
    live.sampled(live.waits_for_ms - 1, a=3)
    assert pending(live.reads(live.waits_for_ms))


def test_a_wrong_answer_is_unexplained_when_the_next_sample_shows_nothing_new() -> None:
    live = Live(group("range", BALANCED))
    live.sampled(live.story.now_ms - 1_000, a=3)
    live.reads()
    record(live.story, "range", *WRONG)
    assert pending(live.reads())
    assert live.waits_for_ms is not None
    live.sampled(live.waits_for_ms, a=3)
    assert live.reads(live.waits_for_ms + 500).grade is Grade.UNEXPLAINED


def test_where_no_sample_comes_nothing_is_unexplained() -> None:
    live = Live(group("range", BALANCED))
    live.sampled(live.story.now_ms - 1_000, a=3)
    live.reads()
    record(live.story, "range", *WRONG)
    live.reads()
    verdict = live.reads(live.story.now_ms + READ_AFTER_MS + live.story.settings.judge_wait_ms)
    assert (verdict.grade, kind(verdict)) == (Grade.NOT_JUDGED, ReasonKind.PARTITIONS_UNKNOWN)
    assert not pending(verdict)


def test_a_topic_that_no_sample_shows_yet_is_waited_for() -> None:
    live = Live(group("range", shares("a b", m1="a-0 a-1 b-0", m2="a-2")))
    live.sampled(live.story.now_ms - 1_000, a=3)
    assert pending(live.reads())
    assert live.waits_for_ms is not None
    live.sampled(live.waits_for_ms, a=3, b=1)
    assert live.reads(live.waits_for_ms + 500).grade is Grade.EXPLAINABLE


def test_a_topic_that_may_not_be_described_is_inferred() -> None:
    """A broker leaves such a topic out of its answer."""
    live = Live(group("range", shares("a b", m1="a-0 a-1 b-0", m2="a-2")))
    live.sampled(live.story.now_ms - 1_000, a=3)
    live.reads()
    assert live.waits_for_ms is not None
    live.sampled(live.waits_for_ms, a=3)
    verdict = live.reads(live.waits_for_ms + 500)
    assert (verdict.grade, kind(verdict)) == (Grade.EXPLAINABLE, ReasonKind.COUNTS_INFERRED)
    assert verdict.reason is not None
    assert verdict.reason.text == "partition counts inferred from the assignment itself: b"


@pytest.mark.parametrize("protocol", ["range", "roundrobin"])
def test_without_samples_counts_are_inferred(protocol: str) -> None:
    given = BALANCED if protocol == "range" else shares(m1="a-0 a-2", m2="a-1")
    verdict = Live(group(protocol, given), polled=False).reads()
    assert (verdict.grade, kind(verdict)) == (Grade.EXPLAINABLE, ReasonKind.COUNTS_INFERRED)


def test_without_samples_nothing_is_unexplained() -> None:
    verdict = Live(group("range", WRONG), polled=False).reads()
    assert (verdict.grade, kind(verdict)) == (Grade.NOT_JUDGED, ReasonKind.PARTITIONS_UNKNOWN)


def test_a_number_that_no_topic_can_have_is_not_judged() -> None:
    verdict = Live(group("range", shares(m1="a-0 a-2147483647")), polled=False).reads()
    assert verdict.grade is Grade.NOT_JUDGED


def test_history_before_the_first_sample_is_judged_by_it() -> None:
    live = Live(group("range", BALANCED))
    live.sampled(live.story.now_ms + 3_600_000, a=3)
    verdict = live.reads(live.story.now_ms + 3_600_100)
    assert (verdict.grade, kind(verdict)) == (Grade.EXPLAINABLE, ReasonKind.COUNTS_INFERRED)
    assert verdict.reason is not None
    assert verdict.reason.text == "partition counts as a later sample shows them: a"


def test_a_topic_that_was_made_anew_with_fewer_partitions_is_no_alarm() -> None:
    live = Live(group("range", shares(m1="a-0", m2="a-1")))
    live.sampled(live.story.now_ms - 1_000, a=3)
    live.reads()
    assert live.waits_for_ms is not None
    live.sampled(live.waits_for_ms, a=2)
    assert live.reads(live.waits_for_ms + 500).grade is Grade.EXPLAINABLE


def test_a_topic_that_was_deleted_is_no_alarm() -> None:
    live = Live(group("range", shares("a b", m1="b-0", m2="b-1")))
    live.sampled(live.story.now_ms - 1_000, a=3, b=2)
    verdict = live.reads()
    assert (verdict.grade, kind(verdict)) == (Grade.EXPLAINABLE, ReasonKind.UNKNOWN_TOPICS)


@pytest.mark.parametrize("behind_ms", [45_000, 60_000])
def test_a_clock_of_the_broker_that_is_behind_hides_no_sample(behind_ms: int) -> None:
    """By the monitor's clock the partition was added 15 s before the record; by the broker's, after it."""
    live = Live(group("range", GROWN))
    real_ms = live.story.now_ms + behind_ms
    live.sampled(live.story.now_ms - 10_000, a=3)
    live.sampled(real_ms - 45_000, a=3)
    live.sampled(real_ms - 15_000, a=4)
    verdict = sampled_later(live, a=4)
    assert (verdict.grade, kind(verdict)) == (Grade.EXPLAINABLE, ReasonKind.UNKNOWN_TOPICS)


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky"])
def test_a_leader_that_is_as_old_as_it_may_be_is_right(protocol: str) -> None:
    """Its metadata are of 4 min ago; since then each minute a partition was added to another topic."""
    live = Live(group(protocol, shares("a b c d", m1="a-0 b-0 c-0 d-0")))
    counts = dict.fromkeys("abcd", 1)
    live.sampled(live.story.now_ms - 240_000, **counts)
    for number, topic in enumerate("abcd", start=1):
        counts[topic] = 2
        live.sampled(live.story.now_ms - 240_000 + number * 50_000, **counts)
    verdict = sampled_later(live, **counts)
    assert (verdict.grade, kind(verdict)) == (Grade.EXPLAINABLE, ReasonKind.UNKNOWN_TOPICS)


def test_records_behind_one_that_waits_are_judged_with_it() -> None:
    live = Live(group("range", GROWN))
    live.sampled(live.story.now_ms - 1_000, a=3)
    live.reads()
    record(live.story, "range", Consumer(id="m1", given="a-0 a-1 a-2 a-3"), after_ms=500)
    live.reads()
    assert live.waits_for_ms is not None
    live.sampled(live.waits_for_ms + 1_000, a=4)
    live.reads(live.waits_for_ms + 2_000)
    final = {one.generation: one.verdict.grade for one in live.said if not pending(one.verdict)}
    assert list(final.values()) == [Grade.EXPLAINABLE, Grade.EXPLAINABLE]


@given(st.lists(st.integers(1, 4_000), min_size=1, max_size=8), st.sampled_from([3, 4, 5]))
def test_however_often_brokers_are_asked_the_verdict_is_the_same(pauses: list[int], count: int) -> None:
    """Samples that show nothing new, between the one before the record and the one that decides."""

    def told(extra: list[int]) -> Verdict:
        live = Live(group("range", GROWN))
        live.sampled(live.story.now_ms - 20_000, a=3)
        live.reads()
        until_ms = live.waits_for_ms
        assert until_ms is not None
        at_ms = live.story.now_ms - 19_000
        for pause_ms in extra:
            at_ms += pause_ms
            if at_ms < live.story.now_ms - 1_000:
                live.sampled(at_ms, a=3)
        live.sampled(until_ms, a=count)
        return live.reads(until_ms + 500)

    assert told(pauses) == told([])


def test_nothing_is_known_before_the_first_sample() -> None:
    assert NO_SAMPLES.shown(["a"], 10**15) == {}


def test_any_of_many_topics_may_be_new_to_the_leader() -> None:
    names = [f"t{number:02}" for number in range(40)]
    given = " ".join(f"{name}-0" for name in names if name != "t07")
    live = Live(group("range", shares(" ".join(names), m1=given)))
    live.sampled(live.story.now_ms - 1_000, **dict.fromkeys(names, 1))
    verdict = live.reads()
    assert (verdict.grade, kind(verdict)) == (Grade.EXPLAINABLE, ReasonKind.UNKNOWN_TOPICS)


@pytest.mark.parametrize("apart_ms", [-3_600_000, 3_600_000])
def test_a_coordinator_whose_clock_is_wrong_causes_no_alarm(apart_ms: int) -> None:
    """Partitions were added half an hour ago; by the coordinator's clock that is yet to come, or long ago."""
    live = Live(group("range", GROWN))
    now_ms = live.story.now_ms - apart_ms
    live.sampled(now_ms - 7_200_000, a=3)
    live.sampled(now_ms - 1_860_000, a=3)
    live.sampled(now_ms - 1_800_000, a=4)
    live.sampled(now_ms + 30_000, a=4)
    assert live.reads(now_ms).grade in (Grade.MATCH, Grade.EXPLAINABLE)


def test_a_hole_in_a_topic_that_no_sample_shows_is_found_all_the_same() -> None:
    live = Live(group("range", shares(m1="a-0 a-2")))
    live.sampled(live.story.now_ms + 30_000, other=1)
    live.reads()
    assert live.outcome is not None
    assert live.outcome.due_ms is not None
    live.reads(live.outcome.due_ms)
    assert "partition_without_owner" in {one.rule for one in live.opened}
