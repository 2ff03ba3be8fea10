"""The batch function on a cluster whose groups are polled: a batch folds what is new, and commits it once."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core.fold.sampling import MISSING
from rebalance_monitor.streaming.core.model.records import POLLED, GroupGeneration
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Standing
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from rebalance_monitor.streaming.core.ports import Commit, GroupKey
from rebalance_monitor.streaming.core.reading.snapshots import Snapshot, SnapshotPoll
from rebalance_monitor.streaming.spark.batch import kind_names
from rebalance_monitor.streaming.spark.channel import Control
from rebalance_monitor.streaming.spark.learning import HOME, Askers
from tests.streaming.core.polled import snapshot_of
from tests.streaming.core.rules.consumers import Consumer, group, shares
from tests.streaming.spark.memory_store import MemoryStore
from tests.streaming.spark.test_batch import batch, batch_function

SETTINGS = ClusterSettings(name="cluster")
NOW_MS = 1_800_000_000_000
BALANCED = shares(m1="a-0 a-1", m2="a-2 a-3")
OTHER = shares(m1="a-0", m2="a-1 a-2 a-3")


def described(members: Sequence[Consumer], name: str = "g") -> Snapshot:
    (body,) = (row.body for row in group("range", members).rows)
    assert isinstance(body, GroupGeneration)
    return replace(snapshot_of("g", body), group=name)


class PolledJob:
    """A job without any topic, with a store that survives it."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.polls: list[SnapshotPoll] = []
        self.controls: list[Control] = []
        self.expected = frozenset[str]()
        self.function = batch_function(store, SETTINGS, publish=self.controls.append, askers=Askers(groups=self))

    def since(self, answered_ms: int | None) -> Sequence[SnapshotPoll]:
        return [one for one in self.polls if answered_ms is None or one.answered_ms > answered_ms]

    def expect(self, groups: Collection[str]) -> None:
        self.expected = frozenset(groups)

    def due_ms(self) -> int:
        return NOW_MS + 10_000

    def say(self, at_ms: int, *groups: Snapshot) -> None:
        self.polls.append(SnapshotPoll(at_ms - 100, at_ms, {one.group: one for one in groups}, complete=True))

    def batch(self, now_ms: int) -> Commit:
        self.function(batch([], {}, now_ms), len(self.store.commits))
        return self.store.last_batch()


def generations(commit: Commit) -> list[Generation]:
    return [one for one in commit.results if isinstance(one, Generation)]


def started(store: MemoryStore) -> PolledJob:
    """A job that has caught up."""
    job = PolledJob(store)
    job.batch(NOW_MS)
    return job


def test_what_is_polled_is_judged_and_committed_with_a_batch() -> None:
    job = started(MemoryStore())
    job.say(NOW_MS + 1_000, described(BALANCED))
    commit = job.batch(NOW_MS + 2_000)
    (told,) = generations(commit)
    assert told.sampled is not None
    assert told.source.topic == POLLED
    assert told.verdict.grade is Grade.EXPLAINABLE
    assert MISSING in told.verdict.why
    assert [(key.group, one.home) for key, one in commit.states.items()] == [("g", HOME)]
    assert commit.ranges == {}
    assert not told.historic


def test_nothing_polled_is_history() -> None:
    job = PolledJob(MemoryStore())
    job.say(NOW_MS - 1_000, described(BALANCED))
    assert generations(job.batch(NOW_MS)) == []
    assert len(generations(job.batch(NOW_MS + 1_000))) == 1


def test_each_change_between_two_batches_is_folded() -> None:
    job = started(MemoryStore())
    job.say(NOW_MS + 1_000, described(BALANCED), described(BALANCED, "h"))
    job.say(NOW_MS + 2_000, described(OTHER), described(BALANCED, "h"))
    told = generations(job.batch(NOW_MS + 3_000))
    assert [(one.group, one.generation) for one in told] == [("g", 1), ("g", 2), ("h", 1)]
    assert len({one.source for one in told}) == 3
    assert generations(job.batch(NOW_MS + 4_000)) == []


def test_a_job_that_begins_anew_folds_nothing_twice() -> None:
    store = MemoryStore()
    job = started(store)
    job.say(NOW_MS + 1_000, described(BALANCED))
    job.batch(NOW_MS + 2_000)
    again = started(store)
    again.say(NOW_MS + 5_000, described(BALANCED))
    assert generations(again.batch(NOW_MS + 6_000)) == []
    again.say(NOW_MS + 7_000, described(OTHER))
    assert [one.generation for one in generations(again.batch(NOW_MS + 8_000))] == [2]


def test_a_job_after_a_clock_that_was_set_back_writes_no_place_twice() -> None:
    """A generation's place is its key in the database, whatever its group."""
    store = MemoryStore()
    job = started(store)
    job.say(NOW_MS + 1_000, described(BALANCED), described(BALANCED, "h"))
    before = generations(job.batch(NOW_MS + 2_000))
    again = PolledJob(store)
    again.batch(NOW_MS - 9_000)
    again.say(NOW_MS - 8_000, described(OTHER), described(OTHER, "h"))
    after = generations(again.batch(NOW_MS - 7_000))
    assert len({one.source for one in (*before, *after)}) == 4


def test_a_group_that_went_while_no_job_ran_is_dead() -> None:
    store = MemoryStore()
    job = started(store)
    job.say(NOW_MS + 1_000, described(BALANCED))
    job.batch(NOW_MS + 2_000)
    again = started(store)
    assert again.expected == {"g"}
    found: list[Standing] = []
    for number in range(8):
        again.say(NOW_MS + 5_000 + number * 1_000)
        commit = again.batch(NOW_MS + 5_500 + number * 1_000)
        found += [one for one in commit.results if isinstance(one, Standing)]
    assert [(one.group, one.state) for one in found] == [("g", "Dead")]
    assert GroupKey("cluster", "g") in store.states


def test_a_group_that_goes_on_under_the_new_protocol_has_its_true_state() -> None:
    """Classic questions describe it as Dead. What is known of the classic group ends; nothing is said twice."""
    job = started(MemoryStore())
    job.say(NOW_MS + 1_000, described(BALANCED))
    job.batch(NOW_MS + 2_000)
    found: list[Standing] = []
    for number, state in enumerate(("Stable", "Stable", "Reconciling", "Reconciling", "Stable")):
        at_ms = NOW_MS + 5_000 + number * 1_000
        job.polls.append(SnapshotPoll(at_ms - 100, at_ms, {}, complete=True, others={"g": state}))
        found += [one for one in job.batch(at_ms + 500).results if isinstance(one, Standing)]
    assert [one.state for one in found] == ["Stable", "Reconciling", "Stable"]
    job.say(NOW_MS + 20_000, described(OTHER))
    commit = job.batch(NOW_MS + 21_000)
    assert [one.state for one in commit.results if isinstance(one, Standing)] == ["Stable"]
    assert len(generations(commit)) == 1


def test_a_batch_is_due_when_the_next_answer_may_be_there() -> None:
    job = started(MemoryStore())
    assert job.controls[-1].due_ms is not None
    assert NOW_MS + 10_000 <= job.controls[-1].due_ms <= NOW_MS + 11_000


def test_connect_groups_are_known_by_what_is_polled_and_their_topics_are_read() -> None:
    job = started(MemoryStore())
    job.say(NOW_MS + 1_000, replace(described(BALANCED), protocol_type="connect", protocol="sessioned"))
    job.batch(NOW_MS + 2_000)
    assert job.controls[-1].topics == {"g-configs": "config", "g-status": "status"}
    both = ConnectSettings(config_topic="c", status_topic="s")
    assert kind_names(ClusterSettings(name="one", connect={"g": both}), "g") == {"c": "config", "s": "status"}
