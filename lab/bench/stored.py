"""`make bench-history`, first part: what a generation takes in the database and in what PostgreSQL writes ahead, beside
the storage that stores each one anew (`anew`).

True generations, folded and committed in this process, one at a time as they come while a monitor runs: once as groups
live, once where nothing changes, and once where in each generation somebody comes or goes. In a storm several come at a
time. The first half of each load is not counted: by then tables and states are as they stay.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count

import psycopg

from lab.bench import anew
from lab.bench.generations.load import Load
from lab.bench.generations.played import Size
from lab.bench.job import JUDGED
from lab.cluster import postgres
from lab.paths import BUILD
from lab.process import Lab
from rebalance_monitor.streaming.core.fold.state import STATE_VERSION, Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.results import Result
from rebalance_monitor.streaming.core.ports import Commit, GroupKey, PartitionKey, Range, StoredState
from rebalance_monitor.streaming.core.replay import RawRecord, decode
from rebalance_monitor.streaming.store.database import Connection
from rebalance_monitor.streaming.store.postgres import PostgresStore
from rebalance_monitor.streaming.store.retention import size

FOLDER = BUILD / "bench" / "stored"
AS_GROUPS_LIVE = Size(generations=2_000, groups=14, members=11, partitions=44)
NOTHING_CHANGES = replace(AS_GROUPS_LIVE, changing=0.0, wrong=0.0, every_ms=20_000)
CONSUMERS = tuple(one for one in JUDGED if one != "connect")
"""Connect groups of these loads have a connector changed again and again."""
STORM = "nothing changes in a storm"
LOADS = {
    "as groups live": (AS_GROUPS_LIVE, JUDGED),
    "nothing changes": (NOTHING_CHANGES, CONSUMERS),
    STORM: (NOTHING_CHANGES, CONSUMERS),
    "nothing but configurations of connectors": (NOTHING_CHANGES, JUDGED),
    "somebody comes or goes each time": (replace(AS_GROUPS_LIVE, changing=1.0, wrong=0.0), JUDGED),
}
TOGETHER_MS = {STORM: 20_000}
"""Of a storm several generations come in one batch, about as many as there are groups here."""
VACUUM_EVERY = 100
"""Batches between two vacuums of what is updated, as by PostgreSQL itself while a monitor runs."""
UPDATED = ("states", "positions", "groups")
QUIET = {"autovacuum": "off", "checkpoint_timeout": "1h", "max_wal_size": "100GB"}
"""What PostgreSQL does by the clock is not of a generation: after a checkpoint, whole pages are written ahead."""


def batches(load: Load, every_ms: int = 0) -> Iterator[list[RawRecord]]:
    """One record a batch, with those of the same moment, or of `every_ms` from the first one on."""
    some: list[RawRecord] = []
    for record in load.records():
        if some and record.timestamp_ms > some[0].timestamp_ms + every_ms:
            yield some
            some = []
        some.append(record)
    yield some


class Filling:
    """Folds and commits what is read, into a store that has the time of the records."""

    def __init__(self, dsn: str, load: Load) -> None:
        self.now_ms = 0
        self.store = PostgresStore(dsn, load.settings.name, now_ms=lambda: self.now_ms)
        self.store.migrate()
        self._epoch = self.store.claim()
        self._settings, self._knowledge = load.settings, load.knowledge()
        self._states: dict[str, Saved] = {}
        self._written, self._batches = defaultdict[str, int](int), count()
        self._ends = defaultdict[tuple[str, int], int](int)

    def commit(self, some: list[RawRecord]) -> Commit:
        """One batch."""
        self.now_ms = some[-1].timestamp_ms
        rows = [row for one in some if (row := decode(one, self._settings)) is not None]
        results: list[Result] = []
        blobs: dict[str, bytes] = {}
        changed: dict[GroupKey, StoredState] = {}
        for group, own in route(rows, self._settings).items():
            outcome = fold_group(self._settings, group, self._states.get(group), own, None, knowledge=self._knowledge)
            self._states[group] = outcome.state
            results += outcome.results
            blobs |= outcome.blobs
            changed[GroupKey(self._settings.name, group)] = StoredState(
                version=STATE_VERSION,
                state=outcome.state.lines,
                due_ms=outcome.due_ms,
                revision=self._written[group],
                waiting=outcome.state.waiting,
                waits=outcome.waits,
            )
            self._written[group] += 1
        commit = Commit(
            batch_id=next(self._batches),
            writer_epoch=self._epoch,
            ranges=self._ranges(some),
            states=changed,
            results=tuple(results),
            blobs=blobs,
        )
        self.store.commit(commit)
        return commit

    def _ranges(self, some: list[RawRecord]) -> dict[PartitionKey, Range]:
        ranges: dict[PartitionKey, Range] = {}
        for record in some:
            key = PartitionKey("load", f"id-{record.topic}", record.topic, record.partition)
            start = ranges[key].start if key in ranges else self._ends[record.topic, record.partition]
            ranges[key] = Range(start, record.offset + 1)
            self._ends[record.topic, record.partition] = record.offset + 1
        return ranges


@dataclass(frozen=True, slots=True)
class BytesTaken:
    """Bytes since the server began: what was written ahead for each of the two, and what their tables take."""

    generations: int
    wal: tuple[int, int]
    tables: tuple[int, int]


def taken(dsn: str, load: Load, together_ms: int) -> list[BytesTaken]:
    """After half of the load, and after all of it."""
    wal, found = [0, 0], []
    filling = Filling(dsn, load)
    with closing(filling.store), psycopg.connect(dsn, autocommit=True) as database:
        for name, value in QUIET.items():
            database.execute(f"alter system set {name} = '{value}'".encode())
        database.execute("select pg_reload_conf()")
        anew.make(database)
        some = list(batches(load, together_ms))
        for number, batch in enumerate(some, 1):
            at = _written_ahead(database)
            commit = filling.commit(batch)
            between = _written_ahead(database)
            anew.write(database, [commit])
            wal[0] += between - at
            wal[1] += _written_ahead(database) - between
            if number % VACUUM_EVERY == 0:
                for schema in ("rebalance_monitor", "anew"):
                    for table in UPDATED:
                        database.execute(f"vacuum {schema}.{table}".encode())
            if number in (len(some) // 2, len(some)):
                row = database.execute("select count(*) from anew.generations").fetchone()
                assert row is not None
                found.append(BytesTaken(row[0], (wal[0], wal[1]), (size(database), anew.size(database))))
    return found


def _written_ahead(database: Connection) -> int:
    row = database.execute("select (pg_current_wal_insert_lsn() - '0/0')::int8").fetchone()
    assert row is not None
    return int(row[0])


def main() -> int:
    """Print all."""
    print("| load | generations | kB of WAL each | stored anew | | kB of database each | stored anew | |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (load_size, kinds) in LOADS.items():
        folder = FOLDER / name.replace(" ", "-")  # a server does not start again where another one was
        postgres.stop_server(folder / "postgres")
        shutil.rmtree(folder, ignore_errors=True)
        with Lab(folder) as lab:
            half, whole = taken(postgres.start(lab).dsn, Load(load_size, kinds), TOGETHER_MS.get(name, 0))
        made = whole.generations - half.generations
        cells = [f"{name}", f"{made:,}"]
        for before, after in ((half.wal, whole.wal), (half.tables, whole.tables)):
            ours, theirs = (float(new - old) / made / 1000 for old, new in zip(before, after, strict=True))
            cells += [f"{ours:.2f}", f"{theirs:.2f}", f"{100 * ours / theirs:.0f} %"]
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
