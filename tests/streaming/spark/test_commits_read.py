"""Commits of the log on their way: kept where they are read, handed on with the bundle, and taken from it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rebalance_monitor.streaming.core.ports import PartitionKey
from rebalance_monitor.streaming.core.reading.last_commits import LastCommits, last_commits
from rebalance_monitor.streaming.polling.logged_offsets import ReadOfLog
from rebalance_monitor.streaming.spark.bundle import FoldedBundle
from rebalance_monitor.streaming.spark.commits_read import logged_ends, read_of_log
from rebalance_monitor.streaming.spark.offsets import COORDINATORS_LOG, SourcePartition, Span
from rebalance_monitor.streaming.spark.reading import Progress, taken, taken_with_commits
from rebalance_monitor.streaming.spark.rows import Batch, Reached
from tests.streaming.core.test_commits import KEY, TIME, WRITTEN
from tests.streaming.spark.memory_store import MemoryStore
from tests.streaming.spark.test_batch import CLUSTER_ID, batch_function, capture

LOG = "__consumer_offsets"
HOME = PartitionKey(CLUSTER_ID, "id", LOG, 3)
COMMITS = LastCommits({"g": {("t", 3): (42, TIME)}})


@dataclass(frozen=True)
class Message:
    """As the client library gives it."""

    at: int
    key_: bytes | None
    value_: bytes | None = field(default_factory=lambda: bytes.fromhex(WRITTEN[3][0]))

    def topic(self) -> str:
        return LOG

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def timestamp(self) -> tuple[int, int]:
        return 1, TIME

    def leader_epoch(self) -> int:
        return 0


def progress(*, wanted: bool) -> Progress:
    span = Span(SourcePartition(LOG, "id", 3), 0, 4)
    return Progress(span, COORDINATORS_LOG, 0, commits={} if wanted else None)


def read(one: Progress, *messages: Message) -> Iterator[object]:
    take = taken if one.commits is None else taken_with_commits
    return (row for message in messages for row in take(one, message))


def test_commits_are_kept_if_they_are_wanted_and_never_a_row() -> None:
    deleted, group = Message(2, KEY, None), Message(1, b"\x00\x02\x00\x01g", None)
    for wanted, kept in ((False, None), (True, {KEY: None})):
        one = progress(wanted=wanted)
        assert len(list(read(one, Message(0, KEY), group, deleted, Message(4, KEY)))) == 1
        assert one.commits == kept, "the last one within the range"
        assert one.reached.records == 3
    assert last_commits({KEY: bytes.fromhex(WRITTEN[3][0])}, "g".__eq__) == COMMITS


def bundles(batch: Batch) -> list[FoldedBundle]:
    """What a batch function tells of this batch."""
    known, _ = capture("zombie")
    seen: list[FoldedBundle] = []
    function = batch_function(MemoryStore(), known, on_read=seen.extend)
    function(batch, 0)
    return seen


def test_what_a_bundle_read_reaches_whoever_follows_the_log() -> None:
    whole = Batch((), None, {HOME: Reached(0, 4, 4)}, None, {HOME: COMMITS})
    assert read_of_log(bundles(whole), LOG) == {3: ReadOfLog(4, True, COMMITS.groups)}


def test_a_range_that_may_lack_a_commit_is_not_whole() -> None:
    unreadable = COMMITS._replace(readable=False)
    for reached, commits in (
        (Reached(0, 4, 4, holes=1), {HOME: COMMITS}),
        (Reached(0, 4, 4), {HOME: unreadable}),
        (Reached(0, 4, 4), {}),
    ):
        (told,) = read_of_log(bundles(Batch((), None, {HOME: reached}, None, commits)), LOG).values()
        assert (told.end, told.whole) == (4, False)
    assert read_of_log(bundles(Batch((), None, {HOME: Reached(0, 4, 4)})), "another-log") == {}


def test_reading_goes_on_in_the_last_life_of_the_log() -> None:
    first, other = HOME._replace(topic_id="first"), PartitionKey(CLUSTER_ID, "x", "some-configs", 0)
    assert logged_ends({first: 7, other: 9, HOME: 5}, LOG) == {3: 5}
