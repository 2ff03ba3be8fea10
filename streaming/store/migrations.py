"""Numbered SQL files bring the schema up to date, each once, in order, by one process at a time.

Migrations expand, then contract. Releases before one that only adds still run on what it makes; those that use what
another one takes away do not. The first line of a file says which: it names the oldest migration that a release must
know, such as `-- needs 0001`. What a release does with a database that is newer than itself:

    no migration needs a later one than it knows    it runs
    one does                                        it refuses, in one sentence
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from psycopg import Connection

from .database import DatabaseUnreachable

# Any fixed number does: it keeps two starting processes from migrating at once.
LOCK = 7_263_549_001


@dataclass(frozen=True, slots=True)
class Migration:
    """`needs`: a release whose newest migration is this one, or a later one, runs on what it makes."""

    number: int
    name: str
    sql: str
    needs: int = 1


class BadMigrations(Exception):
    """The set of migration files is not 1..n, each once, each with what it needs."""


class NewerSchema(DatabaseUnreachable):
    """A newer release has taken away what this one uses."""


def known() -> tuple[Migration, ...]:
    """The migrations of this version, in order."""
    folder = files("rebalance_monitor.streaming.store") / "sql"
    return ordered([(file.name, file.read_text(encoding="utf-8")) for file in folder.iterdir()])


def ordered(named: Sequence[tuple[str, str]]) -> tuple[Migration, ...]:
    """Checks names and numbering: `0001_what.sql`, no gap, no duplicate; and that each says what it needs."""
    found: list[Migration] = []
    for name, sql in sorted(named):
        match = re.fullmatch(r"(\d{4})_([a-z0-9_]+)\.sql", name)
        if match is None:
            raise BadMigrations(f"{name} is not named like 0001_first.sql")
        found.append(Migration(int(match[1]), match[2], sql, _needs(name, int(match[1]), sql)))
    numbers = [migration.number for migration in found]
    if numbers != list(range(1, len(numbers) + 1)):
        raise BadMigrations(f"migrations must be numbered 1 to {len(numbers)} without gap or duplicate, not {numbers}")
    return tuple(found)


def _needs(name: str, number: int, sql: str) -> int:
    """Of the first one it is plain: there is nothing before it."""
    if number == 1:
        return 1
    said = re.match(r"-- needs (\d{4})\n", sql)
    if said is None or not 1 <= int(said[1]) <= number:
        raise BadMigrations(f"{name} must begin with `-- needs 0001`: the oldest migration that a release must know")
    return int(said[1])


def migrate(connection: Connection[Any], migrations: Sequence[Migration]) -> tuple[int, ...]:
    """Applies those that are missing, in one transaction; returns their numbers.

    A database that is already newer is left alone. NewerSchema where this release cannot run on it.
    """
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        # PostgreSQL asks for the right to create one even where it exists; the monitor's own role need not have it.
        if connection.execute("select to_regnamespace('rebalance_monitor')").fetchone() == (None,):
            connection.execute("create schema rebalance_monitor")
        connection.execute(
            "create table if not exists rebalance_monitor.migrations ("
            " number integer primary key, name text not null, needs integer not null,"
            " applied_at timestamptz not null default now())"
        )
        newest = max(migration.number for migration in migrations)
        newer = connection.execute(
            "select number, name, needs from rebalance_monitor.migrations where needs > %s order by needs desc limit 1",
            (newest,),
        ).fetchone()
        if newer is not None:
            raise NewerSchema(
                f"the database is of a newer release (migration {newer[0]:04} {newer[1]}) on which this one, of"
                f" migration {newest:04}, cannot run; start a release of migration {newer[2]:04} or later, or restore"
                " the database as it was before it (docs/upgrade.md)"
            )
        applied = {row[0] for row in connection.execute("select number from rebalance_monitor.migrations")}
        missing = [migration for migration in migrations if migration.number not in applied]
        for migration in missing:
            connection.execute(migration.sql.encode())
            connection.execute(
                "insert into rebalance_monitor.migrations (number, name, needs) values (%s, %s, %s)",
                (migration.number, migration.name, migration.needs),
            )
    return tuple(migration.number for migration in missing)
