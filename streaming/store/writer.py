"""Who is the writer, and whose turn it is to notify a receiver.

A job claims the writer epoch once, before its first batch. Only the job that holds the latest epoch writes batches,
notifies receivers and sends the heartbeat. A turn belongs to one job at a time:

    old job   turn begins, POST, mark, turn ends | next turn: another epoch, stops
    new job        claims the epoch,  waits for the turn | turn begins, reads what is unmarked, POST, mark

A turn is one transaction with an advisory lock for the receiver. PostgreSQL ends it with the connection of a killed
job, and after `idle_in_transaction_session_timeout` (see `Database`) that of a job which is frozen in a turn.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from rebalance_monitor.streaming.core.ports import Deposed
from .database import Connection, Database, DatabaseUnreachable


class TurnTaken(Exception):
    """Another job has its turn at this receiver now."""


def check_epoch(connection: Connection, epoch: int, *, lock: bool = False) -> None:
    """Raises Deposed when another epoch was claimed. `lock`: nobody can claim until the transaction ends."""
    statement = "select epoch from rebalance_monitor.writer"
    row = connection.execute(statement + (" for share" if lock else "")).fetchone()
    if row is None or row[0] != epoch:
        owner = "nobody" if row is None else f"epoch {row[0]}"
        raise Deposed(f"this writer has epoch {epoch}, but the database belongs to {owner}; another job has taken over")


@contextmanager
def turn(connection: Connection, receiver: str, epoch: int) -> Iterator[None]:
    """One attempt at a receiver, its mark included. Raises TurnTaken or Deposed before the block begins.

    The epoch may be claimed while the block runs. The mark is still written: it says what the receiver has, and the new
    writer reads it after this turn.
    """
    with connection.transaction():
        row = connection.execute("select pg_try_advisory_xact_lock(%s)", (_lock_number(receiver),)).fetchone()
        if row is None or not row[0]:
            raise TurnTaken(receiver)
        check_epoch(connection, epoch)
        yield


def _lock_number(receiver: str) -> int:
    """A number of 64 bits with a sign, as PostgreSQL names advisory locks; the same in every job of a database."""
    digest = hashlib.sha256(f"rebalance_monitor.notify:{receiver}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class Writer:
    """Whether this job is still the writer, asked on a connection of its own."""

    def __init__(self, dsn: str, epoch: int) -> None:
        self._database, self._epoch = Database(dsn), epoch

    def leads(self) -> bool:
        """False when another epoch was claimed, and while the database cannot say."""
        try:
            with self._database.session() as connection:
                check_epoch(connection, self._epoch)
        except (Deposed, DatabaseUnreachable):
            return False
        return True

    def close(self) -> None:
        """Closes the connection."""
        self._database.close()
