"""A real PostgreSQL for the whole session, and a fresh database for each test."""

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.postgres_server import postgres_server

_numbers = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Connection text of a server of its own."""
    with postgres_server() as uri:
        yield uri


@pytest.fixture
def dsn(server: str) -> Iterator[str]:
    """An empty database."""
    database = f"test_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create database {database}")
    yield server.replace("/postgres?", f"/{database}?")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"drop database {database} with (force)")


@pytest.fixture
def store(dsn: str) -> Iterator[PostgresStore]:
    """A migrated store."""
    opened = PostgresStore(dsn, "c", undecodable_kept=3)
    opened.migrate()
    yield opened
    opened.close()
