"""A shadow beside the live job, on a real broker: it goes on from the live job's states, judges the same, and what it
leaves is in its own schema."""

import json
import subprocess

import psycopg
import pytest

from lab.asking import local
from lab.process import Child
from tests.integration.watched import OURS, RUN, Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
SHADOW = "candidate"


def groups(watched: Watched, schema: str) -> set[str]:
    with psycopg.connect(watched.postgres.dsn) as database:
        if database.execute("select to_regclass(%s)", (f"{schema}.generations",)).fetchone() == (None,):
            return set()
        return {one for (one,) in database.execute(f'select "group" from {schema}.generations where member_count > 0')}


def metrics_url(job: Child) -> str:
    """As the log says it; "" before that."""
    lines = [json.loads(line) for line in job.log.read_text().splitlines() if '"event": "metrics"' in line]
    return str(lines[0]["url"]) if lines else ""


def test_it_judges_beside_the_live_job_and_nothing_differs(watched: Watched) -> None:
    webhook = {"webhooks": [{"name": "nobody", "url": "http://127.0.0.1:1/"}]}
    with watched.job("live", alerting=webhook) as live:
        watched.wait_ready(live)
        watched.rebalance("before")
        # What the live job had not judged yet, the shadow would judge.
        watched.lab.wait_for("before is judged", lambda: bool(watched.verdicts("before")), live, PATIENCE_S)
        config = str(watched.lab.folder / "monitor.yaml")
        with watched.process("shadow", [*RUN, config, "--shadow", SHADOW]) as shadow:
            watched.lab.wait_for("where its metrics are", lambda: bool(metrics_url(shadow)), shadow, PATIENCE_S)
            url = metrics_url(shadow).removesuffix("/metrics")
            watched.lab.wait_for(
                "the shadow ready", lambda: local().get(f"{url}/readyz").status_code == 200, shadow, PATIENCE_S
            )
            watched.rebalance("beside")
            for schema, job in (("rebalance_monitor", live), (SHADOW, shadow)):
                watched.lab.wait_for(
                    f"it in {schema}",
                    lambda schema=schema: "beside" in groups(watched, schema),  # type: ignore[misc]
                    job,
                    PATIENCE_S,
                )
            assert local().get(f"{url}/readyz").json()["shadow"] == SHADOW
            assert "\nrebalance_monitor_ready" not in local().get(f"{url}/metrics").text
            shadow.stop()
            assert shadow.process.returncode == 0
        assert watched.readiness()[0] == 200, "the live job did not notice"
        assert groups(watched, SHADOW) == {"beside"}, "it began from the live job's states"
        command = [RUN[0], "compare", SHADOW, "--config", config, "-o", "json"]
        compared = subprocess.run(command, env=OURS, capture_output=True, text=True, check=False)
        assert (compared.returncode, compared.stderr) == (0, "")
        assert json.loads(compared.stdout)["generations"] >= 1
    with psycopg.connect(watched.postgres.dsn) as database:
        assert database.execute(f"select from {SHADOW}.outbox").fetchall() == []
