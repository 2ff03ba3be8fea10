"""The batch function with samples of the topics: committed with the batch, known after a restart, groups are woken."""

from collections.abc import Sequence

from rebalance_monitor.streaming.core.cluster.topics import TopicSample
from rebalance_monitor.streaming.core.model.results import Generation, Grade
from rebalance_monitor.streaming.core.ports import Commit, Range
from rebalance_monitor.streaming.spark.channel import Control
from rebalance_monitor.streaming.spark.learning import SAMPLED_AFTER_MS, Askers
from tests.streaming.core.rules.builders import OFFSETS, Story
from tests.streaming.core.rules.consumers import group, record, shares
from tests.streaming.spark.memory_store import MemoryStore
from tests.streaming.spark.test_batch import batch, batch_function

BALANCED = shares(m1="a-0 a-1", m2="a-2")
GROWN = shares(m1="a-0 a-1", m2="a-2 a-3")


class Brokers:
    """Samples that a test lets come, and which were wanted."""

    def __init__(self) -> None:
        self.samples: list[TopicSample] = []
        self.wanted_ms: list[int] = []

    def since(self, answered_ms: int | None) -> Sequence[TopicSample]:
        return [one for one in self.samples if answered_ms is None or one.answered_ms > answered_ms]

    def want(self, from_ms: int) -> None:
        self.wanted_ms.append(from_ms)

    def say(self, at_ms: int, **counts: int) -> None:
        self.samples.append(TopicSample(at_ms, at_ms, {topic: ((1,),) * count for topic, count in counts.items()}))


class Job:
    """A job that reads a story, with a store that survives it."""

    def __init__(self, story: Story, store: MemoryStore, brokers: Brokers) -> None:
        self.story, self.store, self.brokers = story, store, brokers
        self.controls: list[Control] = []
        self.function = batch_function(
            store, story.settings, publish=self.controls.append, askers=Askers(topics=brokers)
        )

    def batch(self, now_ms: int) -> Commit:
        """What came since the last one, and a tick."""
        start = max(self.store.positions().values(), default=0)
        rows = [row for row in self.story.rows if row.offset >= start]
        ranges = {(OFFSETS, row.partition): Range(start, self.story.rows[-1].offset + 1) for row in rows}
        self.function(batch(rows, ranges, now_ms), len(self.store.commits))
        return self.store.last_batch()


def last(commit: Commit) -> Generation | None:
    return next((one for one in reversed(commit.results) if isinstance(one, Generation)), None)


def waiting() -> tuple[Job, int]:
    """A job in whose last batch a record began to wait, and the time of that batch."""
    story = group("range", BALANCED)
    brokers = Brokers()
    brokers.say(story.now_ms - 1_000, a=3)
    job = Job(story, MemoryStore(), brokers)
    job.batch(story.now_ms + 100)
    record(story, "range", *GROWN)
    now_ms = story.now_ms + 100
    pending = last(job.batch(now_ms))
    assert pending is not None
    assert pending.verdict.pending_until_ms is not None
    return job, now_ms


def test_a_sample_is_committed_before_anything_that_uses_it() -> None:
    job, _ = waiting()
    first, *others = job.store.commits
    assert first.topics is not None
    assert set(first.topics.rows) == {"", "a"}
    assert (first.ranges, first.states, first.results) == ({}, {}, ())
    assert all(one.topics is None for one in others)


def test_the_wanted_sample_is_asked_for_and_a_batch_follows_it() -> None:
    job, now_ms = waiting()
    (wanted_ms,) = job.brokers.wanted_ms
    assert wanted_ms > now_ms
    assert job.controls[-1].due_ms == wanted_ms + SAMPLED_AFTER_MS


def test_the_group_is_woken_by_the_sample_alone() -> None:
    job, _ = waiting()
    (wanted_ms,) = job.brokers.wanted_ms
    assert last(job.batch(wanted_ms - 500)) is None
    job.brokers.say(wanted_ms, a=4)
    told = last(job.batch(wanted_ms + SAMPLED_AFTER_MS))
    assert told is not None
    assert (told.verdict.grade, told.verdict.pending_until_ms) == (Grade.EXPLAINABLE, None)
    assert job.store.last_batch().topics is not None
    assert last(job.batch(wanted_ms + 2 * SAMPLED_AFTER_MS)) is None


def test_a_sample_that_does_not_come_makes_no_loop() -> None:
    job, _ = waiting()
    (wanted_ms,) = job.brokers.wanted_ms
    now_ms = wanted_ms + SAMPLED_AFTER_MS
    job.batch(now_ms)
    due_ms = job.controls[-1].due_ms
    assert due_ms is not None
    assert due_ms >= now_ms + 1_000


def test_a_restart_loses_nothing() -> None:
    """The next job knows the samples, and wakes the group by the one that it waits for."""
    job, now_ms = waiting()
    brokers = Brokers()
    again = Job(job.story, job.store, brokers)
    assert last(again.batch(now_ms + 100)) is None
    (wanted_ms,) = brokers.wanted_ms
    assert job.brokers.wanted_ms == [wanted_ms]
    brokers.say(wanted_ms, a=4)
    told = last(again.batch(wanted_ms + SAMPLED_AFTER_MS))
    assert told is not None
    assert (told.verdict.grade, told.verdict.pending_until_ms) == (Grade.EXPLAINABLE, None)


def test_what_the_job_before_knew_is_not_asked_again() -> None:
    story = group("range", BALANCED)
    brokers = Brokers()
    brokers.say(story.now_ms - 1_000, a=3)
    store = MemoryStore()
    Job(story, store, brokers).batch(story.now_ms + 100)
    record(story, "range", *BALANCED)
    told = last(Job(story, store, Brokers()).batch(story.now_ms + 100))
    assert told is not None
    assert told.verdict.grade is Grade.MATCH


def test_nobody_is_asked_where_polling_is_off() -> None:
    story = group("range", BALANCED)
    store = MemoryStore()
    function = batch_function(store, story.settings)
    function(batch(story.rows, {(OFFSETS, story.rows[0].partition): Range(0, 100)}, story.now_ms + 100), 0)
    commit = store.last_batch()
    told = last(commit)
    assert told is not None
    assert told.verdict.grade is Grade.EXPLAINABLE
    assert commit.topics is None
