"""An executor that is lost in the middle of a bundle's commit: each row once, each notification once.

killed inside the transaction           PostgreSQL rolls back; the other executor folds the bundle
killed after it, before its answer      the other executor finds all of it stored
frozen before it, and thawed after the other executor has committed: it writes nothing
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lab.chaos.killing_job import AFTER, FOUND, FROZEN, INSIDE
from tests.integration.spark_cluster import BOTH, GROUPS, expected, found, notified, sections, standalone, write
from tests.integration.watched import Watched, own_lab
from tests.profile import size
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
PROGRAM = (sys.executable, "-m", "lab.chaos.killing_job")
# How soon the driver gives up an executor that says nothing: by default after two minutes.
SOON = {
    "spark.network.timeout": "10s",
    "spark.network.timeoutInterval": "2s",
    "spark.executor.heartbeatInterval": "2s",
}


@pytest.fixture(params=size([FROZEN], [INSIDE, AFTER, FROZEN]))
def point(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fresh(point: str) -> Iterator[Watched]:
    with own_lab(f"executors-lost-{point}") as lab:
        yield Watched(lab)


def test_every_row_and_notification_is_there_once(fresh: Watched, tmp_path: Path, point: str) -> None:
    (tmp_path / point).touch()
    write(fresh)
    given = sections(fresh, standalone(fresh))
    given["spark"]["conf"] = SOON | BOTH
    with fresh.process(point, [*PROGRAM, str(fresh.configuration(**given)), str(tmp_path)]) as job:
        fresh.lab.wait_for("an executor is lost", lambda: (tmp_path / f"{point}-pids").exists(), job, PATIENCE_S)
        fresh.wait_ready(job)
        assert not (tmp_path / point).exists()
        if point == FROZEN:
            for pid in map(int, (tmp_path / f"{point}-pids").read_text().split()):
                # Who folds first: its Java ends itself, because the driver has given it up.
                with suppress(ProcessLookupError):  # ended by its Java, or with it
                    os.kill(pid, signal.SIGCONT)
                fresh.lab.wait_for("what it finds", (tmp_path / FOUND).exists, job, PATIENCE_S)
            # The positions are at the end of its bundle, or later batches have moved them on.
            assert (tmp_path / FOUND).read_text() in ("AlreadyThere", "OutOfStep")
        assert found(fresh.postgres.dsn) == dict.fromkeys(GROUPS, expected())
        rows, keys = notified(fresh.postgres.dsn)
        assert rows == keys
