"""Share groups of Kafka's own clients on a real broker: every target is judged and right, and nothing is found."""

from pathlib import Path

import psycopg
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from lab.cluster import jars, java
from lab.process import Child
from lab.share.__main__ import take
from lab.share.story import start
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.replay import replay
from tests.integration.watched import Live, own_lab
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP, TOPIC = "sharers", "shared-clicks"
SAID = (
    "select jsonb_array_length(document -> 'members'), grade, coalesce(reason, '') from rebalance_monitor.generations"
    " where \"group\" = %s and lifecycle = 'share' order by generation"
)
STATE = 'select state from rebalance_monitor.groups where "group" = %s'
INCIDENTS = 'select code, message from rebalance_monitor.incidents where "group" = %s'


def test_every_target_of_real_share_groups_matches(tmp_path: Path) -> None:
    with own_lab("share-groups") as lab:
        take(lab, tmp_path, steps=8, seed=3)
    objects = replay(records_of(tmp_path), settings_of(tmp_path), knowledge=knowledge_of(tmp_path)).objects
    assert {one["kind"] for one in objects} == {"generation", "summary"}
    targets = [one for one in objects if one["kind"] == "generation"]
    assert targets
    assert [one["verdict"] for one in targets if one["verdict"]["grade"] != "match"] == []
    assert {one["group"] for one in targets} == {"share-equal", "share-mixed"}
    causes = {cause["kind"] for one in targets for cause in one["cause"]}
    assert {"member_joined", "partitions_initialized"} <= causes
    assert "unknown" not in causes


def test_a_real_share_group_under_a_real_job(live: Live) -> None:
    watched, job = live
    admin = AdminClient({"bootstrap.servers": watched.broker.address, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, 4, 1)])[TOPIC].result(PATIENCE_S)
    runtime = java.find()

    def begin(name: str, members: int) -> Child:
        subscribed = [TOPIC] * members
        path = jars.fetch(runtime)
        return start(watched.lab, runtime, path, watched.broker.address, name, group=GROUP, members=subscribed)

    def told(query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(watched.postgres.dsn) as database:
            return database.execute(query, (GROUP,)).fetchall()

    def of(members: int, state: str) -> bool:
        targets = told(SAID)
        return bool(targets) and targets[-1][0] == members and told(STATE) == [(state,)]

    first = begin("sharer-1", 1)
    watched.lab.wait_for("a target for one", lambda: of(1, "Stable"), job, PATIENCE_S)
    second = begin("sharer-2", 2)
    watched.lab.wait_for("a target for three", lambda: of(3, "Stable"), job, PATIENCE_S)
    second.terminate()
    watched.lab.wait_for("a target for one again", lambda: of(1, "Stable"), job, PATIENCE_S)
    first.terminate()
    watched.lab.wait_for("nobody left", lambda: told(STATE) == [("Empty",)], job, PATIENCE_S)
    assert {one[1:] for one in told(SAID)} == {("match", "")}
    assert told(INCIDENTS) == []
