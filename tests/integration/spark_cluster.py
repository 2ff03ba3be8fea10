"""A standalone cluster of Spark whose workers have one core each, and what it is given to judge.

The records are those of a captured group, written once for each of many group ids; each id's partition is the one where
a broker would put it.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

import psycopg

from lab.cluster.spark import SparkCluster
from rebalance_monitor.streaming.cli.captures import records_of
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.reading.coordinators import home_partition
from rebalance_monitor.streaming.core.replay import replay
from tests.integration.watched import Watched
from tests.vector_files import GROUP_CAPTURES
from tests.waiting import PATIENCE_S

TOPIC, PARTITIONS = "offsets", 8
GROUPS = [f"group-{number}" for number in range(24)]
CAPTURED = "j-roundrobin"
NO_POLLING = {"topics": False, "group_states": False, "progress": False}


# The first batch has most of the records: it waits until both workers run an executor.
BOTH = {
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE_S:.0f}s",
}


def key_of(group: str) -> bytes:
    return b"\0\2" + len(group).to_bytes(2, "big") + group.encode()


def write(watched: Watched, newest_ms: int | None = None) -> int:
    """The captured generations under each group id; how many there are of each. `newest_ms`: the last record's time, if
    it is not that of the capture.
    """
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    client = {"bootstrap.servers": watched.broker.address, "log_level": 0}
    admin = AdminClient(client)  # it must live until the answer comes
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(PATIENCE_S)
    producer = Producer({**client, "enable.idempotence": True})
    captured = [one for one in records_of(GROUP_CAPTURES / "java-classic") if one.key == key_of(CAPTURED)]
    later_ms = 0 if newest_ms is None else newest_ms - captured[-1].timestamp_ms
    for record in captured:
        for group in GROUPS:
            at = home_partition(group, PARTITIONS)
            producer.produce(TOPIC, record.value, key_of(group), at, timestamp=record.timestamp_ms + later_ms)
    assert producer.flush(PATIENCE_S) == 0
    return len(captured)


def standalone(watched: Watched, workers: int = 2, **environ: str) -> str:
    """The master's address. `environ`: variables that its workers have beside those that they need."""
    cluster = SparkCluster(watched.lab, workers, environ=environ)
    cluster.start()
    return cluster.master


def sections(watched: Watched, master: str) -> dict[str, Any]:
    return {
        "source": {"offsets_topic": TOPIC, "heartbeat_ms": 2_000},
        "polling": NO_POLLING,
        "spark": {"master": master, "driver_memory": "700m", "checkpoint_dir": str(watched.lab.folder / "spark")},
    }


def expected() -> Counter[tuple[int, str]]:
    """Generations with their grades, as `replay` gives them."""
    own = [one for one in records_of(GROUP_CAPTURES / "java-classic") if one.key == key_of(CAPTURED)]
    renamed = [replace(one, topic="__consumer_offsets", key=key_of(GROUPS[0]), offset=at) for at, one in enumerate(own)]
    found = replay(renamed, ClusterSettings(name="own")).objects
    return Counter(
        (one["generation"], one["verdict"]["grade"]) for one in found if one["kind"] == "generation" and one["members"]
    )


def found(dsn: str) -> dict[str, Counter[tuple[int, str]]]:
    """Generations with members and their grades, by group, as the database has them."""
    with psycopg.connect(dsn) as database:
        rows = database.execute(
            'select "group", generation, grade from rebalance_monitor.generations where member_count > 0'
        ).fetchall()
    by_group: dict[str, Counter[tuple[int, str]]] = {group: Counter() for group in GROUPS}
    for group, generation, grade in rows:
        by_group[group][generation, grade] += 1
    return by_group


def notified(dsn: str) -> tuple[int, int]:
    """Rows of the outbox, and how many keys they have."""
    with psycopg.connect(dsn) as database:
        row = database.execute("select count(*), count(distinct key) from rebalance_monitor.outbox").fetchone()
    assert row is not None
    return row
