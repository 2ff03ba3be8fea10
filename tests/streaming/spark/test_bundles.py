"""Bundles: however partitions are put together, in whatever order bundles commit, wherever the job is killed between
two of them, rows and results are those of one bundle."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import AlreadyThere, GroupKey, Overtaken, Range, StoredState
from rebalance_monitor.streaming.spark.bundle import FoldedBundle, Orders, fold_bundle
from rebalance_monitor.streaming.spark.folding import fold_here
from rebalance_monitor.streaming.spark.rows import Batch
from tests.streaming.spark.memory_store import MemoryStore
from tests.streaming.spark.test_batch import CLUSTER_ID, Place, Run, batch, capture, final

NAMES = ("zombie", "steady", "sessioned-4.3.1")
END_MS = 10**15


class Killed(Exception):
    """The job is gone."""


@dataclass
class InProcess:
    """`batch.Tasks` over bundles, in this order; `dies_after`: so many bundles commit, then the job is killed."""

    store: MemoryStore
    order: Sequence[int] = ()
    dies_after: int | None = None

    def __call__(self, frame: Sequence[Batch], orders: Orders, knowledge: Knowledge) -> list[FoldedBundle | Exception]:
        told: list[FoldedBundle | Exception] = []
        for number, at in enumerate(self.order or range(len(frame))):
            if number == self.dies_after:
                raise Killed
            told.append(fold_bundle(self.store, orders, knowledge, frame[at], fold_here))
        return told


def several() -> tuple[ClusterSettings, dict[Place, tuple[Row, ...]], list[tuple[set[Place], str]]]:
    """Three captures side by side in one log, their partitions apart, and the places of each with its group."""
    known, rows, lives = ClusterSettings(name="c"), dict[Place, tuple[Row, ...]](), []
    for number, name in enumerate(NAMES):
        settings, by_place = capture(name)
        (group,) = settings.connect
        own = set()
        for (topic, partition), some in by_place.items():
            at = (topic, partition + 100 * number) if topic.startswith("__") else (f"{name}-{topic}", partition)
            rows[at] = tuple(
                replace(row, topic=at[0], partition=at[1], group=None if row.group is None else f"{name}-{row.group}")
                for row in some
            )
            own.add(at)
        connect = settings.connect[group]
        known = replace(
            known,
            connect={
                **known.connect,
                f"{name}-{group}": replace(
                    connect,
                    config_topic=f"{name}-{connect.config_topic}",
                    status_topic=f"{name}-{connect.status_topic}",
                ),
            },
        )
        lives.append((own, f"{name}-{group}"))
    return known, rows, lives


def bundle_of(
    rows: dict[Place, tuple[Row, ...]], ranges: dict[Place, Range], groups: Sequence[str], tick_ms: int | None
) -> Batch:
    taken = [row for place, span in ranges.items() for row in rows[place] if span.start <= row.offset < span.end]
    return batch(taken, ranges, tick_ms, groups=groups)


def expected() -> dict[object, object]:
    known, rows, _ = several()
    run = Run(known)
    ranges = {place: Range(0, some[-1].offset + 1) for place, some in rows.items()}
    run.function(batch([row for some in rows.values() for row in some], ranges, None), 0)
    run.function(batch([], {}, END_MS), 1)
    return dict(final(run.results))


def test_any_bundling_any_order_and_any_kill_between_two_commits_change_nothing() -> None:
    known, rows, lives = several()
    whole = expected()
    assert len(whole) > 100

    @profile(max_examples=6)
    @given(data=st.data())
    def property_(data: st.DataObject) -> None:
        run = Run(known)
        number = 0
        while True:
            at = {(key.topic, key.partition): offset for key, offset in run.store.positions().items()}
            ends = {place: some[-1].offset + 1 for place, some in rows.items()}
            left = {place: Range(at.get(place, 0), end) for place, end in ends.items() if at.get(place, 0) < end}
            if not left:
                break
            ranges = {
                place: span._replace(end=data.draw(st.integers(span.start + 1, span.end)) if number < 4 else span.end)
                for place, span in left.items()
            }
            split = data.draw(st.lists(st.integers(0, 2), min_size=len(lives), max_size=len(lives)))
            frame = []
            for _, some in groupby(sorted(zip(split, lives, strict=True), key=lambda one: one[0]), lambda one: one[0]):
                own = [life for _, life in some]
                mine = {place: span for place, span in ranges.items() if any(place in places for places, _ in own)}
                if mine:
                    frame.append(bundle_of(rows, mine, [group for _, group in own], None))
            order = data.draw(st.permutations(range(len(frame))))
            dies_after = data.draw(st.sampled_from([None, *range(len(frame))])) if number < 4 else None
            try:
                run.function.spread(frame, number, InProcess(run.store, order, dies_after))
            except Killed:
                run = Run(known, run.store)  # another job, which reads the stored positions
            number += 1
        run.function.spread([batch([], {}, END_MS)], number, InProcess(run.store))
        assert dict(final(run.results)) == whole

    property_()


def orders(run: Run, known: ClusterSettings) -> Orders:
    return Orders(
        settings=known, cluster_id=CLUSTER_ID, batch_id=7, writer_epoch=run.store.epoch, started_ms=0, caught_up=True,
        read_to_the_end_ms=None, topic_groups={}, most_settled=100,
    )  # fmt: skip


def test_a_bundle_that_is_run_again_after_its_commit_writes_nothing() -> None:
    known, rows, lives = several()
    run = Run(known)
    places, group = lives[0]
    ranges = {place: Range(0, rows[place][-1].offset + 1) for place in places}
    bundle = bundle_of(rows, ranges, [group], 5)
    told = fold_bundle(run.store, orders(run, known), Knowledge(), bundle, fold_here)
    assert told.results
    before = list(run.store.commits)
    with pytest.raises(AlreadyThere):
        fold_bundle(run.store, orders(run, known), Knowledge(), bundle, fold_here)
    assert run.store.commits == before


class Interrupted:
    """A store: between its first `load` and its `commit`, another bundle does all that it has to do."""

    def __init__(self, store: MemoryStore, other: Callable[[], object]) -> None:
        self._store, self._other = store, other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def load(self, keys: Collection[GroupKey]) -> Mapping[GroupKey, StoredState]:
        loaded = self._store.load(keys)
        self._other()
        return loaded


def test_two_bundles_never_write_the_same_state_over_each_other() -> None:
    """A group in two bundles at once is what `bundles` prevents; should it happen, one of the two begins again."""
    known, rows, lives = several()
    run = Run(known)
    places, group = lives[0]

    def bundle(store: Any, ending: str) -> FoldedBundle:
        ranges = {place: Range(0, rows[place][-1].offset + 1) for place in places if place[0].endswith(ending)}
        return fold_bundle(store, orders(run, known), Knowledge(), bundle_of(rows, ranges, [group], 5), fold_here)

    with pytest.raises(Overtaken):
        bundle(Interrupted(run.store, lambda: bundle(run.store, "status")), "configs")
    assert {key.topic.rpartition("-")[2] for key in run.store.positions()} == {"status"}
    bundle(run.store, "configs")
    assert {key.topic.rpartition("-")[2] for key in run.store.positions()} == {"status", "configs"}
