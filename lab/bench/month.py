"""`make bench-history`, second part: days of a fleet in virtual time, with history cut as the job cuts it.

Prints the size of the database and how long the page's statements take at the end of some days: once `storage.keep` is
over, neither may grow any more.
"""

import argparse
import shutil
import time
from collections.abc import Callable

import psycopg

from lab.bench.generations.load import Load
from lab.bench.generations.played import Size
from lab.bench.job import JUDGED
from lab.bench.stored import Filling, batches
from lab.cluster import postgres
from lab.paths import BUILD
from lab.process import Lab
from rebalance_monitor.streaming.core.columns import DAY_MS, day_of
from rebalance_monitor.streaming.core.costs import CostQuestion
from rebalance_monitor.streaming.store.database import Database, DatabaseUnreachable
from rebalance_monitor.streaming.store.retention import Kept, Retention, size
from rebalance_monitor.streaming.web.api import MOST_READ
from rebalance_monitor.streaming.web.reader import Reader

FOLDER = BUILD / "bench" / "month"
TRIES = 5


def median_ms(ask: Callable[[], object]) -> float:
    """How long it takes, in the middle of some tries."""
    took = []
    for _ in range(TRIES):
        began_s = time.perf_counter()
        ask()
        took.append(1000 * (time.perf_counter() - began_s))
    return sorted(took)[TRIES // 2]


def line(dsn: str, day: int, group: tuple[str, str]) -> str:
    """How the database is at the end of a day."""
    database = Database(dsn)
    reader = Reader([database], DatabaseUnreachable)
    where = {"cluster": group[0], "group": group[1]}
    fleet, last = median_ms(reader.groups), median_ms(lambda: reader.generations({}, None, 12))
    history = median_ms(lambda: reader.generations(where, None, 30))
    costs = median_ms(lambda: reader.costs(CostQuestion(by=("team", "cause")), None, MOST_READ))
    with database.session() as connection:
        rows = connection.execute("select count(*) from rebalance_monitor.stored_generations").fetchone()
        mib = size(connection) / 2**20
    reader.close()
    assert rows is not None
    return f"{day:>4} {rows[0]:>12,} {mib:>10.1f} {fleet:>9.1f} {last:>9.1f} {history:>9.1f} {costs:>9.1f}"


def main() -> int:
    """Play the days, print the table."""
    parser = argparse.ArgumentParser(prog="make bench-history", description=__doc__)
    parser.add_argument("--groups", type=int, default=60)
    parser.add_argument("--a-day", type=int, default=10, help="generations of a group in a day")
    parser.add_argument("--days", type=int, default=45)
    parser.add_argument("--keep", type=int, default=30)
    given = parser.parse_args()
    load = Load(
        Size(generations=given.groups * given.a_day * given.days, groups=given.groups, every_ms=DAY_MS // given.a_day),
        JUDGED,
    )
    postgres.stop_server(FOLDER / "postgres")
    shutil.rmtree(FOLDER, ignore_errors=True)
    print(" day  generations        MiB  fleet ms   last ms  group ms  costs ms")
    with Lab(FOLDER) as lab:
        dsn = postgres.start(lab).dsn
        filling = Filling(dsn, load)
        kept = Kept(days=given.keep, max_bytes=10**12, summary_days=730)
        retention, first, today = Retention(Database(dsn), kept), None, None
        for some in batches(load):
            day = day_of(some[-1].timestamp_ms)
            first = day if first is None else first
            if today is not None and day > today:
                retention.cut(day * DAY_MS)
                if (day - first) % 5 == 0:
                    with psycopg.connect(dsn, autocommit=True) as database:
                        database.execute("vacuum analyze")
                    print(line(dsn, day - first, (load.settings.name, load.groups[0].name)), flush=True)
            today = day
            filling.commit(some)
        filling.store.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
