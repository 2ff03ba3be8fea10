"""One batch: its bundles are folded and committed (`bundle`), then the driver does what is the cluster's.

    bundles     rows of partitions, each bundle with its groups, in tasks of Spark or in this process
    driver      what they told; groups without a record that a timer or a sample wakes; the cluster's own state

Spark is met through `Tasks` alone. Samples of the topics are stored before a verdict rests on them.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.cluster.progress import NO_PROGRESS_KNOWN
from rebalance_monitor.streaming.core.fold.isolation import place_of
from rebalance_monitor.streaming.core.lifecycles import REGISTRY
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import (
    Commit,
    Deposed,
    FoldError,
    GroupKey,
    OutOfStep,
    PartitionKey,
    Range,
    Store,
    StoredState,
)
from rebalance_monitor.streaming.metrics.batch_view import BatchView, together
from .bundle import FoldedBundle, Orders, fold_bundle
from .channel import Control
from .expecting import Expecting
from .failures import BundleFailed
from .folding import FoldMany, fold_here
from .learning import NOBODY_ASKS, Askers, Learning
from .offsets import BatchLimit
from .rows import Batch
from .settling import AT_ONCE_MS, MOST_SETTLED, MOST_WOKEN, Turns

log = logging.getLogger("rebalance_monitor.job")
Counted = TypeVar("Counted")

CLUSTER_STATE_VERSION = 1
MEASURE_FROM_RECORDS = 50
# A timer that is due and stays due (its evidence is still missing) is looked at once per this time, not in a loop.
TIMER_PAUSE_MS = 1_000


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What is remembered about a cluster itself: whether its end was ever reached."""

    caught_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """One committed batch, for logs and metrics.

    `records` counts what was read, `rows` what was of interest, `results` what was found; `refused` is the table of
    each row that the store refused; `processes` folded bundles. `whole`: no bundle failed.
    """

    cluster: str
    batch_id: int
    bundles: int
    rows: int
    records: int
    bytes: int
    groups: int
    tick_ms: int | None
    caught_up: bool
    seconds: float
    results: int = 0
    view: BatchView = field(default_factory=BatchView)
    ranges: Mapping[PartitionKey, Range] = field(default_factory=dict)
    kinds: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unknown_tags: Mapping[str, int] = field(default_factory=dict)
    other_groups: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    fold_errors: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    whole: bool = True


class Tasks(Protocol):
    """Who folds the bundles of a batch where they are read."""

    def __call__(self, frame: Any, orders: Orders, knowledge: Knowledge, /) -> Sequence[FoldedBundle | Exception]:
        """What came of each bundle; all of them are over."""


class BatchFunction:
    """Called with each batch, in order; the writer epoch keeps others off the positions.

    `here` folds in this process; `tasks` says how many others may. `on_read` hears of the bundles of each batch once
    all are committed. `most_settled`, `most_woken`: how much of what waits one bundle and one batch take (`settling`).
    """

    def __init__(
        self,
        store: Store,
        settings: ClusterSettings,
        *,
        cluster_id: str,
        writer_epoch: int,
        started_ms: int,
        on_results: Callable[[BatchReport], None],
        publish: Callable[[Control], None],
        here: FoldMany = fold_here,
        tasks: Callable[[], int] = lambda: 1,
        askers: Askers = NOBODY_ASKS,
        on_read: Callable[[Sequence[FoldedBundle]], None] = lambda _: None,
        most_settled: int = MOST_SETTLED,
        most_woken: int = MOST_WOKEN,
    ) -> None:
        self._store, self._settings, self._epoch = store, settings, writer_epoch
        self._most_settled, self._turns = most_settled, Turns(most_woken)
        self._cluster_id, self._started_ms = cluster_id, started_ms
        self._on_results, self._publish, self._here, self._at_once = on_results, publish, here, tasks
        self._on_read = on_read
        self._learning = Learning(store, settings.name, cluster_id, askers)
        self._expecting = Expecting(store, settings)
        self._positions = {key: at for key, at in store.positions().items() if key.cluster_id == cluster_id}
        self._topic_groups = dict(store.with_topics(settings.name))
        # No cluster can be configured without a name, so this key never meets a group's.
        self._own_key = GroupKey("", settings.name)
        self._own_stored = store.load([self._own_key]).get(self._own_key)
        self._own = ClusterState() if self._own_stored is None else loads(ClusterState, self._own_stored.state)
        self._traced = set[str]()
        self._read_to_the_end_ms: int | None = None
        self._control, self._limit = Control(), BatchLimit()
        self._tell_reader(store.earliest_due_ms(settings.name), 0.0)

    @property
    def revision(self) -> int:
        """The number of the topics that the reader was last told of."""
        return self._control.revision

    @property
    def positions(self) -> Mapping[PartitionKey, int]:
        """Next offset to read of each known partition of this cluster."""
        return self._positions

    def __call__(self, batch: Batch, batch_id: int) -> None:
        """A batch whose rows are here, as one bundle; the groups that were polled are folded with it."""
        began_s, orders = time.monotonic(), self._orders(batch_id)
        polled = self._learning.polled(orders.tick(batch.tick))
        knowledge = self._knowledge(batch_id)
        done = fold_bundle(self._store, orders, _of_bundles(knowledge), batch, self._here, polled=polled)
        self._finish(orders, knowledge, [done], began_s)

    def spread(self, frame: Any, batch_id: int, tasks: Tasks) -> None:
        """A batch whose bundles are folded and committed by these tasks."""
        began_s, orders, knowledge = time.monotonic(), self._orders(batch_id), self._knowledge(batch_id)
        told = tasks(frame, orders, _of_bundles(knowledge))
        done = [one for one in told if isinstance(one, FoldedBundle)]
        failed = [one for one in told if isinstance(one, Exception)]
        if failed:
            if done:
                self._report(orders, done, began_s, whole=False)
            if any(isinstance(one, Deposed) for one in failed):
                self._store.commit(Commit(batch_id=batch_id, writer_epoch=self._epoch, ranges={}, states={}))
                # This job is the writer of its database. Theirs is another one.
                raise BundleFailed("a worker's configuration names another database than the job's: give it the job's")
            raise failed[0]
        self._finish(orders, knowledge, done, began_s)

    def _orders(self, batch_id: int) -> Orders:
        return Orders(
            settings=self._settings,
            cluster_id=self._cluster_id,
            batch_id=batch_id,
            writer_epoch=self._epoch,
            started_ms=self._started_ms,
            caught_up=self._own.caught_up,
            read_to_the_end_ms=self._read_to_the_end_ms,
            topic_groups=self._topic_groups,
            most_settled=self._most_settled,
        )

    def _knowledge(self, batch_id: int) -> Knowledge:
        """What brokers said up to now; what is new of their topics is stored."""
        knowledge = self._learning.knowledge()
        if (topics := self._learning.stored(knowledge)) is not None:
            self._store.commit(Commit(batch_id=batch_id, writer_epoch=self._epoch, ranges={}, states={}, topics=topics))
        return knowledge

    def _finish(self, orders: Orders, knowledge: Knowledge, done: list[FoldedBundle], began_s: float) -> None:
        """The driver's own share, and what is remembered."""
        ticks = {one.tick for one in done}
        tick = ticks.pop() if len(ticks) == 1 else None
        folded = {group for one in done for group in one.samples}
        own = ClusterState(self._own.caught_up or tick is not None)
        mine = fold_bundle(
            self._store,
            orders,
            knowledge,
            Batch(tick=tick, groups=frozenset()),
            self._here,
            woken=self._woken(folded, knowledge, orders.tick(tick)),
            also=self._own_states(own),
        )
        every = [*done, mine]
        self._expecting.folded((group for one in every for group in one.samples), orders.tick(tick))
        self._own = own
        self._read_to_the_end_ms = self._read_to_the_end_ms if tick is None else tick.now_ms
        self._topic_groups.update(pair for one in every for pair in one.topic_groups.items())
        for one in every:
            self._positions.update({key: covered.end for key, covered in one.ranges.items()})
        report = self._report(orders, every, began_s, tick)
        self._on_read(done)
        samples = {group: from_ms for one in every for group, from_ms in one.samples.items()}
        self._learning.committed(knowledge, samples, report.view.others)
        self._limit = self._limit.after(report.records, report.seconds)
        due_ms = self._next_due_ms(tick, sum(one.left for one in every))
        self._tell_reader(due_ms, report.bytes / report.records if report.records >= MEASURE_FROM_RECORDS else 0.0)
        _complete(done)

    def _own_states(self, own: ClusterState) -> dict[GroupKey, StoredState]:
        """The cluster's own state, where it is another one now."""
        if own == self._own:
            return {}
        revision = 0 if self._own_stored is None else self._own_stored.revision
        stored = StoredState(version=CLUSTER_STATE_VERSION, state=dumps(own).encode(), due_ms=None, revision=revision)
        self._own_stored = replace(stored, revision=revision + 1)
        return {self._own_key: stored}

    def _woken(self, folded: Iterable[str], knowledge: Knowledge, tick: Tick | None) -> list[str]:
        """Groups whose offsets brokers told, with or without a record. Groups without a record
        in this batch that brokers said something else of, that a sample or a timer wakes, or that were not done; of the
        latter as many as one batch takes. The others stay due."""
        named = set(folded)
        due = self._store.due(self._settings.name, AT_ONCE_MS if tick is None else tick.now_ms)
        expecting = self._expecting.left(tick)
        waiting = (*self._learning.answered(knowledge), *(key.group for key in due), *expecting)
        woken = (
            *self._learning.rebalancing(knowledge, tick),
            *self._turns.next([group for group in waiting if group not in named]),
        )
        measured = self._learning.measured(knowledge, tick)
        return [*dict.fromkeys((*measured, *(group for group in woken if group not in named)))]

    def _report(
        self,
        orders: Orders,
        done: Sequence[FoldedBundle],
        began_s: float,
        tick: Tick | None = None,
        *,
        whole: bool = True,
    ) -> BatchReport:
        reached = [one for summary in done for one in summary.reached.values()]
        report = BatchReport(
            cluster=self._settings.name,
            batch_id=orders.batch_id,
            bundles=sum(bool(one.reached) for one in done),
            rows=sum(one.rows for one in done),
            records=sum(one.records for one in reached),
            bytes=sum(one.bytes for one in reached),
            groups=sum(len(one.samples) for one in done),
            tick_ms=tick.now_ms if tick else None,
            caught_up=self._own.caught_up,
            seconds=time.monotonic() - began_s,
            results=sum(one.results for one in done),
            view=together(one.view for one in done),
            ranges={key: covered for one in done for key, covered in one.ranges.items()},
            kinds=_sum(one.kinds for one in done),
            unknown_tags=_sum(one.unknown_tags for one in done),
            other_groups=_sum(one.other_groups for one in done),
            fold_errors=Counter(_type_of(error) for one in done for _, error in one.errors),
            refused=tuple(row.table for one in done for row in one.refused),
            whole=whole,
            processes=tuple(sorted({one.process for one in done} - {""})),
        )
        self._log(orders.batch_id, done)
        self._on_results(report)
        return report

    def _log(self, batch_id: int, done: Iterable[FoldedBundle]) -> None:
        """Each error of a fold with its coordinates, its trace the first time; each row that the store refused."""
        for group, error in (pair for one in done for pair in one.errors):
            trace = {} if error.fingerprint in self._traced else {"trace": error.trace}
            self._traced.add(error.fingerprint)
            fields = {
                "cluster": self._settings.name,
                "group": group,
                "record": place_of(error.record),
                "fingerprint": error.fingerprint,
                **trace,
            }
            log.error("fold_failed", extra={"fields": fields})
        for row in (row for one in done for row in one.refused):
            named = {"batch": batch_id, "table": row.table, "key": list(row.key), "why": row.why}
            log.error("row_refused", extra={"fields": named})

    def _next_due_ms(self, tick: Tick | None, left: int) -> int | None:
        """`left`: groups that were not done. They go on at once."""
        if left and tick is not None:
            return tick.now_ms
        stored_ms = self._store.earliest_due_ms(self._settings.name)
        due_ms = min([*self._learning.due_ms(), *([] if stored_ms is None else [stored_ms])], default=None)
        if due_ms is None or tick is None:
            return due_ms
        return max(due_ms, tick.now_ms + TIMER_PAUSE_MS) if due_ms <= tick.now_ms else due_ms

    def _tell_reader(self, due_ms: int | None, bytes_per_record: float) -> None:
        topics: dict[str, str] = {}
        places: dict[str, list[str]] = {}
        topic_groups = {*self._topic_groups, *REGISTRY.configured(self._settings)}
        self._learning.ask_by_name(topic_groups)
        for group in sorted(topic_groups):
            own = kind_names(self._settings, group)
            topics.update(own)
            places[group] = [self._topic_groups.get(group) or "", *own]
        measured = bytes_per_record or self._control.bytes_per_record
        if self._control.bytes_per_record and abs(measured / self._control.bytes_per_record - 1) < 0.2:
            measured = self._control.bytes_per_record  # not worth a write
        revision = self._control.revision + (topics != self._control.topics)
        control = replace(
            self._control,
            due_ms=due_ms,
            topics=topics,
            groups=places,
            bytes_per_record=measured,
            most_records=self._limit.most,
            tasks=self._at_once(),
            revision=revision,
        )
        if control != self._control:
            self._control = control
            self._publish(control)


def _of_bundles(knowledge: Knowledge) -> Knowledge:
    """What is known where bundles are folded. Offsets of all groups are many and new every few seconds: groups are
    looked at by them in the driver alone."""
    return replace(knowledge, progress=NO_PROGRESS_KNOWN)


def _complete(done: Iterable[FoldedBundle]) -> None:
    """A read that ran out of time is stored as far as it came; the rest must be read again, by a new query."""
    for one in done:
        for key, reached in one.reached.items():
            if reached.end < reached.planned:
                raise OutOfStep(key, reached.end, reached.planned, reached.why)


def _type_of(error: FoldError) -> str:
    """The part of the fingerprint before the place."""
    return error.fingerprint.partition("-")[0]


def _sum(counts: Iterable[Mapping[Counted, int]]) -> dict[Counted, int]:
    total = Counter[Counted]()
    for one in counts:
        total.update(one)
    return dict(total)


def kind_names(settings: ClusterSettings, group: str) -> dict[str, str]:
    """The topics of a group beside the coordinator's log, each with what it holds."""
    return {topic: kind.name for topic, kind in REGISTRY.topics(settings, group).items()}
