"""A topic is deleted while the monitor has read only part of it: what it knew of and had not read is a gap.

The reader is slowed down by its limit, so that there is something unread for minutes.
"""

import json
from collections.abc import Callable

import psycopg
import pytest

from lab.asking import local
from lab.cluster import config_topic
from lab.process import Child
from tests.integration.gaps_told import Gap, agree, degraded, events, gaps, in_log, told
from tests.integration.taking_away import delete, ends
from tests.integration.told import kill
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.integration
GROUP, CONFIGS, STATUSES = "sinks", "sinks-configs", "sinks-status"
RECORDS = 4_000
BYTES_PER_S = 20_000
TRACE = "a trace long enough to take its time " * 10
SLOW = {"heartbeat_ms": 2_000, "max_bytes_per_second_per_broker": BYTES_PER_S}
TOPICS = {"config_topic": CONFIGS, "status_topic": STATUSES}


def write_statuses(watched: Watched, topic: str = STATUSES) -> None:
    """Far more than the reader takes in the time of the test."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": watched.broker.address, "log_level": 0})
    value = json.dumps({"state": "FAILED", "trace": TRACE, "worker_id": "w:1", "generation": 1}).encode()
    for number in range(RECORDS):
        producer.produce(topic, key=f"status-task-alpha-{number % 5}".encode(), value=value)
    assert producer.flush(PATIENCE_S) == 0


def position(watched: Watched, topic: str = STATUSES) -> int:
    """The next offset to read of a status topic."""
    with psycopg.connect(watched.postgres.dsn) as database:
        row = database.execute(
            "select next_offset from rebalance_monitor.positions where topic = %s order by next_offset desc limit 1",
            (topic,),
        ).fetchone()
    return 0 if row is None else int(row[0])


def known_end(watched: Watched, topic: str) -> int:
    """The end of a topic that the next job will know, -1 where there is none."""
    with psycopg.connect(watched.postgres.dsn) as database:
        row = database.execute("select ends from rebalance_monitor.known_ends").fetchone()
    ends = {} if row is None else row[0]
    return max((end for key, (_, end) in ends.items() if key.startswith(f"{topic}|")), default=-1)


def wait(watched: Watched, job: Child, what: str, condition: Callable[[], bool]) -> None:
    watched.lab.wait_for(what, condition, job, PATIENCE_S)


def by_api(job: Child) -> list[Gap]:
    """The gaps of the topic, as the page's API lists them."""
    url = events(job, "page")[-1]["url"].rstrip("/")
    answer = local().get(f"{url}/api/v1/gaps", params={"cluster": "own", "topic": STATUSES}, timeout=PATIENCE_S)
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
        assert in_log(watched, job, {gap}) == {gap}
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


def test_what_a_killed_job_knew_of_is_a_gap_for_the_next(watched: Watched) -> None:
    """Two topics with unread records are deleted while no job runs; one of them is there again before the next one."""
    gone, anew = "gone-status", "anew-status"
    address = watched.broker.address
    config_topic.create(address, {gone: 1, anew: 1})
    watched.rebalance("third")
    groups = {"gone": {"status_topic": gone}, "anew": {"status_topic": anew}}
    clusters = [{"name": "own", "bootstrap_servers": address, "connect": groups}]
    with watched.job("killed", clusters=clusters, source=SLOW) as job:
        watched.wait_ready(job)
        before = set(gaps(watched))
        for topic in (gone, anew):
            write_statuses(watched, topic)
        both = (gone, anew)
        wait(watched, job, "a part read", lambda: all(position(watched, topic) > 0 for topic in both))
        wait(watched, job, "their ends kept", lambda: all(known_end(watched, topic) == RECORDS for topic in both))
        kill(job)
    read = {topic: position(watched, topic) for topic in (gone, anew)}
    assert all(at < RECORDS for at in read.values()), read
    for topic in (gone, anew):
        delete(watched, topic)
    config_topic.create(address, {anew: 1})
    expected = {(gone, 0, read[gone], RECORDS, "topic_deleted"), (anew, 0, read[anew], RECORDS, "topic_made_anew")}
    with watched.job("after", clusters=clusters, source=SLOW) as job:
        watched.lab.wait_for("both gaps", lambda: set(gaps(watched)) - before == expected, job, PATIENCE_S)
        assert in_log(watched, job, expected) == expected
        for topic in (gone, anew):
            agree(watched, job, {one for one in expected if one[0] == topic}, topic)
        watched.wait_ready(job)
        wait(watched, job, "nothing unread", lambda: known_end(watched, gone) == known_end(watched, anew) == -1)
