"""The store's contract on each supported version of PostgreSQL: the oldest one, and with RM_LONG=1 each.

All other tests of the database run on the newest one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cluster.postgres_releases import PINNED
from rebalance_monitor.streaming.config.supported import OLDEST_POSTGRESQL, POSTGRESQL
from rebalance_monitor.streaming.store.database import Database
from tests.postgres_server import SWITCH
from tests.profile import size

pytestmark = pytest.mark.postgres
ROOT = Path(__file__).parents[3]
CONTRACT = [
    f"tests/streaming/store/test_{name}.py"
    for name in (
        "migrations", "postgres", "positions", "lease", "retention", "one_day", "dashboard_queries", "runbook_queries",
    )
]  # fmt: skip
EVERYTHING = ["tests/streaming/store", "tests/web", "tests/audit", "--deselect", "tests/web/test_browser.py"]
"""Of the long profile."""


def test_each_supported_version_is_pinned() -> None:
    assert tuple(PINNED) == POSTGRESQL
    assert all(pinned.release.startswith(f"{version}.") for version, pinned in PINNED.items())


@pytest.mark.skipif(SWITCH in os.environ, reason="one version alone is asked for")
def test_the_other_tests_run_on_the_newest(dsn: str) -> None:
    opened = Database(dsn)
    assert str(opened.version()) == POSTGRESQL[-1]
    opened.close()


@pytest.mark.skipif(SWITCH in os.environ, reason="one version alone is asked for")
@pytest.mark.parametrize("version", size((str(OLDEST_POSTGRESQL),), POSTGRESQL))
def test_the_stores_contract_holds(version: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-m", "postgres", *size(CONTRACT, EVERYTHING)],
        cwd=ROOT, env={**os.environ, SWITCH: version, "RM_LONG": "0"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-1_000:]
