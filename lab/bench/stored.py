"""`make bench-history`, first part: what a generation takes in the database and in what PostgreSQL writes ahead.

True generations, folded and committed in this process, one at a time as they come while a monitor runs: once as groups
live, and once where nothing changes.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count

import psycopg

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
from rebalance_monitor.streaming.store.postgres import PostgresStore

FOLDER = BUILD / "bench" / "stored"
AS_GROUPS_LIVE = Size(generations=2_000, groups=14, members=11, partitions=44)
LOADS = {
    "as groups live": AS_GROUPS_LIVE,
    "nothing changes": replace(AS_GROUPS_LIVE, changing=0.0, wrong=0.0, every_ms=20_000),
}


def batches(load: Load) -> Iterator[list[RawRecord]]:
    """One record a batch, with those of the same moment."""
    some: list[RawRecord] = []
    for record in load.records():
        if some and record.timestamp_ms != some[-1].timestamp_ms:
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

    def commit(self, some: list[RawRecord]) -> None:
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
        self.store.commit(
            Commit(
                batch_id=next(self._batches),
                writer_epoch=self._epoch,
                ranges=self._ranges(some),
                states=changed,
                results=tuple(results),
                blobs=blobs,
            )
        )

    def _ranges(self, some: list[RawRecord]) -> dict[PartitionKey, Range]:
        ranges: dict[PartitionKey, Range] = {}
        for record in some:
            key = PartitionKey("load", f"id-{record.topic}", record.topic, record.partition)
            start = ranges[key].start if key in ranges else self._ends[record.topic, record.partition]
            ranges[key] = Range(start, record.offset + 1)
            self._ends[record.topic, record.partition] = record.offset + 1
        return ranges


def fill(dsn: str, load: Load) -> int:
    """Folds and commits all of it; how many generations there are."""
    filling = Filling(dsn, load)
    with closing(filling.store):
        for some in batches(load):
            filling.commit(some)
    return load.generations


def main() -> int:
    """Print both."""
    for name, size in LOADS.items():
        folder = FOLDER / name.replace(" ", "-")  # a server does not start again where another one was
        postgres.stop_server(folder / "postgres")
        shutil.rmtree(folder, ignore_errors=True)
        with Lab(folder) as lab:
            dsn = postgres.start(lab).dsn
            with psycopg.connect(dsn, autocommit=True) as database:
                asked = "select pg_current_wal_lsn() - '0/0', pg_database_size(current_database())"
                before = database.execute(asked).fetchone()
                made = fill(dsn, Load(size, JUDGED))
                database.execute("checkpoint")
                after = database.execute(asked).fetchone()
                assert before is not None
                assert after is not None
                wal, stored = (float(a - b) / made / 1000 for a, b in zip(after, before, strict=True))
        print(f"{name}: {made} generations, {wal:.1f} kB of WAL and {stored:.1f} kB of database each")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
