"""What happens to one batch: sort out, fold, commit once. Spark is not needed here, only its table of rows.

The store is the only authority on progress. What lies below its positions was folded before and is dropped; a batch
that starts above them is refused (`OutOfStep`), and the query starts again from the store's positions.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.fold.fold import FoldOutcome
from rebalance_monitor.streaming.core.fold.isolation import place_of
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, groups_concerned
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.records import Gap, OtherGroup, Tick, Undecodable
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import Commit, GroupKey, OutOfStep, PartitionKey, Range, Store, StoredState
from rebalance_monitor.streaming.guarding.decoding import counted
from rebalance_monitor.streaming.guarding.fold import configs_first
from rebalance_monitor.streaming.spark import unread
from rebalance_monitor.streaming.spark.channel import Control
from rebalance_monitor.streaming.spark.folding import Folded, FoldMany, fold_here
from rebalance_monitor.streaming.spark.group_states import StoredGroups
from rebalance_monitor.streaming.spark.learning import NOBODY_ASKS, Askers, Learning
from rebalance_monitor.streaming.spark.rows import Batch, RawRow, read_batch
from rebalance_monitor.streaming.spark.settling import AT_ONCE_MS, MOST_SETTLED, MOST_WOKEN, Settling, Turns

log = logging.getLogger("rebalance_monitor.job")

CLUSTER_STATE_VERSION = 1
MEASURE_FROM_RECORDS = 50
# A timer that is due and stays due (its evidence is still missing) is looked at once per this time, not in a loop.
TIMER_PAUSE_MS = 1_000


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What is remembered about a cluster itself: whether its end was ever reached, its groups with topics of their own,
    and of each partition of the coordinator's log the newest hole, and whether it has markers of transactions
    (`unread`)."""

    caught_up: bool = False
    topic_groups: tuple[str, ...] = ()
    holes: Mapping[str, int] = field(default_factory=dict)
    markers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReport:
    """One committed batch, for logs and metrics. `records` counts what was read, `rows` what was of interest."""

    cluster: str
    batch_id: int
    rows: int
    records: int
    bytes: int
    groups: int
    tick_ms: int | None
    caught_up: bool
    spread: bool
    seconds: float
    results: Sequence[Result] = field(default_factory=tuple)
    ranges: Mapping[PartitionKey, Range] = field(default_factory=dict)
    kinds: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unknown_tags: Mapping[str, int] = field(default_factory=dict)
    other_groups: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    fold_errors: Mapping[str, int] = field(default_factory=dict)


class BatchFunction:
    """Called with each batch's table, in order. Positions are read once: the writer epoch keeps others off them.

    `here` folds in this process; `spread` is another way to fold, and from how many rows on it pays; None: every
    batch is folded here. `most_settled`, `most_woken`: how much of what waits one batch takes (`settling`).
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
        spread: tuple[FoldMany, int] | None = None,
        askers: Askers = NOBODY_ASKS,
        most_settled: int = MOST_SETTLED,
        most_woken: int = MOST_WOKEN,
    ) -> None:
        self._store, self._settings, self._epoch = store, settings, writer_epoch
        self._most_settled, self._turns = most_settled, Turns(most_woken)
        self._cluster_id, self._started_ms = cluster_id, started_ms
        self._on_results, self._publish = on_results, publish
        self._here, self._spread = here, spread
        self._traced: set[str] = set()
        self._learning = Learning(store, settings.name, cluster_id, askers)
        self._positions = {key: at for key, at in store.positions().items() if key.cluster_id == cluster_id}
        # No cluster can be configured without a name, so this key never meets a group's.
        self._own_key = GroupKey("", settings.name)
        stored = store.load([self._own_key]).get(self._own_key)
        self._own = loads(ClusterState, stored.state) if stored is not None else ClusterState()
        self._read_to_the_end_ms: int | None = None
        self._control = Control()
        self._tell_reader(store.earliest_due_ms(settings.name), 0.0)

    @property
    def revision(self) -> int:
        """The number of the topics that the reader was last told of."""
        return self._control.revision

    @property
    def positions(self) -> Mapping[PartitionKey, int]:
        """Next offset to read of each known partition of this cluster."""
        return self._positions

    def __call__(self, table: pa.Table, batch_id: int) -> None:
        began_s = time.monotonic()
        batch = read_batch(table, self._cluster_id, self._positions)
        if any(reached.end < reached.planned for reached in batch.reached.values()):
            # The tick says that everything before it is in the batch. What could not be read in time is not.
            batch = replace(batch, tick=None)
        ranges = self._in_step(batch)
        fresh = unread.fresh(batch.tick, self._read_to_the_end_ms)
        found = {} if fresh else unread.believed(batch, self._own.markers)
        markers = self._own.markers | unread.with_holes(batch) if fresh else self._own.markers
        batch = replace(
            batch, rows=unread.with_holes_before(batch, self._cluster_id, self._own.holes, found, fresh=fresh)
        )
        tick = self._tick(batch)
        polled = self._learning.polled(tick)
        own = replace(self._remember(batch, polled), holes={**self._own.holes, **found}, markers=markers)
        knowledge = self._learning.knowledge()
        rows = self._rows(batch, own.topic_groups)
        for raw in polled:
            rows.setdefault(raw.group or "", []).append(raw)
        for group in (*self._learning.concerned(knowledge, tick), *self._woken(rows, knowledge, tick)):
            rows.setdefault(group, [])
        groups = StoredGroups(self._store, self._settings, rows)
        fold = self._fold_for(len(batch.rows) + len(polled))
        folded = fold(self._settings, groups.tasks, tick, knowledge)
        settling = Settling(self._here, self._settings, tick, knowledge, self._most_settled)
        outcomes = settling.went_on(groups, {group: one.outcome for group, one in folded.items()})
        others = _other_groups(self._settings.name, batch.rows)
        results = tuple(result for _, outcome in sorted(outcomes.items()) for result in outcome.results)
        states = groups.changed(outcomes)
        if own != self._own:
            states[self._own_key] = StoredState(version=CLUSTER_STATE_VERSION, state=dumps(own).encode(), due_ms=None)
        blobs = {digest: blob for outcome in outcomes.values() for digest, blob in outcome.blobs.items()}
        self._log_errors(outcomes)
        self._store.commit(
            Commit(
                batch_id=batch_id,
                writer_epoch=self._epoch,
                ranges=ranges,
                states=states,
                results=results,
                blobs=blobs,
                kept=[state for outcome in outcomes.values() for state in outcome.kept],
                other_groups=others,
                topics=self._learning.stored(knowledge),
            )
        )
        self._own = own
        self._read_to_the_end_ms = self._read_to_the_end_ms if batch.tick is None else batch.tick.now_ms
        self._learning.committed(knowledge, outcomes)
        self._positions.update({key: covered.end for key, covered in ranges.items()})
        records = sum(reached.records for reached in batch.reached.values())
        size = sum(reached.bytes for reached in batch.reached.values())
        due_ms = self._next_due_ms(batch.tick, settling.left)
        self._tell_reader(due_ms, size / records if records >= MEASURE_FROM_RECORDS else 0.0)
        self._on_results(
            BatchReport(
                cluster=self._settings.name,
                batch_id=batch_id,
                rows=len(batch.rows),
                records=records,
                bytes=size,
                groups=len(groups.tasks),
                tick_ms=batch.tick.now_ms if batch.tick else None,
                caught_up=own.caught_up,
                spread=fold is not self._here,
                seconds=time.monotonic() - began_s,
                results=results,
                ranges=ranges,
                kinds=_kinds(batch.rows, folded.values()),
                unknown_tags=_unknown_tags(folded.values()),
                other_groups=others,
                fold_errors=_error_types(outcomes),
            )
        )
        self._complete(batch)

    def _woken(self, rows: Mapping[str, Sequence[RawRow]], knowledge: Knowledge, tick: Tick | None) -> list[str]:
        """Groups without a record in this batch that a sample or a timer wakes, or that were not done; as many as one
        batch takes. The others stay due."""
        due = self._store.due(self._settings.name, AT_ONCE_MS if tick is None else tick.now_ms)
        woken = (*self._learning.answered(knowledge), *(key.group for key in due))
        return self._turns.next([group for group in woken if group not in rows])

    def _log_errors(self, outcomes: Mapping[str, FoldOutcome]) -> None:
        """Each error with its coordinates; its trace the first time."""
        for group, outcome in sorted(outcomes.items()):
            for error in outcome.errors:
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

    def _fold_for(self, rows: int) -> FoldMany:
        if self._spread is not None:
            spread, from_rows = self._spread
            if rows >= from_rows:
                return spread
        return self._here

    def _in_step(self, batch: Batch) -> dict[PartitionKey, Range]:
        """Ranges with what is stored already cut off; refuses a batch that leaves something out."""
        ranges = {}
        for key, covered in batch.ranges.items():
            stored = self._positions.get(key, covered.start)
            if covered.start > stored:
                raise OutOfStep(key, stored, covered.start)
            if covered.end > stored or key not in self._positions:
                ranges[key] = Range(stored, max(stored, covered.end))
        return ranges

    def _complete(self, batch: Batch) -> None:
        """A read that ran out of time is stored as far as it came; the rest must be read again, by a new query."""
        for key, reached in batch.reached.items():
            if reached.end < reached.planned:
                raise OutOfStep(key, reached.end, reached.planned, reached.why)

    def _tick(self, batch: Batch) -> Tick | None:
        """Before the first caught-up point everything is history, and time stands still at the start of the job."""
        if self._own.caught_up:
            return batch.tick
        return Tick(batch.tick.now_ms if batch.tick else self._started_ms, historic=True)

    def _remember(self, batch: Batch, polled: Sequence[RawRow]) -> ClusterState:
        known, rows = set(self._own.topic_groups), (*batch.rows, *polled)
        known |= {row.group for row in rows if row.group is not None and row.protocol_type in REGISTRY.protocol_types}
        return ClusterState(self._own.caught_up or batch.tick is not None, tuple(sorted(known)))

    def _rows(self, batch: Batch, topic_groups: Sequence[str]) -> dict[str, list[RawRow]]:
        """The touched groups with their rows."""
        rows: dict[str, list[RawRow]] = {}
        for raw in configs_first(batch.rows):
            for group in [raw.group] if raw.group is not None else self._concerned(raw, topic_groups):
                rows.setdefault(group, []).append(raw)
        return rows

    def _concerned(self, raw: RawRow, topic_groups: Sequence[str]) -> list[str]:
        """The groups that a row without a group of its own goes to. A gap in the coordinator's log concerns those whose
        records lie in its partition, and groups with topics of their own, of which nothing may be stored yet."""
        if raw.kind != Gap.__name__ or REGISTRY.groups_of_topic(self._settings, raw.topic):
            return groups_concerned(self._settings, raw.topic, raw.kind)
        found = self._store.at_home(self._settings.name, f"{raw.topic}-{raw.partition}")
        at_home = dict.fromkeys([*(key.group for key in found), *topic_groups])
        return groups_concerned(self._settings, raw.topic, raw.kind, at_home)

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
        topic_groups = {*self._own.topic_groups, *REGISTRY.configured(self._settings)}
        self._learning.ask_by_name(topic_groups)
        for group in topic_groups:
            topics.update(kind_names(self._settings, group))
        measured = bytes_per_record or self._control.bytes_per_record
        if self._control.bytes_per_record and abs(measured / self._control.bytes_per_record - 1) < 0.2:
            measured = self._control.bytes_per_record  # not worth a write
        revision = self._control.revision + (topics != self._control.topics)
        control = replace(self._control, due_ms=due_ms, topics=topics, bytes_per_record=measured, revision=revision)
        if control != self._control:
            self._control = control
            self._publish(control)


def kind_names(settings: ClusterSettings, group: str) -> dict[str, str]:
    """The topics of a group beside the coordinator's log, each with what it holds."""
    return {topic: kind.name for topic, kind in REGISTRY.topics(settings, group).items()}


def _other_groups(cluster: str, rows: Sequence[RawRow]) -> dict[tuple[str, str, str], int]:
    """Records of group kinds that are only counted, by (cluster, group, kind)."""
    counts: dict[tuple[str, str, str], int] = {}
    for raw in rows:
        if raw.kind != OtherGroup.__name__:
            continue
        found = counted(raw.key) if raw.key is not None else _of_no_group(raw)
        if found is not None:
            key = (cluster, *found)
            counts[key] = counts.get(key, 0) + 1
    return counts


def _of_no_group(raw: RawRow) -> tuple[str, str] | None:
    """A record of a type that nobody knows."""
    row = raw.row()
    return (row.group or "", row.body.kind) if row is not None and isinstance(row.body, OtherGroup) else None


def _error_types(outcomes: Mapping[str, FoldOutcome]) -> dict[str, int]:
    """Errors of folds by their type, the part of the fingerprint before the place."""
    counts: dict[str, int] = {}
    for outcome in outcomes.values():
        for error in outcome.errors:
            kind = error.fingerprint.partition("-")[0]
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def _kinds(rows: Sequence[RawRow], folded: Iterable[Folded]) -> dict[tuple[str, str], int]:
    """Rows per (topic, class name of the body)."""
    counts = Counter((raw.topic, raw.kind) for raw in rows)
    for group in folded:
        for (topic, kind), unreadable in group.seen.unreadable.items():
            counts[topic, kind] -= unreadable
            counts[topic, Undecodable.__name__] += unreadable
    return {key: count for key, count in counts.items() if count}


def _unknown_tags(folded: Iterable[Folded]) -> dict[str, int]:
    """Tagged fields of group records that nobody has described, per topic."""
    counts = Counter[str]()
    for group in folded:
        counts.update(group.seen.unknown_tags)
    return dict(counts)
