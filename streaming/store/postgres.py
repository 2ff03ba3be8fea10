"""The store in PostgreSQL: the only authority on how far the job has come, and on what it has found.

A bundle becomes true in one transaction or not at all. The transaction first locks the writer row, which many may share
and nobody can claim meanwhile, and compares the epoch. Then it locks the positions of the bundle's partitions:

    stored position     the bundle covers 100 to 150
    100                 everything is written, the position becomes 150
    150                 AlreadyThere: an attempt before this one has committed it
    any other           OutOfStep: nothing is written, and the query starts again from the stored positions

A state is written over the one that it was made from, or not at all (`revision`). Everything else is an upsert.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from rebalance_monitor.streaming.core.incidents.notifying import Notifications
from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.ports import (
    Commit,
    GroupKey,
    Overtaken,
    PartitionKey,
    Position,
    RefusedRow,
    StoredState,
)
from . import last_words, parts, tables
from .contents import Contents, blob_rows, contents, days_of, newest_days, outbox_rows
from .database import Connection, Database
from .days import Days
from .kept import KEPT_STATES, kept_rows, prune
from .leaders import known_rows, notified_of, write_known
from .maintenance import Windows
from .migrations import known, migrate
from .muted import Muting, before_transitions, mark
from .outbox import CHANNEL, notified_before
from .past import StoredPast
from .positions import lock_positions, place_of, positions_of
from .refused import REFUSED, Writing
from .states import DUE, EARLIEST_DUE, StoredStates
from .text import clean, name, restored
from .topic_ids import TopicIds
from .topic_samples import topic_samples, write_topics
from .waiting_rows import WAITING_ROWS, keep_waiting, next_waiting
from .writer import check_epoch, claim, identify

KEPT_UNDECODABLE = 100
OTHERS_LOOK_MS = 10_000
"""So long after a window's end another process, whose clock may be slow, may still have muted an incident by it."""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class PostgresStore(StoredPast):
    """Implements `streaming.core.ports.Store`. `notify=False` writes no outbox (nobody would drain it).

    `cluster`: whose writer this can become, and of which it tells what is stored; a store that only commits for who has
    claimed the epoch needs none. `version` is stored with every verdict and incident: whose judgement it is. `windows`:
    maintenance, looked up anew with the batches.
    """

    def __init__(
        self,
        dsn: str,
        cluster: str = "",
        *,
        connect_timeout_ms: int = 5_000,
        undecodable_kept: int = KEPT_UNDECODABLE,
        notify: bool = True,
        version: str = "",
        windows: Windows | None = None,
        now_ms: Callable[[], int] = _now_ms,
    ) -> None:
        super().__init__(Database(dsn, connect_timeout_ms), cluster)
        self._undecodable_kept = undecodable_kept
        self._notify = notify
        self._version = version
        self._windows = windows if windows is not None else Windows()
        self._now_ms = now_ms
        self._days = Days()
        self._states = StoredStates()
        # Before the first look, somebody may have been muted by the process before.
        self._may_be_muted, self._muted_until_ms = True, 0

    def migrate(self) -> tuple[int, ...]:
        """Brings the schema up to date; returns the numbers of the migrations applied."""
        with self.database.session() as connection:
            return migrate(connection, known())

    def close(self) -> None:
        self.database.close()

    def claim(self) -> int:
        """Become the writer of the cluster without asking for its lease, for who is alone with the database (a
        benchmark, a test): raises its epoch and returns it."""
        with self.database.session() as connection:
            return claim(connection, self.cluster)

    def identify(self, epoch: int, cluster_id: str, *, begin_anew: bool) -> str | None:
        """`writer.identify`."""
        with self.database.session() as connection:
            return identify(connection, epoch, cluster_id, begin_anew=begin_anew)

    def positions(self) -> dict[PartitionKey, int]:
        with self.database.session() as connection:
            rows = connection.execute(
                "select cluster_id, topic_id, topic, partition, next_offset from rebalance_monitor.positions"
                " order by updated_at, topic, partition"
            ).fetchall()
        return {PartitionKey(*row[:4]): row[4] for row in rows}

    def at(self, keys: Collection[PartitionKey]) -> dict[PartitionKey, Position]:
        if not keys:
            return {}
        with self.database.session() as connection:
            stored = positions_of(connection, keys)
        return {key: stored[place] for key in keys if (place := place_of(key)) in stored}

    def load(self, keys: Collection[GroupKey]) -> dict[GroupKey, StoredState]:
        if not keys:
            return {}
        with self.database.session() as connection:
            return self._states.load(connection, keys)

    def load_waiting(self, key: GroupKey, position: int) -> dict[int, bytes]:
        with self.database.session() as connection:
            return next_waiting(connection, (key.cluster, name(key.group)), position)

    def at_home(self, cluster: str, home: str) -> list[GroupKey]:
        with self.database.session() as connection:
            rows = connection.execute(
                'select "group", original from rebalance_monitor.states'
                " where cluster = %s and (home = %s or home is null) order by 1",
                (cluster, clean(home)),
            ).fetchall()
        return [GroupKey(cluster, restored(group, kept)) for group, kept in rows]

    def with_topics(self, cluster: str) -> dict[str, str | None]:
        with self.database.session() as connection:
            rows = connection.execute(
                'select "group", original, home from rebalance_monitor.states where cluster = %s and has_topics'
                " order by 1",
                (cluster,),
            ).fetchall()
        return {restored(group, kept): home for group, kept, home in rows}

    def topic_samples(self, cluster_id: str) -> dict[str, str]:
        with self.database.session() as connection:
            return topic_samples(connection, cluster_id)

    def waiting(self, cluster: str) -> list[GroupKey]:
        with self.database.session() as connection:
            rows = connection.execute(
                'select "group", original from rebalance_monitor.states where cluster = %s and waits > 0 order by 1',
                (cluster,),
            ).fetchall()
        return [GroupKey(cluster, restored(group, kept)) for group, kept in rows]

    def due(self, cluster: str, now_ms: int) -> list[GroupKey]:
        """Groups of a cluster whose timer is due at `now_ms`, the longest overdue first."""
        with self.database.session() as connection:
            rows = connection.execute(DUE, {"cluster": cluster, "now_ms": now_ms}).fetchall()
        return [GroupKey(cluster, restored(group, kept)) for group, kept in rows]

    def earliest_due_ms(self, cluster: str) -> int | None:
        """When the next timer of the cluster is due; None when none runs."""
        with self.database.session() as connection:
            row = connection.execute(EARLIEST_DUE, {"cluster": cluster}).fetchone()
        return None if row is None else row[0]

    def commit(self, commit: Commit) -> list[RefusedRow]:
        """Check epoch, positions and revisions, write everything, advance the positions; what PostgreSQL refused.
        Raises OutOfStep, AlreadyThere, Overtaken or Deposed."""
        with self.database.session() as connection:
            self._days.ensure(connection, days_of(commit.results), self._now_ms())
            try:
                return self._write(connection, commit, one_by_one=False)
            except REFUSED:
                return self._write(connection, commit, one_by_one=True)

    def _write(self, connection: Connection, commit: Commit, *, one_by_one: bool) -> list[RefusedRow]:
        """The whole batch in one transaction; returns what is left out of it."""
        writing = Writing(connection, one_by_one)
        with connection.transaction():
            check_epoch(connection, commit.writer_epoch, lock=True)
            stored = lock_positions(connection, commit.ranges)
            ids = TopicIds(connection, commit.ranges)
            ids.prepare(commit.results)
            rows = contents(commit.results, commit.batch_id, ids, self._version, commit.blobs)
            notified = notified_of(connection, rows.transitions)
            muting = self._muting(connection, notified.told, commit)
            # One round trip for all that needs no answer; a savepoint needs one.
            with nullcontext() if one_by_one else connection.pipeline():
                moved = tables.POSITIONS.write(
                    connection,
                    [
                        (
                            key.cluster_id, key.topic_id, key.partition, key.topic, span.end, span.hole, span.markers,
                            commit.batch_id,
                        )
                        for key, span in commit.ranges.items()
                    ],
                )  # fmt: skip
                states = self._states.write(writing, commit.states, newest_days(commit.results))
                keep_waiting(
                    connection,
                    [(key.cluster, name(key.group), *one.waits) for key, one in commit.states.items() if one.waits],
                )
                writing.table(
                    WAITING_ROWS,
                    [
                        (key.cluster, name(key.group), position, record)
                        for key, one in commit.states.items()
                        for position, record in one.waiting.items()
                    ],
                )
                writing.table(tables.STORED_GENERATIONS, rows.generations)
                # In order: other bundles may write the same ones, and neither must wait for the other.
                writing.table(tables.STORED_CONTENTS, sorted((*key, text) for key, text in rows.contents.items()))
                writing.table(tables.ASSIGNMENTS, blob_rows(rows, commit.blobs, self._now_ms()))
                writing.table(tables.GAPS, rows.gaps)
                for last in (rows.aftermaths, rows.costs):
                    writing.rows("generations", 4, last, partial(last_words.complete, connection))
                writing.table(tables.CONNECTORS_AND_TASKS, rows.connectors_and_tasks)
                writing.table(tables.GROUPS, rows.groups)
                writing.table(tables.GROUP_PROGRESS, rows.progress)
                self._write_incidents(writing, rows, notified, muting, commit.batch_id)
                known = {place[1:]: offset for place, offset in stored.items()}
                new = _new_undecodable(rows, known)
                writing.rows("undecodable", 4, new, partial(self._write_undecodable, connection))
                counts = [(cluster, name(group), kind, n) for (cluster, group, kind), n in commit.other_groups.items()]
                writing.rows("other_groups", 3, counts, partial(_count_other_groups, connection))
                if commit.topics is not None:
                    write_topics(connection, commit.topics)
                if commit.kept:
                    writing.table(KEPT_STATES, kept_rows(commit.kept, commit.batch_id))
                    prune(connection)
                _begin_anew(connection, writing.refused)
            refused = sum(row.table == tables.STATES.name for row in writing.refused)
            further = sum(span.start < span.end for span in commit.ranges.values())
            if (
                sum(cursor.rowcount for cursor in states) + refused < len(commit.states)
                or sum(cursor.rowcount for cursor in moved) < further
            ):
                raise Overtaken
        if not refused:
            self._states.committed()
        if self._windows.running(muting.now_ms):
            self._may_be_muted, self._muted_until_ms = True, muting.now_ms + OTHERS_LOOK_MS
        elif not commit.ranges and muting.now_ms >= self._muted_until_ms:
            self._may_be_muted = False
        return writing.refused

    def look_for_windows(self) -> None:
        """Learns of the maintenance windows now, without waiting for a batch."""
        with self.database.session() as connection:
            self._windows.refresh(connection, self._now_ms())

    def _muting(self, connection: Connection, told: Sequence[Incident], commit: Commit) -> Muting:
        """A bundle looks at the incidents of the groups that it tells of; what is committed without partitions, at all
        of the cluster that a window begins or ceases to mute."""
        now_ms = self._now_ms()
        self._windows.refresh(connection, now_ms)
        if not (self._may_be_muted or self._windows.running(now_ms)):
            return Muting(self._windows, now_ms)
        whole = self.cluster and not commit.ranges
        of = self.cluster if whole else sorted({(one.cluster, name(one.group)) for one in told})
        return before_transitions(connection, self._windows, now_ms, told, commit.batch_id, of, tell=self._notify)

    def _write_incidents(
        self, writing: Writing, rows: Contents, notified: Notifications, muting: Muting, batch_id: int
    ) -> None:
        if not rows.transitions and not rows.parts and not rows.part_ends:
            return
        connection, told = writing.connection, notified.told
        hushed = {one.incident_id for one in told if muting.hushes(one)}
        if self._notify:
            updated = [one.incident_id for one in told if one.transition != "opened"]
            before, heard = notified_before(connection, updated) if updated else ({}, {})
            waiting = outbox_rows(told, before, batch_id, hushed, heard)
            writing.table(tables.OUTBOX, waiting)
            if waiting:
                # Delivered at commit: whoever drains the outbox need not wait for its next look.
                connection.execute(f"notify {CHANNEL}")
        writing.table(tables.INCIDENTS, rows.incidents)
        writing.rows("incidents", 1, known_rows(notified), partial(write_known, connection))
        writing.table(tables.INCIDENT_PARTS, rows.parts)
        writing.rows(
            tables.INCIDENT_PARTS.name,
            tables.INCIDENT_PARTS.key,
            list(rows.part_ends.values()),
            partial(parts.end_parts, connection),
        )
        over = [one.incident_id for one in rows.transitions if one.resolved_at_ms is not None]
        if over:
            parts.end_parts_of(connection, over)
        last = {one.incident_id: one for one in (*told, *rows.transitions)}
        quiet = [
            (name,)
            for name, one in sorted(last.items())
            if one.resolved_at_ms is not None and not one.firing and name not in notified.known
        ]
        writing.rows("incidents", 1, quiet, partial(parts.write_whole, connection))
        mark(connection, muting.marks)

    def _write_undecodable(self, connection: Connection, new: Sequence[Sequence[Any]]) -> None:
        """Counts every new record; keeps the first ones of each reason."""
        reason_at = tables.UNDECODABLE.place("reason")
        counts = Counter((row[0], row[reason_at]) for row in new)
        for (cluster, reason), count in sorted(counts.items()):
            total = connection.execute(
                "insert into rebalance_monitor.undecodable_counts as old values (%s, %s, %s)"
                " on conflict (cluster, reason) do update set records = old.records + excluded.records"
                " returning records",
                (cluster, reason, count),
            ).fetchone()
            assert total is not None
            room = max(0, self._undecodable_kept - (total[0] - count))
            kept = [row for row in new if (row[0], row[reason_at]) == (cluster, reason)][:room]
            tables.UNDECODABLE.write(connection, kept)


def _new_undecodable(rows: Contents, stored: Mapping[tuple[str, int], int]) -> list[tuple[Any, ...]]:
    """Every record that is new, once: one record may be told by several groups."""
    return list({row[:4]: row for row in rows.undecodable if row[3] >= stored.get((row[1], row[2]), 0)}.values())


def _begin_anew(connection: Connection, refused: Sequence[RefusedRow]) -> None:
    """A group whose state was refused must not go on from the one before: its records lie below the positions now."""
    for row in refused:
        if row.table == tables.STATES.name:
            keep_waiting(connection, [(clean(row.key[0]), row.key[1], 0, 0)])
            connection.execute(
                'delete from rebalance_monitor.states where (cluster, "group") = (%s, %s)',
                (clean(row.key[0]), row.key[1]),
            )


def _count_other_groups(connection: Connection, rows: Sequence[Sequence[Any]]) -> None:
    connection.execute(
        "insert into rebalance_monitor.other_groups as old"
        " select * from unnest(%s::text[], %s::text[], %s::text[], %s::int8[])"
        ' on conflict (cluster, "group", kind) do update set records = old.records + excluded.records',
        [list(column) for column in zip(*rows, strict=True)],
    )
