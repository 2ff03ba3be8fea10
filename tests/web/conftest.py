"""A real PostgreSQL, filled once for all tests of the page, and the page served by the real command."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml

from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.postgres_server import postgres_server
from tests.waiting import PATIENCE_S
from tests.web import filled

_numbers = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Connection text of a server of its own."""
    with postgres_server() as uri:
        yield uri


@contextmanager
def database(server: str) -> Iterator[PostgresStore]:
    """A migrated store in a database of its own."""
    name = f"page_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"create database {name}")
    store = PostgresStore(server.replace("/postgres?", f"/{name}?"), "gamma", version="1.2.3")
    store.migrate()
    yield store
    store.close()
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"drop database {name} with (force)")


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled database and the moment that its planted rows count from."""

    store: PostgresStore
    dsn: str
    now_ms: int


@pytest.fixture(scope="session")
def full(server: str) -> Iterator[Filled]:
    """Everything of `tests.web.filled`."""
    with database(server) as store:
        now_ms = int(time.time() * 1000)
        filled.everything(store, now_ms)
        yield Filled(store, dsn_of(store), now_ms)


def dsn_of(store: PostgresStore) -> str:
    with store.database.session() as connection:
        return f"{connection.info.dsn}"


@dataclass(frozen=True, slots=True)
class Serving:
    """`rebalance-monitor serve` as a process."""

    url: str
    pid: int


@contextmanager
def serving(folder: Path, dsn: str, page: dict[str, Any] | None = None, **sections: Any) -> Iterator[Serving]:
    """The page's process, ended with the block."""
    told = {"database": {"dsn": dsn}, "page": {"port": 0, **(page or {})}, **sections}
    path = folder / "monitor.yaml"
    path.write_text(yaml.safe_dump(told), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "rebalance_monitor", "serve", "--config", str(path)],
        stderr=subprocess.PIPE, text=True, env={**os.environ},
    )  # fmt: skip
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("page at http://"), line + process.stderr.read()
        yield Serving(line.removeprefix("page at ").strip().rstrip("/"), process.pid)
    finally:
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


@contextmanager
def served(folder: Path, dsn: str, page: dict[str, Any] | None = None, **sections: Any) -> Iterator[str]:
    """The address of the page's process, which ends with the block."""
    with serving(folder, dsn, page, **sections) as page_served:
        yield page_served.url


@pytest.fixture(scope="session")
def page(full: Filled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of the page on the filled database."""
    window = filled.window(full.now_ms)
    maintenance = [
        {
            "cluster": window.cluster, "groups": window.groups, "owner": window.owner, "reason": window.reason,
            "begins": _rfc(window.from_ms), "ends": _rfc(window.until_ms),
        }
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("page")
    with (
        served(folder, full.dsn, maintenance=maintenance) as url,
        httpx.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        yield client


def _rfc(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms / 1000))
