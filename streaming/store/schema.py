"""The schema in which the tables are: `rebalance_monitor`, as every statement says, or another one, which a connection
text names and which then stands in its place in each statement.

The name travels with the connection text, as a setting of the session that PostgreSQL keeps and nobody reads:
`options=-c rebalance_monitor.schema=candidate`. So whoever is given the text, in this process or in another one, works
in that schema.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

LIVE = "rebalance_monitor"
_SETTING = re.compile(r" ?-c ?rebalance_monitor\.schema=(\w+)")
_NAMED = re.compile(rf"\b{LIVE}\b")


def in_schema(dsn: str, schema: str) -> str:
    """The connection text whose sessions work in this schema."""
    options = _SETTING.sub("", str(conninfo_to_dict(dsn).get("options") or ""))
    return make_conninfo(dsn, options=f"{options} -c rebalance_monitor.schema={schema}".strip())


def schema_of(dsn: str) -> str:
    """The schema that a connection text names."""
    found = _SETTING.search(str(conninfo_to_dict(dsn).get("options") or ""))
    return LIVE if found is None else found[1]


class _Placed:
    """A cursor whose statements say another schema than they were written with."""

    schema: str

    def _in_schema(self, query: Any) -> Any:
        if isinstance(query, bytes):
            return _NAMED.sub(f'"{self.schema}"', query.decode()).encode()
        return _NAMED.sub(f'"{self.schema}"', query) if isinstance(query, str) else query

    def execute(self, query: Any, *given: Any, **named: Any) -> Any:
        return super().execute(self._in_schema(query), *given, **named)  # type: ignore[misc]

    def executemany(self, query: Any, *given: Any, **named: Any) -> Any:
        return super().executemany(self._in_schema(query), *given, **named)  # type: ignore[misc]

    def stream(self, query: Any, *given: Any, **named: Any) -> Iterable[Any]:
        yield from super().stream(self._in_schema(query), *given, **named)  # type: ignore[misc]

    def copy(self, query: Any, *given: Any, **named: Any) -> Any:
        return super().copy(self._in_schema(query), *given, **named)  # type: ignore[misc]


@cache
def _cursors(schema: str) -> tuple[Any, Any]:
    placed = {"schema": schema}
    return (
        type("Cursor", (_Placed, psycopg.Cursor), placed),
        type("ServerCursor", (_Placed, psycopg.ServerCursor), placed),
    )


def place(connection: psycopg.Connection[Any], schema: str) -> None:
    """From now on the connection's statements work in this schema."""
    if schema != LIVE:
        connection.cursor_factory, connection.server_cursor_factory = _cursors(schema)


def as_written(connection: psycopg.Connection[Any]) -> psycopg.Cursor[Any]:
    """A cursor whose statements say what they say: `rebalance_monitor` is the live job's schema."""
    return psycopg.Cursor(connection)
