"""A job on a standalone cluster of Spark (`spark_cluster`): who folds, and what it says where nobody can."""

import json
import socket

import pytest

from tests.integration.spark_cluster import BOTH, GROUPS, expected, found, notified, sections, standalone, write
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration


def test_both_executors_fold_and_every_row_is_what_replay_says(watched: Watched) -> None:
    written = write(watched)
    given = sections(watched, standalone(watched))
    given["spark"]["conf"] = BOTH
    with watched.job("standalone", **given) as job:
        watched.wait_ready(job)
        lines = [json.loads(line) for line in job.log.read_text().splitlines() if line.startswith("{")]
    batches = [line for line in lines if line.get("event") == "batch" or "bundles" in line]
    together = [line for line in batches if len(line["processes"]) > 1]
    assert together, "two executors folded bundles of one batch"
    assert all(one.startswith(socket.gethostname()) for line in together for one in line["processes"])
    assert written > 50
    assert found(watched.postgres.dsn) == dict.fromkeys(GROUPS, expected())
    rows, keys = notified(watched.postgres.dsn)
    assert rows == keys


@pytest.mark.parametrize(
    ("workers", "environ", "saying"),
    [
        (0, {}, ("no worker of Spark's master at {master} has run an executor of this job for 45 s",)),
        # The master gives up after ten attempts: while the session starts, or just after.
        (
            1,
            {"SPARK_SCALA_VERSION": ""},
            ("Spark at {master} did not start a session", "Spark's master at {master} has removed the application"),
        ),
    ],
    ids=["no worker", "executors that cannot start"],
)
def test_a_cluster_that_runs_nothing_ends_the_job_with_a_sentence(
    watched: Watched, workers: int, environ: dict[str, str], saying: tuple[str, ...]
) -> None:
    master = standalone(watched, workers, **environ)
    with watched.job(f"refused-{workers}", **sections(watched, master)) as job:
        job.process.wait(PATIENCE_S)
    *said, last = job.log.read_text().splitlines()
    assert job.process.returncode == 2, last
    assert last.startswith(tuple("rebalance-monitor: " + one.format(master=master) for one in saying)), last
    assert all(line.startswith("{") for line in said), "what Spark says while it ends are lines of the log, as all else"
