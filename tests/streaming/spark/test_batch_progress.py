"""The batch function with offsets of groups: which are asked for, and groups that are folded again by what comes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core.cluster.progress import PartitionOffsets, ProgressSample
from rebalance_monitor.streaming.core.model.results import Generation, GroupProgress, Incident
from rebalance_monitor.streaming.core.ports import Commit, Range
from rebalance_monitor.streaming.spark.learning import Askers
from tests.streaming.core.rules.builders import GROUP, OFFSETS, Story
from tests.streaming.core.rules.cases_consumer_time import ROUNDROBIN, WHOLE
from tests.streaming.core.rules.cases_progress import EVERY_MS, LONG_MS, STANDS
from tests.streaming.core.rules.cases_record import fresh_pair
from tests.streaming.core.rules.consumers import Consumer, group, record
from tests.streaming.spark.memory_store import MemoryStore
from tests.streaming.spark.test_batch import batch, batch_function


class Brokers:
    """Samples that a test lets come, and which groups were asked for."""

    def __init__(self) -> None:
        self.samples: list[ProgressSample] = []
        self.watched: frozenset[str] = frozenset()
        self.changelogs: dict[str, Collection[tuple[str, int]]] = {}

    def since(self, answered_ms: int | None) -> Sequence[ProgressSample]:
        return [one for one in self.samples if answered_ms is None or one.answered_ms > answered_ms]

    def watch(self, groups: Collection[str], changelogs: Mapping[str, Collection[tuple[str, int]]]) -> None:
        self.watched, self.changelogs = frozenset(groups), dict(changelogs)

    def say(self, at_ms: int, **offsets: tuple[int, int]) -> None:
        told = {f"a-{name[1:]}": PartitionOffsets(committed, end) for name, (committed, end) in offsets.items()}
        self.samples.append(ProgressSample(at_ms, at_ms, {GROUP: told} if GROUP in self.watched else {}, self.watched))


def consumers(*generations: Sequence[Consumer]) -> Story:
    """A story whose group no configuration takes for one of Connect."""
    story = group(ROUNDROBIN, *generations)
    story.settings = replace(story.settings, connect={})
    return story


class Job:
    """A job that reads a story, with a store that survives it."""

    def __init__(self, story: Story, store: MemoryStore, *patterns: str) -> None:
        self.story, self.store, self.brokers, self.now_ms = story, store, Brokers(), story.now_ms
        askers = Askers(progress=self.brokers, progress_groups=patterns)
        self.function = batch_function(store, story.settings, askers=askers)

    def batch(self) -> Commit:
        """What came since the last one, and a tick."""
        self.now_ms = max(self.now_ms, self.story.now_ms)
        start = max(self.store.positions().values(), default=0)
        rows = [row for row in self.story.rows if row.offset >= start]
        ranges = {(OFFSETS, row.partition): Range(start, self.story.rows[-1].offset + 1) for row in rows}
        self.function(batch(rows, ranges, self.now_ms), len(self.store.commits))
        return self.store.last_batch()

    def measured(self, for_ms: int, *, stands: bool) -> list[str]:
        """Samples each half minute, a batch after each; a-1 stands or not. Returns what was said of the rule."""
        said: list[str] = []
        for number in range(for_ms // EVERY_MS):
            self.now_ms += EVERY_MS
            moving = (self.now_ms // EVERY_MS, self.now_ms // EVERY_MS + 5)
            self.brokers.say(self.now_ms - 1, p0=moving, p1=(100, 200 + number) if stands else moving)
            said += [one.transition for one in self.batch().results if isinstance(one, Incident) and one.code == STANDS]
        return said


def test_groups_are_asked_for_by_pattern_and_judged_without_a_record() -> None:
    job = Job(consumers(WHOLE), MemoryStore(), "g*")
    job.batch()
    assert job.brokers.watched == {GROUP}
    assert job.measured(LONG_MS + EVERY_MS, stands=True) == ["opened", "fired"]
    assert job.measured(2 * EVERY_MS, stands=False) == ["resolved"]


def test_a_group_with_a_record_and_a_sample_in_one_batch_is_shown_by_both() -> None:
    job = Job(consumers(WHOLE), MemoryStore(), "*")
    job.batch()
    record(job.story, ROUNDROBIN, *WHOLE, after_ms=EVERY_MS)
    job.brokers.say(job.story.now_ms + 1, p0=(100, 200), p1=(7, 7))
    before = len(job.store.commits)
    job.batch()
    results = [one for commit in job.store.commits[before:] for one in commit.results]
    assert [one.generation for one in results if isinstance(one, Generation)] == [2]
    assert [(one.generation, one.lag) for one in results if isinstance(one, GroupProgress)] == [(2, 100)]
    assert [one for one in job.batch().results if isinstance(one, GroupProgress)] == [], "no sample, no work"


def test_a_group_without_pattern_or_incident_is_not_asked_for() -> None:
    job = Job(consumers(WHOLE), MemoryStore(), "other-*")
    job.batch()
    assert job.brokers.watched == frozenset()


def test_a_group_with_an_open_incident_is_asked_for_while_it_is_open() -> None:
    """CONSUMER-C13: two members have one partition."""
    wrong = tuple(replace(one, given="a-0 a-1 a-2") for one in WHOLE)
    story, store = consumers(wrong), MemoryStore()
    job = Job(story, store)
    job.batch()
    assert job.brokers.watched == {GROUP}
    again = Job(story, store)
    assert again.brokers.watched == {GROUP}, "the job that begins anew knows it from the store"
    record(story, ROUNDROBIN, *WHOLE)
    again.batch()
    assert again.brokers.watched == frozenset()


def test_a_deleted_group_is_not_asked_for_any_more() -> None:
    story, store = consumers(WHOLE), MemoryStore()
    job = Job(story, store, "*")
    job.batch()
    record(story, ROUNDROBIN)
    story.tombstone()
    job.batch()
    job.now_ms += 2 * story.settings.judge_wait_ms
    job.batch()  # no record follows under another protocol
    assert job.brokers.watched == frozenset()
    assert Job(story, store, "*").brokers.watched == frozenset()


def test_a_connect_group_commits_nothing_and_is_not_asked_for() -> None:
    job = Job(fresh_pair(), MemoryStore(), "*")
    job.batch()
    assert job.brokers.watched == frozenset()
