"""The batch function on real captures: any cut of batches, both ways of folding, and every way to be out of step."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.fold.state import Saved, read
from rebalance_monitor.streaming.core.model.records import Gap, GroupGeneration, MemberRow, OtherGroup, Row, Tick
from rebalance_monitor.streaming.core.model.results import GapRecord, Generation, Incident, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import AlreadyThere, Deposed, OutOfStep, PartitionKey, Range
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC as OFFSETS
from rebalance_monitor.streaming.core.replay import decode
from rebalance_monitor.streaming.spark.batch import BatchFunction, BatchReport
from rebalance_monitor.streaming.spark.channel import Control
from rebalance_monitor.streaming.spark.folding import FoldMany, fold_here
from rebalance_monitor.streaming.spark.rows import Batch, Reached, batch_of, decoded_row
from tests.streaming.spark.lines import raw_of
from tests.streaming.spark.memory_store import MemoryStore, OwnStore

CAPTURES = Path(__file__).parents[2] / "vectors" / "captures"
CLUSTER_ID = "kafka-1"
Place = tuple[str, int]


def partition(place: Place) -> PartitionKey:
    return PartitionKey(CLUSTER_ID, f"id-of-{place[0]}", *place)


@cache
def capture(name: str) -> tuple[ClusterSettings, dict[Place, tuple[Row, ...]]]:
    path = CAPTURES / name
    known = settings_of(path)
    rows: dict[Place, tuple[Row, ...]] = {}
    for record in records_of(path):
        if (row := decode(record, known)) is not None:
            rows[row.topic, row.partition] = (*rows.get((row.topic, row.partition), ()), row)
    return known, rows


def batch(
    rows: Sequence[Row],
    ranges: Mapping[Place, Range],
    tick_ms: int | None,
    planned: Mapping[Place, int] | None = None,
    groups: Sequence[str] | None = None,
) -> Batch:
    reached = {
        partition(place): Reached(covered.start, covered.end, (planned or {}).get(place, covered.end), len(rows), 100)
        for place, covered in ranges.items()
    }
    raw = [raw_of(partition((row.topic, row.partition)).topic_id, row) for row in rows]
    return batch_of(raw, reached, None if tick_ms is None else Tick(tick_ms), groups)


def batch_function(store: OwnStore, settings: ClusterSettings, **more: Any) -> BatchFunction:
    """Of a job that has become the store's writer; `more`: what is not as usual."""
    usual = {"cluster_id": CLUSTER_ID, "started_ms": 0, "on_results": lambda _: None, "publish": lambda _: None}
    return BatchFunction(store, settings, **{"writer_epoch": store.claim(), **usual, **more})


class Run:
    """A batch function with its store, and what it told. `here` may be a fold that fails."""

    def __init__(
        self,
        known: ClusterSettings,
        store: MemoryStore | None = None,
        epoch: int | None = None,
        here: FoldMany = fold_here,
    ) -> None:
        self.store = store or MemoryStore()
        self.controls: list[Control] = []
        self.reports: list[BatchReport] = []
        self.function = BatchFunction(
            self.store,
            known,
            cluster_id=CLUSTER_ID,
            writer_epoch=self.store.claim() if epoch is None else epoch,
            started_ms=0,
            on_results=self.reports.append,
            publish=self.controls.append,
            here=here,
        )

    @property
    def results(self) -> list[Result]:
        return [result for commit in self.store.commits for result in commit.results]


def final(results: Sequence[Result]) -> dict[object, Result]:
    """The last word on each generation and incident."""
    last: dict[object, Result] = {}
    for result in results:
        match result:
            case Generation():
                last[result.source] = result
            case Incident():
                last[result.incident_id] = result
            case _:
                last[repr(result)] = result
    return last


def whole(name: str) -> Run:
    known, by_place = capture(name)
    run = Run(known)
    rows = [row for rows in by_place.values() for row in rows]
    run.function(batch(rows, {place: Range(0, rows[-1].offset + 1) for place, rows in by_place.items()}, None), 0)
    run.function(batch([], {}, 10**15), 1)
    return run


@pytest.mark.parametrize("name", ["zombie", "steady"])
def test_any_cut_into_batches_gives_the_same_results(name: str) -> None:
    known, by_place = capture(name)
    expected = final(whole(name).results)

    @profile(max_examples=4)
    @given(data=st.data())
    def property_(data: st.DataObject) -> None:
        run = Run(known)
        at = {place: 0 for place in by_place}
        number = 0
        while any(at[place] < len(rows) for place, rows in by_place.items()):
            taken: list[Row] = []
            ranges = {}
            for place, rows in by_place.items():
                left = len(rows) - at[place]
                size = data.draw(st.integers(0, left)) if number < 6 else left
                part = rows[at[place] : at[place] + size]
                if part:
                    ranges[place] = Range(rows[at[place] - 1].offset + 1 if at[place] else 0, part[-1].offset + 1)
                at[place] += size
                taken.extend(part)
            # No tick, as in catching up: nothing is given up on while records are still to come.
            run.function(batch(taken, ranges, None), number)
            number += 1
        run.function(batch([], {}, 10**15), number)
        assert final(run.results) == expected

    property_()


def test_a_batch_read_again_changes_nothing() -> None:
    known, by_place = capture("zombie")
    place, rows = next((place, rows) for place, rows in by_place.items() if len(rows) > 3)
    run = Run(known)
    run.function(batch(rows[:3], {place: Range(0, rows[2].offset + 1)}, None), 0)
    before = list(run.store.commits)
    with pytest.raises(AlreadyThere):
        run.function(batch(rows[:3], {place: Range(0, rows[2].offset + 1)}, None), 1)
    assert run.store.commits == before


def test_an_overlapping_batch_counts_only_what_is_new() -> None:
    known, by_place = capture("zombie")
    place, rows = next((place, rows) for place, rows in by_place.items() if len(rows) > 3)
    run = Run(known)
    run.function(batch(rows[:2], {place: Range(0, rows[1].offset + 1)}, None), 0)
    run.function(batch(rows[:4], {place: Range(0, rows[3].offset + 1)}, None), 1)
    assert run.store.last_batch().ranges == {partition(place): Range(rows[1].offset + 1, rows[3].offset + 1)}
    assert run.reports[-1].rows == 2


def test_a_batch_above_the_position_is_refused_and_writes_nothing() -> None:
    known, _ = capture("zombie")
    run = Run(known)
    place = ("__consumer_offsets", 0)
    run.function(batch([], {place: Range(0, 5)}, None), 0)
    with pytest.raises(OutOfStep) as refused:
        run.function(batch([], {place: Range(7, 9)}, None), 1)
    assert (refused.value.expected, refused.value.got) == (5, 7)
    assert run.store.positions() == {partition(place): 5}


def test_a_short_read_keeps_what_came_and_asks_for_the_rest() -> None:
    known, _ = capture("zombie")
    run = Run(known)
    place = ("__consumer_offsets", 0)
    with pytest.raises(OutOfStep):
        run.function(batch([], {place: Range(0, 5)}, None, planned={place: 9}), 0)
    assert run.store.positions() == {partition(place): 5}


def test_a_deposed_job_writes_nothing() -> None:
    known, _ = capture("zombie")
    store = MemoryStore()
    old = Run(known, store)
    Run(known, store)
    with pytest.raises(Deposed):
        old.function(batch([], {("__consumer_offsets", 0): Range(0, 5)}, None), 0)
    assert store.commits == []


def test_a_recreated_topic_starts_at_its_own_beginning() -> None:
    known, _ = capture("zombie")
    run = Run(known)
    run.function(batch([], {("t", 0): Range(0, 50)}, None), 0)
    run.function(batch_of([], {PartitionKey(CLUSTER_ID, "another-id", "t", 0): Reached(0, 4, 4)}), 1)
    assert sorted(run.store.positions().values()) == [4, 50]


def test_history_ends_with_the_first_caught_up_batch_and_survives_a_restart() -> None:
    known, by_place = capture("zombie")
    place, rows = max(by_place.items(), key=lambda item: sum(row.group is not None for row in item[1]))
    store = MemoryStore()
    cut, later = len(rows) // 3, 2 * len(rows) // 3
    first = Run(known, store)
    first.function(batch(rows[:cut], {place: Range(0, rows[cut - 1].offset + 1)}, None), 0)
    first.function(batch(rows[cut:later], {place: Range(rows[cut - 1].offset + 1, rows[later - 1].offset + 1)}, 5), 1)
    second = Run(known, store)
    second.function(batch(rows[later:], {place: Range(rows[later - 1].offset + 1, rows[-1].offset + 1)}, None), 0)
    second.function(batch([], {}, 10**15), 1)
    historic = {one.source.offset: one.historic for one in first.results if isinstance(one, Generation)}
    assert historic
    assert all(is_historic == (offset <= rows[later - 1].offset) for offset, is_historic in historic.items())


def test_a_discovered_connect_group_asks_for_its_topics_and_is_remembered() -> None:
    configured, by_place = capture("zombie")
    (group,) = configured.connect
    unknown = ClusterSettings(name="c")
    rows = [row for rows in by_place.values() for row in rows if row.group == group]
    place = (rows[0].topic, rows[0].partition)
    run = Run(unknown)
    assert run.controls == []
    run.function(batch(rows, {place: Range(0, rows[-1].offset + 1)}, 1), 0)
    wanted = {f"{group}-configs": "config", f"{group}-status": "status"}
    assert run.controls[-1].topics == wanted
    assert Run(unknown, run.store).controls[-1].topics == wanted


def test_gaps_are_published_and_other_groups_counted() -> None:
    known, _ = capture("zombie")
    run = Run(known)
    place = ("__consumer_offsets", 0)
    rows = [
        Row(topic=place[0], partition=0, offset=0, timestamp_ms=-1, group=None, body=Gap(4, "deleted_before_read")),
        Row(topic=place[0], partition=0, offset=4, timestamp_ms=9, group=None, body=OtherGroup("unknown")),
        Row(topic=place[0], partition=0, offset=5, timestamp_ms=9, group=None, body=OtherGroup("unknown")),
    ]
    run.function(batch(rows, {place: Range(0, 6)}, 10), 0)
    assert [type(result) for result in run.results] == [GapRecord]
    assert run.store.last_batch().other_groups == {(known.name, "", "unknown"): 2}
    assert run.reports[-1].kinds == {(place[0], "Gap"): 1, (place[0], "OtherGroup"): 2}


def test_a_gap_of_the_log_reaches_every_group_whose_records_lie_there() -> None:
    """Consumers too, and nobody else: whose records were lost is known by the partition alone."""
    run = Run(ClusterSettings(name="c"))
    here, there = (OFFSETS, 5), (OFFSETS, 6)
    first = [
        Row(topic=OFFSETS, partition=place[1], offset=0, timestamp_ms=9, group=group, body=consumers(1))
        for group, place in (("at home", here), ("elsewhere", there))
    ]
    run.function(batch(first, {here: Range(0, 1), there: Range(0, 1)}, 10), 0)
    gap = Row(topic=OFFSETS, partition=5, offset=1, timestamp_ms=-1, group=None, body=Gap(4, "deleted_before_read"))
    run.function(batch([gap], {here: Range(1, 4)}, 20), 1)
    states = {key.group: read(Saved(one.state))[0] for key, one in run.store.states.items() if key.cluster == "c"}
    assert states["at home"].lost == ((1, 4),)
    assert states["elsewhere"].lost == ()


def consumers(generation: int) -> GroupGeneration:
    """A generation of one consumer."""
    member = MemberRow(
        member_id="m", instance_id=None, client_id="c", client_host="/h", rebalance_timeout_ms=1, session_timeout_ms=1,
        subscription_bytes=b"", assignment_bytes=b"",
    )  # fmt: skip
    return GroupGeneration(
        protocol_type="consumer", generation=generation, protocol="range", leader="m", state_ms=9, members=(member,)
    )


def test_half_a_surrogate_pair_survives_the_way_to_the_fold() -> None:
    row = Row(topic="t", partition=0, offset=0, timestamp_ms=1, group=None, body=Gap(1, "\ud800"))
    assert decoded_row("id", row).row() == replace(row, topic_id="id")
