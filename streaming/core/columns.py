"""How a published table is declared: its columns, each with its type, its place in the object, and its meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Any

from rebalance_monitor.streaming.core.model.published import meaning

DAY_MS = 86_400_000
LONGEST = 1_000
"""Bytes of a name in an index: cluster (at most 800) and group together stay below PostgreSQL's limit."""
LONGEST_ID = 800
"""Of the name of a connector or task, which shares an index entry with cluster and group."""


def day_of(at_ms: int) -> int:
    """Days since 1970, UTC."""
    return at_ms // DAY_MS


def date_of(day: int) -> str:
    """The date of a day that is counted from 1970 on; `day` and its number where it is none of any calendar."""
    try:
        return (date(1970, 1, 1) + timedelta(days=day)).isoformat()
    except OverflowError:
        return f"day {day}"


class By(Enum):
    """Who sets a column that no object has: who writes the row, or the database and its later updates."""

    WRITER = "writer"
    DATABASE = "database"


WRITER, DATABASE = By.WRITER, By.DATABASE
ColumnValue = str | Callable[[Any], Any] | By


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `type`: PostgreSQL's, with a question mark if it may be null. `value`: its place in the row's object
    (`verdict.grade`; empty: the key of its own name), a function of the result, or who sets it. `says`: its meaning,
    where the object's key does not say it. `longest`: bytes from which on a text is shown by its beginning and a hash.
    """

    name: str
    type: str
    value: ColumnValue = ""
    says: str = ""
    longest: int = 0
    unit: str = ""

    @property
    def plain_type(self) -> str:
        return self.type.removesuffix("?")

    @property
    def measure(self) -> str:
        """The unit of a number; empty where it has none."""
        return self.unit or ("ms since 1970, UTC" if self.name.endswith("_ms") else "")

    @property
    def place(self) -> str | None:
        """Where the object has it; None if it does not."""
        return (self.value or self.name) if isinstance(self.value, str) else None


@dataclass(frozen=True, slots=True, eq=False)
class PublishedTable:
    """One table or view: the columns of its key first. `of`: the class whose objects its rows are made from."""

    name: str
    says: str
    of: type[Any] | None
    key: int
    columns: tuple[Column, ...]

    @property
    def written(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.value is not DATABASE)

    def meaning(self, column: Column) -> str:
        """What a column says, for people."""
        if column.says or self.of is None or column.place is None:
            return column.says
        return meaning(self.of, column.place)
