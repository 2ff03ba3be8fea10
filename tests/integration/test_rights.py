"""Which rights the monitor's user needs on a cluster with ACLs, and what it says while they are missing."""

from collections.abc import Iterator
from typing import Any

import pytest

from lab.cluster import config_topic
from rebalance_monitor.streaming.config.rights import rights_of
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.polling.asking_progress import GroupRefused, KafkaProgress
from rebalance_monitor.streaming.supervision import PartFailed
from tests.integration.secured import Secured, client, secured
from tests.integration.watched import TOPIC
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.integration
GROUP, CONFIGS, STATUSES = "sinks", "sinks-configs", "sinks-status"
PASSWORD = "open sesame"
CONNECT = {GROUP: {"config_topic": CONFIGS, "status_topic": STATUSES}}
SETTINGS = Settings.model_validate({"clusters": [{"name": "own", "bootstrap_servers": "k:1", "connect": CONNECT}]})
RIGHTS = rights_of(SETTINGS, SETTINGS.clusters[0])
"""Those of Read first."""


@pytest.fixture(scope="module")
def stage() -> Iterator[Secured]:
    with secured("rights", {"monitor": PASSWORD}) as made:
        yield made


def cluster(stage: Secured, password: str) -> list[dict[str, Any]]:
    """Over TLS, with SCRAM."""
    properties = {**stage.scram("monitor", PASSWORD), "sasl.password": password}
    given = {"name": "own", "bootstrap_servers": stage.tls_address, "client": properties}
    return [{**given, "connect": CONNECT}]


def test_a_wrong_password_is_one_sentence_without_it(stage: Secured) -> None:
    with stage.watched.job("wrong-password", clusters=cluster(stage, "guess")) as job:
        assert job.process.wait(PATIENCE_S) == 2
    said = job.log.read_text()
    assert "Authentication failed" in said.splitlines()[-1]
    assert "correct clusters[].client, or what the cluster knows of its user" in said.splitlines()[-1]
    assert "Traceback" not in said
    assert "guess" not in said


def test_a_group_whose_offsets_brokers_refuse_is_told_apart_from_brokers_that_fail(stage: Secured) -> None:
    ask = KafkaProgress({"bootstrap.servers": stage.address, **client("monitor", PASSWORD)})
    with pytest.raises(GroupRefused):
        ask.committed("anybody")
    stage.watched.rebalance("known")
    everybody = KafkaProgress({"bootstrap.servers": stage.watched.broker.address})
    assert everybody.committed("known") == {}, "it has read nothing"
    with pytest.raises(PartFailed, match="did not say where topics end"):
        ask.ends({(TOPIC, 0)})


def test_read_on_three_topics_is_enough_and_each_missing_right_is_named(stage: Secured) -> None:
    watched = stage.watched
    config_topic.create(watched.broker.address, {CONFIGS: 1, STATUSES: 1})
    watched.rebalance("before")
    with watched.job("rights", clusters=cluster(stage, PASSWORD)) as job:
        watched.wait_not_ready(job, "__consumer_offsets (not_authorized)")
        stage.grant("monitor", "__consumer_offsets", "read")
        watched.wait_for_group("before", job)
        watched.wait_ready(job)
        status, body = watched.readiness()
        assert (status, body["degraded"]) == (
            200,
            {"own": [f"{CONFIGS}: not_authorized", f"{STATUSES}: not_authorized"]},
        )
        stage.grant("monitor", CONFIGS, "read")
        stage.grant("monitor", STATUSES, "read")
        watched.lab.wait_for("nothing degraded", lambda: "degraded" not in watched.readiness()[1], job, PATIENCE_S)
        watched.rebalance("after")
        watched.wait_for_group("after", job)
        # Its topic may not be described, so brokers leave it out: how many partitions it has is inferred.
        inferred = [("explainable", "partition counts inferred from the assignment itself: events")]
        watched.lab.wait_for("judged", lambda: watched.verdicts("after") == inferred, job, PATIENCE_S)
        # Of groups that it may not describe it has no lag, and says so.
        assert set(watched.readiness()[1].get("parts", {})) <= {"progress"}
        for right in RIGHTS[3:]:
            stage.allow("monitor", right.kind.resource, right.name, right.kind.operation)
        until(lambda: stage.rules("monitor") == len(RIGHTS))
        watched.lab.wait_for("all rights", lambda: "parts" not in watched.readiness()[1], job, PATIENCE_S)
        watched.rebalance("last")
        watched.wait_for_group("last", job)
        watched.lab.wait_for("judged by counts", lambda: watched.verdicts("last") != [], job, PATIENCE_S)
        ((_, reason),) = watched.verdicts("last")
        assert "inferred" not in reason
    assert "sesame" not in job.log.read_text()
