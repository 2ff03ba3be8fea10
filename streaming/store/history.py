"""The history that ends by itself: a look at the database every minute, partitions for tomorrow, a cut every hour."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rebalance_monitor.streaming.core.columns import DAY_MS, day_of
from rebalance_monitor.streaming.supervision import Answerable, PartFailed, Supervised
from .database import Connection, Database, DatabaseUnreachable
from .days import Days, there
from .retention import Archive, Kept, Moved, Retention

PART = "history"
LOOK_EVERY_S = 60.0
FIRST_CUT_S = 300.0
CUT_EVERY_S = 3_600.0

log = logging.getLogger("rebalance_monitor.history")

# A table that is kept by days is one table to people.
_TABLES = """
select regexp_replace(c.relname, '_([0-9]+|other)$', '')::text, sum(pg_total_relation_size(c.oid))::int8
from pg_class c where c.relnamespace = 'rebalance_monitor'::regnamespace and c.relkind = 'r' group by 1
"""
_DAY = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 from pg_class c
where c.relnamespace = 'rebalance_monitor'::regnamespace and c.relname ~ %s
"""
_OLDEST_WAITING = "select extract(epoch from min(created_at))::float8 from rebalance_monitor.outbox where not done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the database is. `day_bytes`: of the newest day that is over; `since_s`: when the oldest day with detail
    began; `waiting_since_s`: when the oldest notification that waits was written; both 0 where there is none."""

    table_bytes: Mapping[str, int]
    limit_bytes: int
    day_bytes: int
    since_s: float
    waiting_since_s: float


class ShowsHistory(Protocol):
    """Who publishes it; the exporter does."""

    def history(self, health: Health) -> None:
        """How the database is now."""

    def history_cut(self) -> None:
        """A cut came to its end."""


class HistoryKeeper:
    """Looks and cuts, from `start` to `stop`."""

    def __init__(
        self,
        dsn: str,
        kept: Kept,
        shows: ShowsHistory,
        answerable: Answerable | None = None,
        archive: Archive | None = None,
        *,
        clock_s: Callable[[], float] = time.monotonic,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._database, self._kept, self._shows = Database(dsn), kept, shows
        self._days = Days()
        self._retention = Retention(self._database, kept, archive)
        self._clock_s, self._now_s = clock_s, now_s
        self._cut_at_s = clock_s() + FIRST_CUT_S
        self._thread = Supervised(PART, self.look, answerable, at_end=self._database.close)
        self._begun, self._started = threading.Lock(), False

    def start(self) -> None:
        """Returns at once; a second call changes nothing."""
        with self._begun:
            if not self._started:
                self._started = True
                self._thread.start()

    def stop(self) -> None:
        """Ends; a cut under way is made good by the next one."""
        self._thread.stop()

    def look(self) -> float:
        """One look, and a cut where one is due. PartFailed where a day cannot be archived."""
        try:
            if self._clock_s() >= self._cut_at_s:
                self._cut()
            with self._database.session() as connection:
                today = day_of(int(self._now_s() * 1000))
                self._days.ensure(connection, (today, today + 1), today * DAY_MS)
                self._shows.history(health(connection, self._kept.max_bytes, self._now_s()))
        except (DatabaseUnreachable, Moved):
            pass  # the job itself says so; who waited too long for the tables tries again at the next look
        return LOOK_EVERY_S

    def _cut(self) -> None:
        passed = self._retention.cut(int(self._now_s() * 1000))
        self._cut_at_s = self._clock_s() + CUT_EVERY_S
        if passed.cut or passed.incidents or passed.notifications:
            fields = {"days": list(passed.cut), "incidents": passed.incidents, "notifications": passed.notifications}
            log.info("history_cut", extra={"fields": fields})
        if passed.failed is not None:
            self._cut_at_s = self._clock_s()  # as soon as it can be written
            raise PartFailed(f"nothing is cut: {passed.failed}", LOOK_EVERY_S)
        self._shows.history_cut()


def health(connection: Connection, limit_bytes: int, now_s: float) -> Health:
    days = sorted(there(connection))
    over = [day for day in days if (day + 1) * DAY_MS <= now_s * 1000]
    newest = connection.execute(_DAY, (f"_{over[-1]}$",)).fetchone() if over else None
    waiting = connection.execute(_OLDEST_WAITING).fetchone()
    return Health(
        table_bytes=dict(connection.execute(_TABLES).fetchall()),
        limit_bytes=limit_bytes,
        day_bytes=0 if newest is None else newest[0],
        since_s=days[0] * DAY_MS / 1000 if days else 0.0,
        waiting_since_s=0.0 if waiting is None or waiting[0] is None else waiting[0],
    )
