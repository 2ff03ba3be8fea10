"""The partitions of the tables that are kept by days.

A day gets its partitions before the first row of it is written, in a transaction of its own: whoever creates one needs
the table for itself, and who has written to it already would wait for ever for another one that wants the same. Today
and tomorrow have theirs early (`history`), so that a batch seldom has to create one, and it never waits long for that.
Rows of a day without a partition go to the one for all others; so do those of days long ago, and of days that cannot
be, by clocks that go wrong.
"""

from collections.abc import Iterable

from psycopg.errors import CheckViolation, LockNotAvailable

from rebalance_monitor.streaming.core.columns import day_of
from .database import Connection

BY_DAY = ("stored_generations", "stored_contents", "stored_assignments")
OTHER = "other"
WAITS = "2s"
"""How long for the tables, which whoever reads them holds as well."""
LOCK = 7_263_549_002
"""Any fixed number does: two processes create one day after the other."""
OLDEST_DAYS, NEWEST_DAYS = 62, 2
"""How far from today a day may lie that gets partitions. A first start finds records of years, a few of each day, and a
query over all partitions holds locks on each of them, of which PostgreSQL has about 6,000."""


class Days:
    """What this process knows of the partitions that are there."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def ensure(self, connection: Connection, days: Iterable[int], now_ms: int) -> None:
        """Partitions for these days, where they may have some. Not inside a transaction."""
        today = day_of(now_ms)
        wanted = {day for day in days if -OLDEST_DAYS <= day - today <= NEWEST_DAYS} - self._seen
        if not wanted:
            return
        for day in sorted(wanted - there(connection)):
            try:
                with connection.transaction():
                    connection.execute(f"set local lock_timeout = '{WAITS}'".encode())
                    connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
                    for table in BY_DAY:
                        connection.execute(
                            f"create table if not exists rebalance_monitor.{partition(table, day)}"
                            f" partition of rebalance_monitor.{table} for values from ({day}) to ({day + 1})".encode()
                        )
            except CheckViolation:
                pass  # rows of that day lie in the partition for all others, and so do those that follow
            except LockNotAvailable:
                wanted.discard(day)  # asked for again
        self._seen |= wanted


def partition(table: str, day: int | str) -> str:
    """The name of a day's partition, or of the one for all others."""
    return f"{table}_{day}"


def there(connection: Connection) -> set[int]:
    """Days that have partitions."""
    rows = connection.execute(
        "select substring(child.relname from '^stored_generations_([0-9]+)$')::int from pg_inherits"
        " join pg_class child on child.oid = inhrelid"
        " where inhparent = 'rebalance_monitor.stored_generations'::regclass"
        " and child.relname ~ '^stored_generations_[0-9]+$'"
    ).fetchall()
    return {int(day) for (day,) in rows}
