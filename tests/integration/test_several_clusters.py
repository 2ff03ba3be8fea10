"""One job over three clusters: what one of them refuses, or does not answer, is its own, and the others are read on.
Then one is added and one is taken out, while the job runs."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from lab.process import Child
from tests.integration.secured import Secured, client, secured
from tests.integration.watched import Watched, own_lab
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
OTHER_ID = "BBBBBBBBBBBBBBBBBBBBBB"


@pytest.fixture(scope="module")
def first() -> Iterator[Secured]:
    with secured("several-clusters", {"monitor": "right"}) as made:
        yield made


@pytest.fixture(scope="module")
def second() -> Iterator[Watched]:
    with own_lab("several-clusters-second") as lab:
        yield Watched(lab, cluster_id=OTHER_ID)


def said(job: Child, event: str) -> list[dict[str, Any]]:
    """Lines of the job's log about this event."""
    lines = (json.loads(line) for line in job.log.read_text().splitlines() if line.startswith("{"))
    return [line for line in lines if line.get("event") == event]


def unmet(watched: Watched, group: str) -> list[bool]:
    """Whether each incident of what is expected of the group is open."""
    with psycopg.connect(watched.postgres.dsn) as database:
        rows = database.execute(
            "select resolved_at_ms is null from rebalance_monitor.incidents"
            """ where rule = 'fewer_members_than_expected' and "group" = %s""",
            (group,),
        ).fetchall()
    return [row[0] for row in rows]


def test_one_refused_one_hung_and_the_third_as_always(first: Secured, second: Watched) -> None:
    watched = first.watched
    healthy = {"name": "healthy", "bootstrap_servers": watched.broker.address}
    hung = {"name": "hung", "bootstrap_servers": second.broker.address}
    refused = {"name": "refused", "bootstrap_servers": first.address, "client": client("monitor", "wrong")}

    def waits_for(what: str, condition: Any) -> None:
        watched.lab.wait_for(what, condition, job, PATIENCE_S)

    def ready(cluster: str) -> bool:
        return watched.readiness(cluster)[0] == 200

    with watched.job("monitor", clusters=[healthy, hung, refused]) as job:
        waits_for("both that can be read are ready", lambda: ready("healthy") and ready("hung"))
        status, told = watched.readiness()
        assert status == 200
        assert told["watched"] == ["healthy", "hung", "refused"]
        assert list(told["clusters"]) == ["refused"]
        assert "refuses this client" in told["clusters"]["refused"]
        assert watched.readiness("refused")[0] == 503
        assert watched.metric('rebalance_monitor_ready{cluster="refused"}') == [
            'rebalance_monitor_ready{cluster="refused"} 0.0'
        ]
        assert "wrong" not in job.log.read_text().replace("wrong password", "")

        second.rebalance("before")
        watched.rebalance("with-all")
        waits_for("rows of both", lambda: watched.groups("hung") and "with-all" in watched.groups("healthy"))

        os.kill(second.broker.child.pid, signal.SIGSTOP)
        try:
            waits_for("hung is not ready", lambda: watched.readiness("hung")[0] == 503)
            for number in range(3):
                watched.rebalance(f"beside-{number}")
                waits_for("its row", lambda number=number: f"beside-{number}" in watched.groups("healthy"))
            assert ready("healthy")
            assert watched.readiness()[0] == 200  # the hung one has alerts of its own
        finally:
            os.kill(second.broker.child.pid, signal.SIGCONT)
        waits_for("hung is ready again", lambda: ready("hung"))
        second.rebalance("after")
        waits_for("nothing of it is lost", lambda: watched.groups("hung") >= {"before", "after"})

        # The refused one gets its right password and turns out to be the first cluster again; the second one goes.
        mended = {**refused, "client": client("monitor", "right")}
        watched.configuration(clusters=[healthy, mended])
        os.kill(job.pid, signal.SIGHUP)
        waits_for("hung is forgotten", lambda: watched.metric('rebalance_monitor_ready{cluster="hung"}') == [])
        waits_for(
            "one cluster is watched once",
            lambda: "are one Kafka cluster" in str(watched.readiness("refused")[1].get("clusters")),
        )
        assert watched.readiness("hung")[0] == 404
        watched.rebalance("and-on")
        waits_for("its row", lambda: "and-on" in watched.groups("healthy"))

        watched.configuration(clusters=[healthy, hung], http={"host": "127.0.0.1", "port": 1})
        os.kill(job.pid, signal.SIGHUP)
        waits_for("hung is back", lambda: watched.readiness("hung")[0] == 200)
        assert said(job, "configuration_read")[-1]["needs_restart"] == ["http"]
        second.rebalance("again")
        waits_for("it is read on", lambda: "again" in watched.groups("hung"))

        expects = {"team": "readers", "cluster": "hung", "match": "again", "members_at_least": 1}
        for entries, is_open in (([expects], [True]), ([], [False])):
            watched.configuration(clusters=[healthy, hung], groups=entries)
            os.kill(job.pid, signal.SIGHUP)
            waits_for("what is expected of it counts at once", lambda wanted=is_open: unmet(watched, "again") == wanted)

        (watched.lab.folder / "monitor.yaml").write_text("clusters: 7\n")
        os.kill(job.pid, signal.SIGHUP)
        waits_for("the file is refused", lambda: said(job, "configuration_not_read"))
        assert ready("healthy")
        assert len(said(job, "session_started")) == 1
        starts = [line["cluster"] for line in said(job, "query_starts")]
        assert starts.count("healthy") == 1
