"""A live job in which the fold of one group fails: the others are judged, the job stays ready, people are told."""

import json
import os
import sys
from pathlib import Path

import psycopg
import pytest

from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
POISONED, HEALTHY = "poisoned", "healthy"


def test_a_group_whose_fold_fails_costs_the_others_nothing(watched: Watched) -> None:
    command = [sys.executable, "-m", "tests.integration.poisoned_job", str(watched.configuration()), POISONED]
    job = watched.lab.start("poisoned", command, environment={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        watched.wait_ready(job)
        for group in (POISONED, HEALTHY):
            watched.rebalance(group)
            watched.wait_for_group(group, job)
        watched.rebalance(POISONED)

        def counted() -> bool:
            # Two generations failed at least: one for each time that a member was there.
            lines = watched.metric("rebalance_monitor_fold_errors_total")
            return sum(float(line.rpartition(" ")[2]) for line in lines) >= 2

        watched.lab.wait_for("both errors are counted", counted, job, PATIENCE_S)
        assert watched.readiness()[0] == 200
        with psycopg.connect(watched.postgres.dsn) as database:
            told = database.execute(
                'select "group", grade, reason from rebalance_monitor.generations order by at_ms'
            ).fetchall()
            incidents = database.execute(
                "select \"group\", alert, firing, message from rebalance_monitor.incidents where code = 'MONITOR-E1'"
            ).fetchall()
            kept = database.execute('select "group", record from rebalance_monitor.kept_states').fetchall()
            ends = database.execute("select count(*) from rebalance_monitor.positions").fetchall()
        reasons = {(group, (reason or "").startswith("internal error KeyError-")) for group, _, reason in told}
        assert reasons == {(POISONED, True), (HEALTHY, False)}
        ((group, alert, firing, message),) = incidents
        assert (group, alert, firing) == (POISONED, "warning", True)
        assert "__consumer_offsets-" in message
        assert {group for group, _ in kept} == {POISONED}
        assert ends
        assert watched.metric("rebalance_monitor_incident{")
        logged = [json.loads(line) for line in job.log.read_text().splitlines() if '"fold_failed"' in line]
        assert {one["group"] for one in logged} == {POISONED}
        assert sum("trace" in one for one in logged) == 1
    finally:
        job.stop()
