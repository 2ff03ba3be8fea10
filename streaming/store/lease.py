"""Which job judges a cluster: a lease in the database, which its holder renews and every other job waits for.

    holder     every 2 s    the lease lasts 10 s from now on
    standby    every 0.5 s  given up, or over for 4 s: new epoch, new lease, of all its clusters, in one transaction

A lease is over when nobody renewed it in its 10 s (the holder stands still, or the database does not answer it), and
when the session that renewed it last is gone (the holder was killed: PostgreSQL ends the session with its connection).
The 4 s let a holder come first after its session alone ended, or after an outage of the database, in which all did. So
a standby has the lease at most 15 s after a holder stood still, 5 s after it was killed, and 1 s after it gave the
lease up.

The lease says whose turn it is; the writer's epoch, which every transaction compares, keeps the data whole. A holder
that goes on after another one has taken the lease can neither write nor notify, and takes no lease of that cluster
again: its process ends. All times are the database's.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.supervision import Answerable, PartFailed, Supervised
from .database import Connection, Database, DatabaseUnreachable
from .writer import claim

PART = "lease"
LASTS_S = 10.0
RENEW_EVERY_S = 2.0
LOOK_EVERY_S = 0.5
OVER_FOR_S = 4.0
CONNECT_MS = 2_000
log = logging.getLogger("rebalance_monitor.lease")

_RENEW = """
update rebalance_monitor.leases l set until = clock_timestamp() + make_interval(secs => %s), session_pid = a.pid,
session_start = a.backend_start from pg_stat_activity a
where a.pid = pg_backend_pid() and l.epoch = any(%s) and l.until <> '-infinity' returning l.cluster
"""
_TAKE = """
insert into rebalance_monitor.leases (cluster, epoch, holder, session_pid, session_start, until)
select %s, %s, %s, a.pid, a.backend_start, clock_timestamp() + make_interval(secs => %s) from pg_stat_activity a
where a.pid = pg_backend_pid()
on conflict (cluster) do update set epoch = excluded.epoch, holder = excluded.holder, until = excluded.until,
session_pid = excluded.session_pid, session_start = excluded.session_start
"""
# Of the sessions of another role PostgreSQL tells the number alone.
_OTHERS = """
select l.cluster, l.holder, l.until = '-infinity' as given_up, l.until > clock_timestamp() and exists (
select from pg_stat_activity a
where a.pid = l.session_pid and coalesce(a.backend_start, l.session_start) = l.session_start
) as runs from rebalance_monitor.leases l where l.cluster = any(%s) and l.holder <> %s order by 1
"""
_GIVE_UP = "update rebalance_monitor.leases set until = '-infinity' where epoch = any(%s)"


class Lease:
    """The leases of a job's clusters, from `start` to `stop`. `holder`: this job, for people, and like no other job.

    Every method may be called from any thread.
    """

    def __init__(
        self,
        dsn: str,
        holder: str,
        clusters: Iterable[str],
        answerable: Answerable | None = None,
        *,
        lasts_s: float = LASTS_S,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = Database(dsn, CONNECT_MS)
        self._holder, self._lasts_s, self._clock_s = holder, lasts_s, clock_s
        self._lock = threading.Lock()
        self._wanted = set(clusters)
        self._epochs: dict[str, int] = {}
        self._lost: set[str] = set()
        self._others: dict[str, str] = {}
        self._over_since_s: dict[str, float] = {}
        self._renewed_s = clock_s()
        self._thread = Supervised(PART, self.look, answerable, at_end=self._database.close)

    def start(self) -> None:
        """Takes what is free, then goes on in a thread."""
        with suppress(PartFailed):  # the thread says so
            self.look()
        self._thread.start()

    def stop(self) -> None:
        """Gives up what is held."""
        self._thread.stop()
        self.give_up()
        self._database.close()

    def want(self, cluster: str) -> None:
        with self._lock:
            self._wanted.add(cluster)
            self._lost.discard(cluster)

    def epoch(self, cluster: str) -> int | None:
        with self._lock:
            if cluster in self._lost:
                raise Deposed
            return self._epochs.get(cluster)

    def holders(self, cluster: str) -> str | None:
        with self._lock:
            return self._others.get(cluster) or next(iter(self._others.values()), None)

    def give_up(self, *clusters: str) -> None:
        with self._lock:
            some = clusters or tuple(self._wanted)
            epochs = [self._epochs.pop(one) for one in some if one in self._epochs]
            self._wanted -= set(some)
        if not epochs:
            return
        try:
            with self._database.session() as connection:
                connection.execute(_GIVE_UP, (epochs,))
        except DatabaseUnreachable as why:
            log.warning("lease_not_given_up", extra={"fields": {"clusters": list(some), "why": str(why)}})

    def look(self) -> float:
        """Renews what is held and takes what is free. PartFailed where the job waits and the database does not answer:
        of what it holds the job itself says so."""
        try:
            try:
                self._renew()
            except DatabaseUnreachable:
                self._renew()  # its session alone may have ended
            self._take()
        except DatabaseUnreachable as why:
            self._over_since_s.clear()  # in an outage of the database no lease is seen to end
            with self._lock:
                waits = self._wanted - self._epochs.keys() - self._lost
            if waits:
                raise PartFailed(str(why), LOOK_EVERY_S) from why
        return LOOK_EVERY_S

    def _renew(self) -> None:
        with self._lock:
            mine = dict(self._epochs)
        if not mine or self._clock_s() - self._renewed_s < RENEW_EVERY_S:
            return
        with self._database.session() as connection:
            kept = {row[0] for row in connection.execute(_RENEW, (self._lasts_s, list(mine.values())))}
        self._renewed_s = self._clock_s()
        with self._lock:
            lost = sorted(name for name in mine.keys() - kept if self._epochs.get(name) == mine[name])
            self._lost.update(lost)
            for name in lost:
                del self._epochs[name]
        if lost:
            log.error("lease_lost", extra={"fields": {"clusters": lost}})

    def _take(self) -> None:
        with self._lock:
            wanted = sorted(self._wanted - self._epochs.keys() - self._lost)
        if not wanted:
            return
        with self._database.session() as connection:
            others = self._in_the_way(connection, wanted)
            with self._lock:
                self._others = others
            if others:
                return
            taken = self._taken(connection, wanted)
        with self._lock:
            self._epochs.update(taken)
            unwanted = taken.keys() - self._wanted  # given up meanwhile
        if taken:
            self._renewed_s = self._clock_s()
            log.info("lease_taken", extra={"fields": {"clusters": wanted}})
        if unwanted:
            self.give_up(*unwanted)

    def _taken(self, connection: Connection, wanted: Collection[str]) -> dict[str, int]:
        """All of them, in one transaction; none if another job came first."""
        with connection.transaction():
            # Who waits for a writer's row here keeps holders of other clusters from renewing.
            connection.execute("set local lock_timeout = '1s'")
            connection.execute("lock table rebalance_monitor.leases in share row exclusive mode")
            if self._in_the_way(connection, wanted):
                return {}
            taken = {name: claim(connection, name) for name in wanted}
            for name, epoch in taken.items():
                connection.execute(_TAKE, (name, epoch, self._holder, self._lasts_s))
        return taken

    def _in_the_way(self, connection: Connection, wanted: Collection[str]) -> dict[str, str]:
        """Clusters whose lease is not over for long enough, each with its holder."""
        rows: list[Any] = connection.execute(_OTHERS, (list(wanted), self._holder)).fetchall()
        now_s = self._clock_s()
        over = {cluster for cluster, _, _, runs in rows if not runs}
        since_s = {cluster: self._over_since_s.get(cluster, now_s) for cluster in over}
        self._over_since_s = since_s
        return {
            cluster: holder
            for cluster, holder, given_up, runs in rows
            if not given_up and (runs or now_s - since_s[cluster] < OVER_FOR_S)
        }
