"""Who is the writer of a cluster, and whose turn it is to notify a receiver.

A job that takes the lease of a cluster (`lease`) claims its next writer epoch. Only the job that holds a cluster's
latest epoch writes its batches and notifies receivers of it. A turn belongs to one job at a time:

    old job   turn begins, POST, mark, turn ends | next turn: another epoch, stops
    new job        claims the epoch,  waits for the turn | turn begins, reads what is unmarked, POST, mark

A turn is one transaction with an advisory lock for the receiver. PostgreSQL ends it with the connection of a killed
job, and after `TURN_MS` that of a job which is frozen in a turn.
"""

import hashlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from rebalance_monitor.streaming.core.fold.state import STATE_VERSION
from rebalance_monitor.streaming.core.ports import Deposed
from .database import Connection, Database, DatabaseUnreachable

UNREADABLE = 0
"""The version of a state that no release reads: its group begins anew."""
TURN_MS = 60_000
"""A receiver may take so long for one attempt; nobody's batch waits for that."""


class TurnTaken(Exception):
    """Another job has its turn at this receiver now."""


def claim(connection: Connection, cluster: str) -> int:
    """A new epoch of the cluster, which deposes every earlier writer of it. It is a time in µs, so that no writer of
    another database has the same one.

    Groups whose state this release cannot read are due at once: what they left open has to end.
    """
    with connection.transaction():
        connection.execute(
            "update rebalance_monitor.states set due_ms = 0 where cluster = %s and version <> %s",
            (cluster, STATE_VERSION),
        )
        connection.execute("lock table rebalance_monitor.writer in share row exclusive mode")  # an epoch is used once
        row = connection.execute(
            "insert into rebalance_monitor.writer (cluster, epoch)"
            " select %s, greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint, max(epoch) + 1)"
            " from rebalance_monitor.writer"
            " on conflict (cluster) do update set epoch = excluded.epoch, claimed_at = now() returning epoch",
            (cluster,),
        ).fetchone()
    assert row is not None
    return int(row[0])


def identify(connection: Connection, epoch: int, cluster_id: str, *, begin_anew: bool) -> str | None:
    """Notes which Kafka cluster has the name of which this is the writer's epoch. The id of another one that had it
    before: then nothing is noted, unless its groups are to begin anew, which ends what they left open. Deposed."""
    with connection.transaction():
        (cluster,) = clusters_of(connection, (epoch,))
        row = connection.execute(
            "select cluster_id from rebalance_monitor.writer where cluster = %s for update", (cluster,)
        ).fetchone()
        before = None if row is None or row[0] == cluster_id else row[0]
        if before is not None and not begin_anew:
            return str(before)
        connection.execute(
            "update rebalance_monitor.writer set cluster_id = %s where cluster = %s", (cluster_id, cluster)
        )
        if before is not None:
            connection.execute(
                "update rebalance_monitor.states set version = %s, due_ms = 0 where cluster = %s", (UNREADABLE, cluster)
            )
    return before


def check_epoch(connection: Connection, epoch: int, *, lock: bool = False) -> None:
    """Raises Deposed when another epoch of the cluster was claimed. `lock`: nobody can claim until the transaction
    ends."""
    clusters_of(connection, (epoch,), lock=lock)


def clusters_of(connection: Connection, epochs: Collection[int], *, lock: bool = False) -> list[str]:
    """The clusters of these epochs, but for those that another job has claimed since. Raises Deposed where none is
    left. `lock`: nobody can claim them until the transaction ends."""
    statement = "select cluster from rebalance_monitor.writer where epoch = any(%s) order by cluster"
    rows = connection.execute(statement + (" for share" if lock else ""), (list(epochs),)).fetchall()
    if not rows:
        named = ", ".join(map(str, sorted(epochs)))
        raise Deposed(f"nothing belongs to the writer with epoch {named} any more; another job has taken over")
    return [str(row[0]) for row in rows]


@contextmanager
def turn(
    connection: Connection, receiver: str, epochs: Collection[int], frozen_after_ms: int = TURN_MS
) -> Iterator[list[str]]:
    """One attempt at a receiver, its mark included; the clusters that it may be told of. Raises TurnTaken or Deposed
    before the block begins.

    An epoch may be claimed while the block runs. The mark is still written: it says what the receiver has, and the new
    writer reads it after this turn.
    """
    with connection.transaction():
        connection.execute(f"set local idle_in_transaction_session_timeout = {frozen_after_ms}")
        row = connection.execute("select pg_try_advisory_xact_lock(%s)", (_lock_number(receiver),)).fetchone()
        if row is None or not row[0]:
            raise TurnTaken(receiver)
        yield clusters_of(connection, epochs)


def _lock_number(receiver: str) -> int:
    """A number of 64 bits with a sign, as PostgreSQL names advisory locks; the same in every job of a database."""
    digest = hashlib.sha256(f"rebalance_monitor.notify:{receiver}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class Writer:
    """Whether this job is still a writer, asked on a connection of its own. `epochs`: what it has claimed up to now."""

    def __init__(self, dsn: str, epochs: Collection[int]) -> None:
        self._database, self._epochs = Database(dsn), epochs

    def leads(self) -> bool:
        """False when all were claimed by others, and while the database cannot say."""
        try:
            with self._database.session() as connection:
                clusters_of(connection, self._epochs)
        except (Deposed, DatabaseUnreachable):
            return False
        return True

    def close(self) -> None:
        self._database.close()
