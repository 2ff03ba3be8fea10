"""A topic is deleted while the monitor has read only part of it: what it knew of and had not read is a gap.

The reader is slowed down by its limit, so that there is something unread for minutes.
"""

import json

import httpx
import psycopg
import pytest

from lab import config_topic
from lab.process import Child
from tests.integration.gaps_told import Gap, agree, degraded, events, gaps, told
from tests.integration.taking_away import delete, ends
from tests.integration.watched import PATIENCE_S, Watched

pytestmark = pytest.mark.integration
GROUP, CONFIGS, STATUSES = "sinks", "sinks-configs", "sinks-status"
RECORDS = 4_000
BYTES_PER_S = 20_000
TRACE = "a trace long enough to take its time " * 10
SLOW = {"heartbeat_ms": 2_000, "max_bytes_per_second_per_broker": BYTES_PER_S}
TOPICS = {"config_topic": CONFIGS, "status_topic": STATUSES}


def write_statuses(watched: Watched) -> None:
    """Far more than the reader takes in the time of the test."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": watched.broker.address, "log_level": 0})
    value = json.dumps({"state": "FAILED", "trace": TRACE, "worker_id": "w:1", "generation": 1}).encode()
    for number in range(RECORDS):
        producer.produce(STATUSES, key=f"status-task-alpha-{number % 5}".encode(), value=value)
    assert producer.flush(30) == 0


def position(watched: Watched) -> int:
    """The next offset to read of the status topic."""
    with psycopg.connect(watched.postgres.dsn) as database:
        row = database.execute(
            "select next_offset from rebalance_monitor.positions where topic = %s order by next_offset desc limit 1",
            (STATUSES,),
        ).fetchone()
    return 0 if row is None else int(row[0])


def by_api(job: Child) -> list[Gap]:
    """The gaps of the topic, as the page's API lists them."""
    url = events(job, "page")[-1]["url"].rstrip("/")
    answer = httpx.get(f"{url}/api/v1/gaps", params={"cluster": "own", "topic": STATUSES}, timeout=20)
    names = ("topic", "partition", "from_offset", "to_offset", "reason")
    return [tuple(one["gap"][name] for name in names) for one in answer.json()["items"]]


def test_what_was_known_of_a_deleted_topic_and_not_read_is_a_gap(watched: Watched) -> None:
    config_topic.create(watched.broker.address, {CONFIGS: 1, STATUSES: 1})
    watched.rebalance("first")
    clusters = [{"name": "own", "bootstrap_servers": watched.broker.address, "connect": {GROUP: TOPICS}}]
    with watched.job("first", clusters=clusters, source=SLOW) as job:
        watched.wait_ready(job)
        watched.lab.wait_for("the page", lambda: bool(events(job, "page")), job, PATIENCE_S)
        write_statuses(watched)
        (end,) = ends(watched, STATUSES).values()
        assert end == RECORDS
        watched.lab.wait_for("some are read", lambda: position(watched) > 0, job, PATIENCE_S)
        before = position(watched)
        delete(watched, STATUSES)
        watched.lab.wait_for("a gap", lambda: bool(gaps(watched)), job, PATIENCE_S)
        (gap,) = gaps(watched)
        assert (gap[0], gap[1], gap[3], gap[4]) == (STATUSES, 0, end, "topic_deleted")
        assert before <= gap[2] < end, "what was read is not lost"
        assert position(watched) == end
        assert told(job) == {gap}
        agree(watched, job, {gap}, STATUSES)
        assert f"{STATUSES}: no_such_topic" in degraded(watched)
        assert by_api(job) == [gap]
        watched.wait_ready(job)
        watched.rebalance("second")
        watched.wait_for_group("second", job)
    assert job.process.returncode == 0
    with watched.job("again", clusters=clusters, source=SLOW) as job:
        watched.wait_ready(job)
        agree(watched, job, {gap}, STATUSES)
        assert gaps(watched) == [gap], "found once"
        assert not told(job)
