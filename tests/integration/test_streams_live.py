"""A real Streams application under a real job: every record is judged; copies that never catch up are one warning."""

from typing import Any

import psycopg
import pytest
from confluent_kafka.admin import AdminClient

from lab.cluster import jars, java
from lab.probing.story import CONFIG, NEVER, RESTORED_PER_S, Story
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
RULE, GROUP = "STREAMS-S19", NEVER
DEADLINE = "STREAMS-S17"
PARTITIONS = 2
"""So many tasks: one of them is to move."""
ENOUGH = 4
"""So many probing rebalances are enough where copies catch up: two for the tasks, and two more."""
GENERATIONS = """
    select member_count, grade, coalesce(reason, ''), pending_until_ms is not null from rebalance_monitor.generations
    where "group" = %s and protocol = 'stream' order by "offset"
"""
INCIDENTS = 'select code, severity, message from rebalance_monitor.incidents where "group" = %s order by code'


def application(story: Story) -> dict[str, Any]:
    """What its user tells the monitor of it."""
    return {
        "release": jars.kafka_release(),
        "assignor": "high_availability",
        "standbys": CONFIG["num.standby.replicas"],
        "warm_ups": CONFIG["max.warmup.replicas"],
        "acceptable_lag": CONFIG["acceptable.recovery.lag"],
        "topology": story.topologies[GROUP],
    }


def test_a_real_application_is_judged_and_copies_that_never_catch_up_warn_once(watched: Watched) -> None:
    admin = AdminClient({"bootstrap.servers": watched.broker.address, "log_level": 0})
    story = Story(
        watched.lab, java.find(), watched.broker.address, {GROUP: RESTORED_PER_S[GROUP]}, partitions=PARTITIONS
    )
    story.begin(admin)

    def told(query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(watched.postgres.dsn) as database:
            return database.execute(query, (GROUP,)).fetchall()

    def warned() -> bool:
        return any((code, severity) == (RULE, "high") for code, severity, _ in told(INCIDENTS))

    sections = {
        "clusters": [
            {"name": "own", "bootstrap_servers": watched.broker.address, "streams": {GROUP: application(story)}}
        ],
        "polling": {"topics_every_ms": 2_000, "progress_every_ms": 2_000},
    }
    with watched.job("streams", **sections) as job:
        watched.wait_ready(job)
        with story.joined():
            watched.lab.wait_for("a warning", warned, job, PATIENCE_S)
    generations = told(GENERATIONS)
    assert {members for members, *_ in generations} == {1, 2}
    final = [(grade, reason) for _, grade, reason, waits in generations if not waits]
    assert len(final) > ENOUGH
    assert {grade for grade, _ in final} <= {"match", "explainable"}, final
    incidents = {code: (severity, message) for code, severity, message in told(INCIDENTS)}
    # The story's interval is one that Kafka refuses: the one incident says that, the other is the warning.
    assert {code: severity for code, (severity, _) in incidents.items()} == {DEADLINE: "info", RULE: "high"}, incidents
    message = incidents[RULE][1]
    assert "what fits: copies restore more slowly than their changelogs are written" in message
    assert "KAFKA-" not in message
