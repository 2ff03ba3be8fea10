"""`python -m lab.bench.stored`: what a generation takes in the database and in what PostgreSQL writes ahead.

True generations, folded and committed in this process, one at a time as they come while a monitor runs: once as groups
live, and once where nothing changes.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

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


def fill(dsn: str, load: Load) -> int:
    """Folds and commits; how many generations there are."""
    settings, knowledge = load.settings, load.knowledge()
    states: dict[str, Saved] = {}
    ends = defaultdict[tuple[str, int], int](int)
    written = defaultdict[str, int](int)
    with closing(PostgresStore(dsn, settings.name)) as store:
        store.migrate()
        epoch = store.claim()
        for number, some in enumerate(batches(load)):
            rows = [row for one in some if (row := decode(one, settings)) is not None]
            results: list[Result] = []
            blobs: dict[str, bytes] = {}
            changed: dict[GroupKey, StoredState] = {}
            for group, own in route(rows, settings).items():
                outcome = fold_group(settings, group, states.get(group), own, None, knowledge=knowledge)
                states[group] = outcome.state
                results += outcome.results
                blobs |= outcome.blobs
                changed[GroupKey(settings.name, group)] = StoredState(
                    version=STATE_VERSION,
                    state=outcome.state.lines,
                    due_ms=outcome.due_ms,
                    revision=written[group],
                    waiting=outcome.state.waiting,
                    waits=outcome.waits,
                )
                written[group] += 1
            ranges: dict[PartitionKey, Range] = {}
            for record in some:
                key = PartitionKey("load", f"id-{record.topic}", record.topic, record.partition)
                start = ranges[key].start if key in ranges else ends[record.topic, record.partition]
                ranges[key] = Range(start, record.offset + 1)
                ends[record.topic, record.partition] = record.offset + 1
            store.commit(
                Commit(
                    batch_id=number,
                    writer_epoch=epoch,
                    ranges=ranges,
                    states=changed,
                    results=tuple(results),
                    blobs=blobs,
                )
            )
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
                count = fill(dsn, Load(size, JUDGED))
                database.execute("checkpoint")
                after = database.execute(asked).fetchone()
                assert before is not None
                assert after is not None
                wal, stored = (float(a - b) / count / 1000 for a, b in zip(after, before, strict=True))
        print(f"{name}: {count} generations, {wal:.1f} kB of WAL and {stored:.1f} kB of database each")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
