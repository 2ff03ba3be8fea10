"""How the database is asked: through a few read-only connections, one statement at a time, long answers page by page.

The connections are bounded in time (whoever opens them sees to it). A request that finds none free within WAIT_S is
told to come back.
"""

import queue
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, LiteralString, Protocol

import psycopg

from .queries import Listing
from .rows import ListPage

WAIT_S = 3.0


class Unavailable(Exception):
    """The database gives no answer now. One sentence, without a secret."""


class Opened(Protocol):
    """One connection, opened when needed; `streaming.store.database.Database` is one."""

    def session(self) -> AbstractContextManager[psycopg.Connection[Any]]: ...
    def close(self) -> None: ...


class Statements:
    """Runs statements on the given connections; safe for many threads. `trouble`: what a connection raises when it
    can't."""

    def __init__(self, connections: Sequence[Opened], trouble: type[Exception], wait_s: float = WAIT_S) -> None:
        self._all = tuple(connections)
        self._free: queue.LifoQueue[Opened] = queue.LifoQueue()
        for connection in connections:
            self._free.put(connection)
        self._trouble, self._wait_s = trouble, wait_s

    def close(self) -> None:
        for connection in self._all:
            connection.close()

    def _page(
        self,
        listing: Listing,
        conditions: list[LiteralString],
        values: list[Any],
        limit: int,
        after: Sequence[Any] | None,
    ) -> ListPage:
        """Items behind the place `after`."""
        order, ascending = listing.order, listing.ascending
        if after is not None:
            places = ", ".join(f"%s::{kind}" for kind in order.values())
            conditions = [*conditions, f"({', '.join(order)}) {'>' if ascending else '<'} ({places})"]
            values = [*values, *after]
        width = len(listing.item._fields)
        where = f" where {' and '.join(conditions)}" if conditions else ""
        by = ", ".join(name if ascending else f"{name} desc" for name in order)
        rows = self._rows(f"{listing.select}{where} order by {by} limit %s", [*values, limit + 1])
        more = list(rows[limit - 1][width:]) if len(rows) > limit else None
        return ListPage([listing.item(*row[:width]) for row in rows[:limit]], more)

    def _rows(
        self, statement: LiteralString | bytes, values: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        try:
            opened = self._free.get(timeout=self._wait_s)
        except queue.Empty:
            raise Unavailable("too many requests at once; try again in a moment") from None
        try:
            with opened.session() as connection:
                yield connection
        except self._trouble as why:
            raise Unavailable(str(why)) from why
        except psycopg.errors.UndefinedTable as why:
            raise Unavailable("the database holds no tables of the monitor yet; start `run` on it once") from why
        except psycopg.Error as why:
            raise Unavailable(
                f"the database refused a statement ({type(why).__name__}); is it of this version?"
            ) from why
        finally:
            self._free.put(opened)
