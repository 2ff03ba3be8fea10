"""Tables as data: one statement writes any number of rows, and writing them again changes nothing.

Rows travel as one array per column, so a statement costs one round trip whatever the number of rows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from psycopg import Connection, Cursor

from rebalance_monitor.streaming.core import tables
from rebalance_monitor.streaming.core.columns import WRITER, PublishedTable
from rebalance_monitor.streaming.core.model.published import Object
from .text import fitting, json_text, name

TableRow = tuple[Any, ...]

# Rows in one statement; bounds the memory of arrays on both sides.
CHUNK = 5_000
# Texts go as binary arrays (%b): quoting long texts for a textual array takes longer than the insert.
NEW_DOCUMENT = "update where old.document is distinct from excluded.document"
_ARRAYS = {"text": "%b::text[]", "jsonb": "%b::text[]", "bytea": "%b::bytea[]"}


@dataclass(frozen=True, slots=True)
class Table:
    """Columns with their types in order, the key's columns first; `on_conflict` says what a known key does.

    `moved_at`: a column that an update sets to the moment of its transaction (an insert has it by default). `stays`:
    columns that an update leaves as they are where it brings nothing. `mostly_known`: rows that are there are updated
    before others are inserted, for PostgreSQL writes a lock ahead of each row that it finds when it wants to insert.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    key: int
    on_conflict: str = "nothing"
    moved_at: str = ""
    stays: tuple[str, ...] = ()
    mostly_known: bool = False

    @classmethod
    def of(cls, table: PublishedTable, on_conflict: str = "nothing", **more: Any) -> "Table":
        columns = tuple((column.name, column.plain_type) for column in table.written)
        return cls(table.name, columns, table.key, on_conflict, **more)

    def place(self, column: str) -> int:
        """Where a row has the column."""
        return [name for name, _ in self.columns].index(column)

    def statements(self) -> tuple[str, ...]:
        """Insert from arrays; `update` replaces every column outside the key."""
        names = ", ".join(f'"{name}"' for name, _ in self.columns)
        arrays = ", ".join(_ARRAYS.get(kind, f"%s::{kind}[]") for _, kind in self.columns)
        picks = ", ".join(f'"{name}"::{kind}' for name, kind in self.columns)
        key = ", ".join(f'"{name}"' for name, _ in self.columns[: self.key])
        insert = (
            f"insert into rebalance_monitor.{self.name} as old ({names}) "
            f"select {picks} from unnest({arrays}) as given ({names}) on conflict ({key}) do {self._action()}"
        )
        if not self.mostly_known:
            return (insert,)
        changes = ", ".join(f'"{name}" = given."{name}"::{kind}' for name, kind in self.columns[self.key :])
        known = " and ".join(f'old."{name}" = given."{name}"' for name, _ in self.columns[: self.key])
        update = (
            f"update rebalance_monitor.{self.name} as old set {changes} "
            f"from unnest({arrays}) as given ({names}) where {known}"
        )
        return update, insert

    def _action(self) -> str:
        if self.on_conflict == "nothing":
            return "nothing"
        changes = ", ".join(
            f'"{name}" = coalesce(excluded."{name}", old."{name}")'
            if name in self.stays
            else f'"{name}" = excluded."{name}"'
            for name, _ in self.columns[self.key :]
        )
        if self.moved_at:
            changes += f', "{self.moved_at}" = now()'
        condition = self.on_conflict.removeprefix("update").strip()
        return f"update set {changes} {condition}"

    def write(self, connection: Connection[Any], rows: Iterable[Sequence[Any]]) -> list[Cursor[Any]]:
        """Writes the rows; of several with one key the last counts. Each statement's cursor knows how many rows it
        wrote, once the answer is there."""
        last = {tuple(row[: self.key]): row for row in rows}
        given = list(last.values())
        cursors = []
        for start in range(0, len(given), CHUNK):
            columns = zip(*given[start : start + CHUNK], strict=True)
            kinds = (kind for _, kind in self.columns)
            values = [fitting(column, kind) for column, kind in zip(columns, kinds, strict=True)]
            cursors += [connection.execute(statement, values) for statement in self.statements()]
        return cursors


POSITIONS = Table.of(tables.POSITIONS, "update where old.next_offset < excluded.next_offset", moved_at="updated_at")
STATES = Table(
    "states",
    (
        ("cluster", "text"), ("group", "text"),
        ("original", "bytea"), ("version", "int4"), ("state", "bytea"), ("delta", "bytea"),
        ("delta_first", "int4"), ("delta_left", "int4"), ("due_ms", "int8"),
        ("home", "text"), ("has_topics", "bool"), ("waits", "int4"), ("revision", "int8"), ("newest_day", "int4"),
    ),
    key=2,
    on_conflict="update where old.revision = excluded.revision - 1",
    stays=("newest_day",),
)  # fmt: skip
# A pending verdict gives way to its final one, a final verdict never to a pending one.
STORED_GENERATIONS = Table(
    "stored_generations",
    (
        *((column.name, column.plain_type) for column in tables.GENERATIONS.columns),
        ("content", "text"),
        ("bytes", "jsonb"),
        ("sent", "text"),
    ),
    tables.GENERATIONS.key,
    "update where (old.document, old.content) is distinct from (excluded.document, excluded.content)"
    " and (excluded.pending_until_ms is null or old.pending_until_ms is not null)",
    stays=("sent",),
)
STORED_CONTENTS = Table("stored_contents", (("hash", "text"), ("day", "int4"), ("content", "jsonb")), key=2)
ASSIGNMENTS = Table("stored_assignments", (("hash", "text"), ("day", "int4"), ("blob", "bytea")), key=2)
INCIDENTS = Table.of(tables.INCIDENTS, NEW_DOCUMENT)
INCIDENT_PARTS = Table.of(tables.INCIDENT_PARTS, NEW_DOCUMENT)
OUTBOX = Table.of(tables.OUTBOX)
CONNECTORS_AND_TASKS = Table.of(tables.CONNECTORS_AND_TASKS, NEW_DOCUMENT)
GROUPS = Table.of(tables.GROUPS, mostly_known=True)
GROUP_PROGRESS = Table.of(tables.GROUP_PROGRESS, "update")
UNDECODABLE = Table.of(tables.UNDECODABLE)
GAPS = Table.of(tables.GAPS)


def row(table: PublishedTable, result: object, shown: Object, **given: Any) -> TableRow:
    """The row of a result, whose object is `shown`; `given`: what the writer sets."""
    return _maker(table)(result, shown, given)


@cache
def _maker(table: PublishedTable) -> Callable[[Any, Object, Mapping[str, Any]], TableRow]:
    """A function written for the columns of a table: it runs for each member of each generation."""
    scope: dict[str, Any] = {"name": name, "json_or_null": _json_or_null, "NOTHING": {}}
    values = []
    for number, column in enumerate(table.written):
        if column.value is WRITER:
            value = f"given[{column.name!r}]"
        elif callable(column.value):
            scope[f"value_{number}"], value = column.value, f"value_{number}(result)"
        else:
            *outer, key = str(column.place).split(".")
            held = "shown"
            for one in outer:
                held = f"({held}.get({one!r}) or NOTHING)"
            value = f"{held}.get({key!r})"
        if column.longest:
            value = f"name({value}, {column.longest})"
        elif column.plain_type == "jsonb":
            value = f"json_or_null({value})"
        values.append(f"{value},")
    source = f"def make(result, shown, given):\n    return ({' '.join(values)})"
    exec(compile(source, f"<row of {table.name}>", "exec"), scope)
    made: Callable[[Any, Object, Mapping[str, Any]], TableRow] = scope["make"]
    return made


def _json_or_null(value: Any) -> str | None:
    return None if value is None else json_text(value)
