"""The batch function with a Streams application that probes too long: its changelogs are asked for, and then it warns.

The incident begins as information, which is why the group is asked for; what brokers say makes it a warning.
"""

from dataclasses import replace

from rebalance_monitor.streaming.core.cluster.changelogs import ChangelogEnds
from rebalance_monitor.streaming.core.cluster.progress import ProgressSample
from rebalance_monitor.streaming.core.model.results import Incident, Severity
from rebalance_monitor.streaming.core.ports import Commit, Range
from rebalance_monitor.streaming.spark.learning import Askers
from tests.streaming.core.rules.builders import GROUP, OFFSETS, Story
from tests.streaming.core.rules.cases_streams_across import CHANGELOG, ONE_WARM_UP, probing
from tests.streaming.core.rules.streams import group, record
from tests.streaming.spark.memory_store import MemoryStore
from tests.streaming.spark.test_batch import batch, batch_function
from tests.streaming.spark.test_batch_progress import Brokers
from tests.streaming.spark.test_batch_samples import Brokers as TopicBrokers

RULE = "STREAMS-S19"


class Job:
    """A job that reads the story as it is written."""

    def __init__(self, story: Story) -> None:
        self.story, self.store, self.offsets, self.topics = story, MemoryStore(), Brokers(), TopicBrokers()
        self.said: list[Incident] = []
        askers = Askers(topics=self.topics, progress=self.offsets)
        self.function = batch_function(self.store, story.settings, askers=askers)

    def batch(self) -> Commit:
        """What came since the last one, and a tick."""
        start = max(self.store.positions().values(), default=0)
        rows = [row for row in self.story.rows if row.offset >= start]
        ranges = {(OFFSETS, row.partition): Range(start, self.story.rows[-1].offset + 1) for row in rows}
        self.function(batch(rows, ranges, self.story.now_ms + 100), len(self.store.commits))
        commit = self.store.last_batch()
        self.said += [one for one in commit.results if isinstance(one, Incident) and one.code == RULE]
        return commit

    def told_of_changelogs(self, end: int) -> None:
        """One answer about the changelogs, if somebody asked."""
        at_ms = self.story.now_ms + 50
        ends = {f"{topic}-{number}": end for places in self.offsets.changelogs.values() for topic, number in places}
        told = {GROUP: ChangelogEnds(at_ms - 1, at_ms, ends)} if ends else {}
        self.offsets.samples.append(ProgressSample(at_ms, at_ms, {}, self.offsets.watched, told))


def test_an_application_that_probes_too_long_is_asked_for_and_then_warned_of() -> None:
    story = group(probing(5), known=ONE_WARM_UP)
    story.settings = replace(story.settings, connect={})  # or the group would be taken for one of Connect
    job = Job(story)
    topics = {"t1": 2, CHANGELOG: 2, "other-store-changelog": 3}
    job.topics.say(story.now_ms, **topics)
    for at in range(16):
        job.batch()
        job.told_of_changelogs(100_000 + 25 * at)
        record(story, *probing(15 + 10 * at))
    asked = job.offsets.changelogs
    assert asked == {GROUP: [(CHANGELOG, 0), (CHANGELOG, 1)]}
    severities = [one.severity for one in job.said]
    assert severities[0] is Severity.INFO, "nobody had asked yet"
    assert severities[-1] is Severity.HIGH
    assert len({one.incident_id for one in job.said}) == 1
