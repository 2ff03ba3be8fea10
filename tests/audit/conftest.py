"""A real PostgreSQL, filled once from the captures; every test gets a copy of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.audit import filled
from tests.postgres_server import postgres_server
from tests.waiting import PATIENCE_S

_numbers = count(1)
Audit = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Connection text of a server of its own."""
    with postgres_server() as uri:
        yield uri


@pytest.fixture(scope="session")
def template(server: str) -> str:
    """Name of the filled database, with the statistics that a server gathers by itself: without them it reads all."""
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("create database filled")
    store = PostgresStore(at(server, "filled"), version="1.2.3")
    store.migrate()
    filled.everything(store)
    store.close()
    with psycopg.connect(at(server, "filled"), autocommit=True) as filler:
        filler.execute("analyze")
    return "filled"


@pytest.fixture
def dsn(server: str, template: str) -> Iterator[str]:
    """A copy of the filled database."""
    name = f"audited_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}")
    yield at(server, name)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"drop database {name} with (force)")


def at(server: str, name: str) -> str:
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., str]:
    """Writes a configuration; returns its path."""

    def write(database: str | None, **audit: Any) -> str:
        path = tmp_path / "monitor.yaml"
        path.write_text(yaml.safe_dump({"database": {"dsn": database}, "audit": audit}), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def run_audit() -> Audit:
    """`rebalance-monitor audit` as a process; `before`: what the command line begins with."""

    def run(config: str, *more: str, before: tuple[str, ...] = (), **environment: str) -> Any:
        return subprocess.run(
            [*before, sys.executable, "-m", "rebalance_monitor", "audit", "--config", config, *more],
            capture_output=True, text=True, timeout=PATIENCE_S, check=False, env={**os.environ, **environment},
        )  # fmt: skip

    return run
