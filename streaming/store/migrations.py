"""Numbered SQL files bring the schema up to date, each once, in order, by one process at a time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from psycopg import Connection

# Any fixed number does: it keeps two starting processes from migrating at once.
LOCK = 7_263_549_001


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str


class BadMigrations(Exception):
    """The set of migration files is not 1..n, each once."""


def known() -> tuple[Migration, ...]:
    """The migrations of this version, in order."""
    folder = files("rebalance_monitor.streaming.store") / "sql"
    return ordered([(file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir()])


def ordered(named: Sequence[tuple[str, str]]) -> tuple[Migration, ...]:
    """Checks names and numbering: `0001_what.sql`, no gap, no duplicate."""
    found: list[Migration] = []
    for name, sql in sorted(named):
        match = re.fullmatch(r"(\d{4})_([a-z0-9_]+)\.sql", name)
        if match is None:
            raise BadMigrations(f"{name} is not named like 0001_first.sql")
        found.append(Migration(int(match[1]), match[2], sql))
    numbers = [migration.number for migration in found]
    if numbers != list(range(1, len(numbers) + 1)):
        raise BadMigrations(f"migrations must be numbered 1 to {len(numbers)} without gap or duplicate, not {numbers}")
    return tuple(found)


def migrate(connection: Connection[Any], migrations: Sequence[Migration]) -> tuple[int, ...]:
    """Applies those that are missing, in one transaction; returns their numbers.

    A database that is already newer is left alone: migrations expand before they contract, so this version still works.
    """
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        connection.execute("create schema if not exists rebalance_monitor")
        connection.execute(
            "create table if not exists rebalance_monitor.migrations ("
            " number integer primary key, name text not null, applied_at timestamptz not null default now())"
        )
        applied = {row[0] for row in connection.execute("select number from rebalance_monitor.migrations")}
        missing = [migration for migration in migrations if migration.number not in applied]
        for migration in missing:
            connection.execute(migration.sql.encode())
            connection.execute(
                "insert into rebalance_monitor.migrations (number, name) values (%s, %s)",
                (migration.number, migration.name),
            )
    return tuple(migration.number for migration in missing)
