"""What is expected is looked at when a job has first read to the end: of groups with no record in the batch, too."""

from dataclasses import replace

from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.model.settings import Expectations, Owner
from rebalance_monitor.streaming.core.ports import Range
from tests.streaming.core.rules.builders import GROUP, OFFSETS, Story
from tests.streaming.core.rules.cases_consumer_time import ROUNDROBIN, WHOLE
from tests.streaming.core.rules.cases_expected import FEWER
from tests.streaming.core.rules.consumers import group
from tests.streaming.spark.memory_store import MemoryStore
from tests.streaming.spark.test_batch import batch, batch_function

MEMBERS = len(WHOLE)
MINUTE_MS = 60_000


def story() -> Story:
    found = group(ROUNDROBIN, WHOLE)
    found.settings = replace(found.settings, connect={})
    return found


class Started:
    """A job that was started with these expectations, by the group's pattern, on the store of the one before."""

    def __init__(self, told: Story, store: MemoryStore, **expected: int) -> None:
        owners = tuple(Owner(groups=groups, team="t", expects=Expectations(members_at_least=least))
                       for groups, least in expected.items())  # fmt: skip
        self.story, self.store = told, store
        settings = replace(told.settings, owners=owners)
        self.function = batch_function(store, settings, started_ms=told.now_ms)

    def reads(self, *, to_the_end: bool = True) -> list[tuple[str, str]]:
        """A batch with what is new of the story, and what it said of members: group and transition, but for updates,
        such as that an incident of history goes on."""
        start = max(self.store.positions().values(), default=0)
        rows = [row for row in self.story.rows if row.offset >= start]
        ranges = {(OFFSETS, 0): Range(start, self.story.rows[-1].offset + 1)} if rows else {}
        before = len(self.store.commits)
        self.story.now_ms += 1_000
        self.function(batch(rows, ranges, self.story.now_ms if to_the_end else None), before)
        told = [one for commit in self.store.commits[before:] for one in commit.results]
        found = [one for one in told if isinstance(one, Incident) and one.code == FEWER]
        return [(one.group, one.transition) for one in found if one.transition != "updated"]


def test_a_group_that_is_not_there_is_missed_when_the_log_is_read_to_its_end_and_not_before() -> None:
    job = Started(story(), MemoryStore(), gone=1, other=1)
    assert job.reads(to_the_end=False) == []
    assert job.reads() == [], "the end is reached with this batch"
    assert job.reads() == [("gone", "opened"), ("other", "opened")]
    assert job.reads() == [], "once"
    job.story.now_ms += 5 * MINUTE_MS
    assert job.reads() == [("gone", "fired"), ("other", "fired")]


def test_what_a_job_expects_from_its_start_on_is_held_against_groups_without_a_record() -> None:
    told, store = story(), MemoryStore()
    job = Started(told, store)
    assert [job.reads() for _ in range(3)] == [[], [], []]
    more = Started(told, store, **{GROUP: MEMBERS + 1})
    assert more.reads() == [(GROUP, "opened")]
    assert more.reads() == []
    less = Started(told, store, **{GROUP: MEMBERS})
    assert less.reads() == [(GROUP, "resolved")]


def test_what_is_not_expected_any_more_ends() -> None:
    told, store = story(), MemoryStore()
    job = Started(told, store, **{GROUP: MEMBERS + 1}, gone=1)
    opened = [one for _ in range(3) for one in job.reads()]
    assert sorted(opened) == [(GROUP, "opened"), ("gone", "opened")]
    assert sorted(Started(told, store).reads()) == [(GROUP, "resolved"), ("gone", "resolved")]


def test_a_group_that_was_short_when_history_was_read_is_notified_later() -> None:
    told = story()
    job = Started(told, MemoryStore(), **{GROUP: MEMBERS + 1})
    for _ in range(3):
        job.reads()
    told.now_ms += 5 * MINUTE_MS
    assert job.reads() == [(GROUP, "fired")]
