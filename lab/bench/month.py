"""`make bench-history`, second part: days of a fleet in virtual time, with history cut as the job cuts it.

Each day one of the groups rebalances every 20 seconds for an hour. Prints what the database takes at the end of some
days, beside storage that keeps each generation anew and deletes nothing, and then how long each question of page, API
and dashboards takes for the last day and for all days that are kept, beside a copy that was made when there was one.
"""

import argparse
import shutil

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from lab.bench import anew
from lab.bench.asked import AskedRange, side_by_side
from lab.bench.generations.load import Load
from lab.bench.generations.played import PlayedGroup, Size
from lab.bench.job import JUDGED
from lab.bench.stored import Filling, batches
from lab.cluster import postgres
from lab.paths import BUILD
from lab.process import Lab
from rebalance_monitor.streaming.core.columns import DAY_MS, day_of
from rebalance_monitor.streaming.store.database import Database
from rebalance_monitor.streaming.store.retention import Kept, Retention, size

FOLDER = BUILD / "bench" / "month"
STORM_MS, STORM_EVERY_MS = 3_600_000, 20_000
STORM_FROM_MS = 12 * 3_600_000
"""When on a day its storm begins."""
BATCH_MS = 600_000
SHOWN_EVERY = 5
COPY = "first_day"
CONNECT = JUDGED.index("connect")
"""The group that is looked at."""


class StormyFleet(Load):
    """Groups of which each day another one has a storm."""

    def pause_ms(self, group: PlayedGroup) -> float:
        usual_ms = super().pause_ms(group)
        now_ms = group.now_ms
        begins_ms = now_ms - now_ms % DAY_MS + STORM_FROM_MS
        if group is not self.groups[day_of(now_ms) % len(self.groups)] or now_ms >= begins_ms + STORM_MS:
            return usual_ms
        return STORM_EVERY_MS if now_ms >= begins_ms else min(usual_ms, begins_ms - now_ms)


class Month:
    """The database of the days, and beside it the one that keeps each generation anew."""

    def __init__(self, dsn: str, load: StormyFleet, kept: Kept) -> None:
        self._dsn, self._load, self._kept = dsn, load, kept
        self._filling, self._database = Filling(dsn, load), Database(dsn)
        self._retention = Retention(self._database, kept)

    def play(self, days: int) -> list[tuple[str, AskedRange]]:
        """Prints the days; which range to ask for in which database: its one day of the first, and of the other one the
        last day and all that are kept."""
        first = today = day_of(self._load.start_ms)
        asked = []
        with self._database.session() as database:
            anew.make(database)
        for some in batches(self._load, BATCH_MS):
            day = day_of(some[-1].timestamp_ms)
            if day > today:
                self._retention.cut(day * DAY_MS)
                over, today = today - first, day
                if over in (1, days) or over % SHOWN_EVERY == 0:
                    self._print(over)
                if over == 1:
                    asked.append((self._copy(), self._range(today - 1, today)))
                if over == days:
                    break
            commit = self._filling.commit(some)
            with self._database.session() as database:
                anew.write(database, [commit])
        self._filling.store.close()
        return asked + [(self._dsn, self._range(today - days, today)) for days in (1, self._kept.days)]

    def _print(self, day: int) -> None:
        with self._database.session() as database:
            database.execute("vacuum analyze")
            found = (
                database.execute(f"select count(*) from {one}".encode()).fetchone()
                for one in ("rebalance_monitor.stored_generations", "anew.generations")
            )
            rows, all_rows = (0 if one is None else one[0] for one in found)
            here, there = size(database) / 2**20, anew.size(database) / 2**20
        print(f"| {day} | {rows:,} | {here:.1f} | {all_rows:,} | {there:.1f} |", flush=True)

    def _copy(self) -> str:
        """A copy of the database as it is now; nobody may be connected to it meanwhile."""
        self._filling.store.close()
        self._database.close()
        with psycopg.connect(make_conninfo(self._dsn, dbname="template1"), autocommit=True) as server:
            name = conninfo_to_dict(self._dsn)["dbname"]
            server.execute(f'create database {COPY} template "{name}"'.encode())
        return make_conninfo(self._dsn, dbname=COPY)

    def _range(self, since_day: int, until_day: int) -> AskedRange:
        name = self._load.settings.name
        streams = next((one.name for one in self._load.groups if one.kind == "streams"), "")
        return AskedRange(since_day * DAY_MS, until_day * DAY_MS - 1, (name, self._load.groups[CONNECT].name), streams)


def main() -> int:
    """Play the days, print both tables."""
    parser = argparse.ArgumentParser(prog="make bench-history", description=__doc__)
    parser.add_argument("--groups", type=int, default=300)
    parser.add_argument("--a-day", type=int, default=4, help="generations of a group in a day")
    parser.add_argument("--days", type=int, default=40)
    parser.add_argument("--keep", type=int, default=30)
    given = parser.parse_args()
    load = StormyFleet(Size(generations=10**9, groups=given.groups, every_ms=DAY_MS // given.a_day), JUDGED)
    postgres.stop_server(FOLDER / "postgres")
    shutil.rmtree(FOLDER, ignore_errors=True)
    print(f"{given.groups} groups, {given.a_day} generations of each a day, a storm of an hour; {given.keep} days kept")
    print("\n| day | generations | MiB | all generations | MiB stored anew |\n|---|---|---|---|---|")
    with Lab(FOLDER) as lab:
        kept = Kept(days=given.keep, max_bytes=10**12, summary_days=730)
        asked = Month(postgres.start(lab).dsn, load, kept).play(given.days)
        print(f"\n| question, ms | the first day | the last of {given.keep} | all {given.keep} |\n|---|---|---|---|")
        for name, took_ms in side_by_side(asked):
            print(f"| {name} | {' | '.join(f'{one:.1f}' for one in took_ms)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
