"""What happens to one bundle of partitions: sort out, fold, commit once. Spark is not needed here, only its rows.

A task does it where the partitions are read; the driver does it for groups that only a timer or a sample wakes. All
records of a group lie in one partition of the coordinator's log, and the group's own topics are read in the same bundle
as that partition (`offsets.bundles`), so no two bundles of a batch fold the same group.

    bundle 1   read -> fold -> positions, states, results and outbox in one transaction     own process, own connection
    bundle 2   read -> fold -> ...
    driver     what it is told of each, then timers, then what is remembered of the cluster

The store is the only authority on progress. What lies below its positions was folded before and is dropped; a bundle
that starts above them is refused (`OutOfStep`), and the query starts again from the store's positions. A bundle that is
run again after its commit finds all of it stored (`AlreadyThere`). The state of a group is written over the one that
was loaded or not at all (`Overtaken`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.streaming.core.cluster.knowledge import Knowledge
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, groups_concerned
from rebalance_monitor.streaming.core.model.records import Gap, OtherGroup, Tick, Undecodable
from rebalance_monitor.streaming.core.model.results import Incident, Part
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import (
    AlreadyThere,
    Commit,
    FoldError,
    GroupKey,
    OutOfStep,
    PartitionKey,
    Position,
    Range,
    RefusedRow,
    Store,
    StoredState,
    already_there,
)
from rebalance_monitor.streaming.core.reading.last_commits import LastCommits
from rebalance_monitor.streaming.guarding.decoding import counted
from rebalance_monitor.streaming.guarding.fold import configs_first
from rebalance_monitor.streaming.metrics.batch_view import BatchView, view_of
from . import unread
from .folding import Folded, FoldMany
from .group_states import StoredGroups
from .rows import Batch, RawRow, Reached
from .settling import Settling

NO_GROUP = ""
"""Of records that are of no group. What they tell is published where they are read, and nothing of it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a batch tells each of its bundles.

    `started_ms`: before the cluster is `caught_up`, time stands still there. `read_to_the_end_ms`: the tick of the
    batch before, if that one was read to the end. `topic_groups`: groups that are known to have topics of their own,
    each with its home. `most_settled`: how many waiting records one bundle may settle (`settling`).
    """

    settings: ClusterSettings
    cluster_id: str
    batch_id: int
    writer_epoch: int
    started_ms: int
    caught_up: bool
    read_to_the_end_ms: int | None
    topic_groups: Mapping[str, str | None]
    most_settled: int

    def tick(self, tick: Tick | None) -> Tick | None:
        """Before the first caught-up point everything is history, and time stands still at the start of the job."""
        return tick if self.caught_up else Tick(tick.now_ms if tick else self.started_ms, historic=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedBundle:
    """What came of one bundle, once it is committed.

    `samples`: for each group that was folded, from when on a sample of the topics is waited for. `left`: groups that
    were not done. `topic_groups`: groups that turned out to have topics of their own, or another home. `errors`: each
    with its group; `refused`: rows that the store refused. `commits`: as the batch has them. `process`: who folded it,
    as host and number.
    """

    rows: int
    tick: Tick | None
    reached: Mapping[PartitionKey, Reached]
    ranges: Mapping[PartitionKey, Range]
    samples: Mapping[str, int | None]
    left: int
    topic_groups: Mapping[str, str | None]
    results: int
    view: BatchView
    kinds: Mapping[tuple[str, str], int]
    unknown_tags: Mapping[str, int]
    other_groups: Mapping[tuple[str, str, str], int]
    errors: tuple[tuple[str, FoldError], ...]
    refused: tuple[RefusedRow, ...]
    commits: Mapping[PartitionKey, LastCommits]
    process: str = ""


def fold_bundle(
    store: Store,
    orders: Orders,
    knowledge: Knowledge,
    batch: Batch,
    fold: FoldMany,
    *,
    woken: Iterable[str] = (),
    polled: Sequence[RawRow] = (),
    also: Mapping[GroupKey, StoredState] | None = None,
) -> FoldedBundle:
    """Fold the rows, and the `woken` groups without one; commit once. `also`: states to commit beside them.

    Raises OutOfStep, AlreadyThere, Overtaken or Deposed; then nothing is written.
    """
    settings = orders.settings
    stored = store.at(batch.reached)
    batch, ranges = _in_step(batch, stored)
    batch, ranges = _with_holes(orders, batch, ranges, stored)
    tick = orders.tick(batch.tick)
    found = {
        row.group
        for row in (*batch.rows, *polled)
        if row.group is not None and row.protocol_type in REGISTRY.protocol_types
    }
    topic_groups = orders.topic_groups.keys() | found
    here = topic_groups if batch.groups is None else batch.groups | found
    rows = _rows(store, settings, batch, here)
    for raw in polled:
        rows.setdefault(raw.group or NO_GROUP, []).append(raw)
    for group in woken:
        rows.setdefault(group, [])
    groups = StoredGroups(store, settings, rows, topic_groups)
    folded = fold(settings, groups.tasks, tick, knowledge)
    settling = Settling(fold, settings, tick, knowledge, orders.most_settled)
    outcomes = settling.went_on(groups, {group: one.outcome for group, one in folded.items()})
    if (nobody := outcomes.get(NO_GROUP)) is not None:
        # Nothing is kept of it, so nothing could end an incident; the log and the metrics tell of its errors.
        told = tuple(one for one in nobody.results if not isinstance(one, Incident | Part))
        outcomes = {**outcomes, NO_GROUP: replace(nobody, results=told)}
    commit = Commit(
        batch_id=orders.batch_id,
        writer_epoch=orders.writer_epoch,
        ranges=ranges,
        states={**groups.changed(outcomes), **(also or {})},
        results=tuple(result for _, outcome in sorted(outcomes.items()) for result in outcome.results),
        blobs={digest: blob for outcome in outcomes.values() for digest, blob in outcome.blobs.items()},
        kept=[state for outcome in outcomes.values() for state in outcome.kept],
        other_groups=_other_groups(settings.name, batch.rows),
    )
    nothing = not (ranges or commit.states or commit.results or commit.kept) and also is None
    refused = () if nothing else store.commit(commit)
    return FoldedBundle(
        rows=len(batch.rows),
        tick=batch.tick,
        reached=batch.reached,
        ranges=ranges,
        samples={group: outcome.sample_from_ms for group, outcome in outcomes.items()},
        left=settling.left,
        topic_groups={group: outcomes[group].home for group in found if group in outcomes},
        results=len(commit.results),
        view=view_of(commit.results),
        kinds=_kinds(batch.rows, folded.values()),
        unknown_tags=_unknown_tags(folded.values()),
        other_groups=commit.other_groups,
        errors=tuple((group, error) for group, one in sorted(outcomes.items()) for error in one.errors),
        refused=tuple(refused),
        commits=batch.commits,
    )


def _in_step(batch: Batch, stored: Mapping[PartitionKey, Position]) -> tuple[Batch, dict[PartitionKey, Range]]:
    """The batch and its ranges with what is stored already cut off. Raises OutOfStep for one that leaves something out,
    and AlreadyThere."""
    at = {key: position.next_offset for key, position in stored.items()}
    if already_there(batch.ranges, at):
        raise AlreadyThere
    ranges = {}
    for key, covered in batch.ranges.items():
        start = at.get(key, covered.start)
        if covered.start > start:
            raise OutOfStep(key, start, covered.start)
        if covered.end > start or key not in at:
            ranges[key] = Range(start, max(start, covered.end))
    new = {(key.topic, key.topic_id, key.partition): offset for key, offset in at.items()}
    rows = tuple(row for row in batch.rows if row.offset >= new.get((row.topic, row.topic_id, row.partition), 0))
    return replace(batch, rows=rows), ranges


def _with_holes(
    orders: Orders, batch: Batch, ranges: Mapping[PartitionKey, Range], stored: Mapping[PartitionKey, Position]
) -> tuple[Batch, dict[PartitionKey, Range]]:
    """The rows with the holes before them, and the ranges with what is remembered of holes."""
    holes = {unread.place_of(key): at.hole for key, at in stored.items() if at.hole is not None}
    markers = {unread.place_of(key) for key, at in stored.items() if at.markers}
    fresh = unread.fresh(batch.tick, orders.read_to_the_end_ms)
    found = {} if fresh else unread.believed(batch, markers)
    rows = unread.with_holes_before(batch, orders.cluster_id, holes, found, fresh=fresh)
    if fresh:
        markers |= unread.with_holes(batch)
    holes |= found
    remembered = {
        key: covered._replace(hole=holes.get(unread.place_of(key)), markers=unread.place_of(key) in markers)
        for key, covered in ranges.items()
    }
    return replace(batch, rows=rows), remembered


def _rows(
    store: Store, settings: ClusterSettings, batch: Batch, topic_groups: Iterable[str]
) -> dict[str, list[RawRow]]:
    rows: dict[str, list[RawRow]] = {}
    for raw in configs_first(batch.rows):
        groups = [raw.group] if raw.group is not None else _concerned(store, settings, raw, topic_groups)
        for group in groups:
            rows.setdefault(group, []).append(raw)
    return rows


def _concerned(store: Store, settings: ClusterSettings, raw: RawRow, topic_groups: Iterable[str]) -> list[str]:
    """The groups that a row without a group of its own goes to. A gap in the coordinator's log concerns those whose
    records lie in its partition, and groups with topics of their own, of which nothing may be stored yet."""
    if raw.kind != Gap.__name__ or REGISTRY.groups_of_topic(settings, raw.topic):
        return groups_concerned(settings, raw.topic, raw.kind)
    found = store.at_home(settings.name, f"{raw.topic}-{raw.partition}")
    at_home = dict.fromkeys([*(key.group for key in found), *sorted(topic_groups)])
    return groups_concerned(settings, raw.topic, raw.kind, at_home)


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
    return (row.group or NO_GROUP, row.body.kind) if row is not None and isinstance(row.body, OtherGroup) else None


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
