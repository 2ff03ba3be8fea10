"""A job that is killed in the middle of an archive's file and, the next time, in the middle of a cut.

Each generation is in the archive and in the summaries once, and the last one of each group is still there.

The records are those of a capture, moved to days that are over for long enough to be cut.
"""

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from lab.chaos.cutting import CUT, DETACHED, HALF_A_FILE
from lab.sessions import end_session
from rebalance_monitor.streaming.core.columns import DAY_MS
from tests.integration.spark_cluster import GROUPS, NO_POLLING, TOPIC, write
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
PROGRAM = (sys.executable, "-m", "lab.chaos.killing_job")
THERE = 'select "group", count(*) from rebalance_monitor.generations group by 1'
COUNTED = "select \"group\", sum(count)::int from rebalance_monitor.daily_summaries where kind = 'grade' group by 1"
DAYS = "select count(*), count(dropped_at) from rebalance_monitor.cuts"


def asked(watched: Watched, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(watched.postgres.dsn) as database:
        return database.execute(statement.encode()).fetchall()


def archived(folder: Path) -> Counter[object]:
    """Generations by group, as the files have them."""
    groups = [group for path in folder.rglob("*.parquet") for group in pq.read_table(path)["group"].to_pylist()]
    return Counter(groups)


def test_a_kill_in_a_cut_loses_and_doubles_nothing(watched: Watched, tmp_path: Path) -> None:
    write(watched, newest_ms=time.time_ns() // 1_000_000 - 3 * DAY_MS)
    archive = tmp_path / "archive"
    path = watched.configuration(
        source={"offsets_topic": TOPIC, "heartbeat_ms": 2_000}, polling=NO_POLLING, page={"enabled": False},
        storage={"keep": "1d", "archive": str(archive)},
    )  # fmt: skip
    command = [*PROGRAM, str(path), str(tmp_path)]
    with watched.process("half-a-file", command) as job:
        watched.wait_ready(job)
        before = dict(asked(watched, THERE))
        assert before.keys() == set(GROUPS)
        (tmp_path / HALF_A_FILE).touch()
        (tmp_path / CUT).touch()
        job.process.wait(PATIENCE_S)
        end_session(job.pid)
    assert dict(asked(watched, THERE)) == before, "nothing goes before its file is whole"
    assert archived(archive) == Counter()
    (tmp_path / DETACHED).touch()
    with watched.process("detached", command) as job:
        job.process.wait(PATIENCE_S)
        end_session(job.pid)
    assert asked(watched, DAYS) == [(1, 0)], "a day has left the tables and is not counted yet"
    with watched.process("goes-on", command) as job:
        watched.lab.wait_for("all is cut", lambda: dict(asked(watched, COUNTED)) == before, job, PATIENCE_S)
    assert dict(asked(watched, THERE)) == dict.fromkeys(GROUPS, 1)
    assert archived(archive) == Counter(before)
    ((noted, dropped),) = asked(watched, DAYS)
    assert noted == dropped
