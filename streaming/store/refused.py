"""How a batch's rows get into their tables: together, or, once PostgreSQL has refused one of them, one by one.

What Kafka allows and PostgreSQL does not is made to fit before (`streaming.store.text`). For the rest no row may stop
the others: a refused row is left out, counted and named by its key.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import Connection, Cursor

from rebalance_monitor.streaming.core.ports import RefusedRow
from .tables import Table

TableRow = tuple[Any, ...]
REFUSED = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded, UnicodeError, OverflowError)
"""A value that does not fit its column, its index or its constraint: the row's own fault."""
NAMED = 1_100
"""Characters of each part of a key that are repeated: an indexed name has no more."""


@dataclass(slots=True)
class Writing:
    """One transaction's way of writing. `one_by_one`: each statement in a savepoint, a refused one again in halves."""

    connection: Connection[Any]
    one_by_one: bool = False
    refused: list[RefusedRow] = field(default_factory=list)

    def table(self, table: Table, rows: Iterable[TableRow]) -> list[Cursor[Any]]:
        """Writes the rows of a table; returns the cursors of the statements that went well."""
        cursors: list[Cursor[Any]] = []
        self.rows(table.name, table.key, list(rows), lambda some: cursors.extend(table.write(self.connection, some)))
        return cursors

    def rows(self, what: str, key: int, rows: Sequence[TableRow], write: Callable[[Sequence[TableRow]], None]) -> None:
        """Writes rows, of which the first `key` values name each, with a statement of their own."""
        if not rows:
            return
        if not self.one_by_one:
            write(rows)
            return
        try:
            with self.connection.transaction():
                write(rows)
        except REFUSED as why:
            if len(rows) == 1:
                self.refused.append(RefusedRow(what, _named(rows[0][:key]), type(why).__name__))
                return
            self.rows(what, key, rows[: len(rows) // 2], write)
            self.rows(what, key, rows[len(rows) // 2 :], write)


def _named(values: TableRow) -> tuple[str, ...]:
    return tuple(str(one)[:NAMED] for one in values)
