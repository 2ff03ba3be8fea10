"""A job that was down while compaction took records out of the midst of the log: it accuses nobody."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random

import pytest

from rebalance_monitor.streaming.cli.captures import settings_of
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import Generation, Grade, Incident, Severity
from rebalance_monitor.streaming.core.ports import PartitionKey
from rebalance_monitor.streaming.core.replay import RawRecord
from rebalance_monitor.streaming.spark import unread
from rebalance_monitor.streaming.spark.offsets import SourcePartition, Span
from rebalance_monitor.streaming.spark.reading import Progress, taken
from rebalance_monitor.streaming.spark.rows import Batch, RawRow, Reached, batch_of
from tests.profile import size
from tests.streaming.core.targets.test_missing_records import GROUPS, compacted, own, records
from tests.streaming.spark.test_batch import CLUSTER_ID, Run
from tests.vector_files import GROUP_CAPTURES

CUTS = size(3, 40)
NEAR_MS = 50


@dataclass(frozen=True, slots=True)
class Message:
    """A captured record as a consumer gives it."""

    record: RawRecord

    def topic(self) -> str:
        return self.record.topic

    def partition(self) -> int:
        return self.record.partition

    def offset(self) -> int:
        return self.record.offset

    def timestamp(self) -> tuple[int, int]:
        return 1, self.record.timestamp_ms

    def leader_epoch(self) -> int | None:
        return self.record.leader_epoch

    def key(self) -> bytes | None:
        return self.record.key

    def value(self) -> bytes | None:
        return self.record.value


class Log:
    """One partition of the coordinator's log, read range by range into a batch function."""

    def __init__(self, capture: str, topic: str, partition: int) -> None:
        self.place = topic, f"id-of-{topic}", partition
        self.key = PartitionKey(CLUSTER_ID, f"id-of-{topic}", topic, partition)
        self.settings, self.at, self.batches = settings_of(GROUP_CAPTURES / capture), 0, 0
        self.run = Run(self.settings)

    def restart(self) -> None:
        """The job ends and begins anew, with what it has stored."""
        self.run = Run(self.settings, self.run.store)

    def read(self, some: Sequence[RawRecord], end: int, now_ms: int | None) -> None:
        """A batch up to this offset, of which these records are left."""
        progress = Progress(Span(SourcePartition(*self.place), self.at, end), "offsets", self.at)
        rows = [row for one in some for row in taken(progress, Message(one))]
        progress.come_to(end)
        tick = None if now_ms is None else Tick(now_ms)
        self.run.function(batch_of(rows, {self.key: progress.reached}, tick), self.batches)
        self.at, self.batches = end, self.batches + 1

    def accused(self) -> tuple[set[str], set[int]]:
        """Incidents above info, and generations that are unexplained."""
        results = self.run.results
        loud = {one.code for one in results if isinstance(one, Incident) and one.severity is not Severity.INFO}
        grades = {one.source.offset: one for one in results if isinstance(one, Generation)}
        wrong = {one.generation for one in grades.values() if one.verdict.grade is Grade.UNEXPLAINED}
        return loud, wrong


def live(capture: str, group: str, down: tuple[int, int] | None = None) -> Log:
    """The partition of a group as a job reads it that was down between two places of the records."""
    every = records(capture, group)
    home = every[own(every)[0]]
    some = [one for one in every if one.partition == home.partition]
    first, last = down or (len(some) // 2, len(some) // 2)
    log = Log(capture, home.topic, home.partition)
    log.read(some[:first], some[first].offset, some[first - 1].timestamp_ms + NEAR_MS)
    if last > first:
        log.restart()
        log.read(compacted(some[first:last]), some[last].offset, some[last - 1].timestamp_ms + NEAR_MS)
    for at_ms, moment in groupby(some[last:], key=lambda one: one.timestamp_ms):
        now = list(moment)
        log.read(now, now[-1].offset + 1, at_ms + NEAR_MS)
    log.read([], log.at, some[-1].timestamp_ms + 1_000)
    return log


@pytest.mark.parametrize(("capture", "group"), GROUPS)
def test_a_job_that_was_down_while_the_log_was_compacted_accuses_nobody(capture: str, group: str) -> None:
    places = len([one for one in records(capture, group) if one.partition == home_of(capture, group)])
    dice = Random(group)
    for _ in range(CUTS):
        first = dice.randrange(places // 10, places - 21)
        last = min(first + dice.randint(5, 120), places - 1)
        assert live(capture, group, (first, last)).accused() == (set(), set()), (first, last)


def home_of(capture: str, group: str) -> int:
    every = records(capture, group)
    return every[own(every)[0]].partition


def rows(*offsets: int, group: str = "g") -> list[RawRow]:
    """Records of a group, one operation each."""
    return [
        RawRow("t", "id", 0, offset, "OtherGroup", 1_000 * offset, group, None, b"", b"", None, None)
        for offset in offsets
    ]


def batch(read: Reached, *own: RawRow) -> Batch:
    return Batch(own, None, {PartitionKey(CLUSTER_ID, "id", "t", 0): read})


def test_a_group_without_a_record_in_the_batch_is_told_of_the_hole_later() -> None:
    first = batch(Reached(0, 50, 50, 40, holes=1, hole=30), *rows(10, 35))
    found = unread.believed(first, ())
    assert found == {"t-0-id": 30}
    told = unread.with_holes_before(
        replace(first, rows=(rows(10)[0], rows(35)[0]._replace(hole=30))), CLUSTER_ID, {}, found
    )
    assert [row.hole for row in told] == [None, 30]
    later = batch(Reached(50, 60, 60, 10), *rows(55, group="other"))
    assert [row.hole for row in unread.with_holes_before(later, CLUSTER_ID, found, {})] == [30]


def test_many_holes_of_a_partition_that_has_markers_are_markers() -> None:
    """Unless an operation is torn."""
    read = Reached(0, 100, 100, 50, holes=40, hole=99)
    apart = batch(read, *rows(10, 12, 14))
    assert unread.believed(apart, {"t-0-id"}) == {}
    assert unread.believed(apart, ()) == {"t-0-id": 99}
    row = rows(10)[0]
    torn = batch(read, row, row._replace(offset=12))
    assert unread.believed(torn, {"t-0-id"}) == {"t-0-id": 99}
    long = batch(read._replace(records=5_000, holes=2_000), *rows(10, 12))
    assert unread.believed(long, ()) == {}


def test_the_epoch_of_a_target_right_behind_a_hole_is_told_of_it_unless_it_was_just_written() -> None:
    """Compaction may have taken the members' targets, which stand before it."""
    epoch, later = (one._replace(hole=30) for one in rows(30, 31))
    read = batch(Reached(0, 100, 100, 50, holes=40, hole=99), epoch._replace(key=b"\x00\x06\x00\x01g"), later)
    assert [row.hole for row in unread.with_holes_before(read, CLUSTER_ID, {}, {})] == [30, None]
    assert [row.hole for row in unread.with_holes_before(read, CLUSTER_ID, {}, {}, fresh=True)] == [None, None]


def test_what_was_just_written_is_there() -> None:
    assert unread.fresh(Tick(60_000), 50_000)
    assert not unread.fresh(Tick(60_000), None)
    assert not unread.fresh(None, 50_000)
    assert not unread.fresh(Tick(600_000), 50_000)


@pytest.mark.parametrize(("capture", "group"), GROUPS[-1:])
def test_markers_in_what_is_read_as_it_is_written_doubt_nobody(capture: str, group: str) -> None:
    """As where a neighbour of the partition commits in transactions: between all operations offsets are not there."""
    some = [one for one in records(capture, group) if one.partition == home_of(capture, group)]
    log = Log(capture, some[0].topic, some[0].partition)
    log.read([], some[0].offset, some[0].timestamp_ms - NEAR_MS)
    moments = groupby(some, key=lambda one: one.timestamp_ms)
    for shift, (at_ms, moment) in enumerate(moments):
        now = [replace(one, offset=one.offset + shift) for one in moment]
        log.read(now, now[-1].offset + 2, at_ms + NEAR_MS)
        assert not any(b'"unsettled_ms"' in one.state for one in log.run.store.states.values()), shift
    log.read([], log.at, some[-1].timestamp_ms + 1_000)
    told = [one for one in log.run.results if isinstance(one, Generation)]
    assert {one.verdict.grade for one in told} == {Grade.MATCH}
