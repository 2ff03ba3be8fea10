"""Rows of topic samples: written with the batch that first uses them, read at the start of a job."""

from typing import Any

from psycopg import Connection

from rebalance_monitor.streaming.core.cluster.stored import StoredTopics
from .tables import Table
from .text import clean

TOPIC_SAMPLES = Table(
    "topic_samples",
    (("cluster_id", "text"), ("topic", "text"), ("content", "text")),
    key=2,
    on_conflict="update where old.content is distinct from excluded.content",
)


def topic_samples(connection: Connection[Any], cluster_id: str) -> dict[str, str]:
    rows = connection.execute(
        "select topic, content from rebalance_monitor.topic_samples where cluster_id = %s", (clean(cluster_id),)
    ).fetchall()
    return {str(topic): str(content) for topic, content in rows}


def write_topics(connection: Connection[Any], stored: StoredTopics) -> None:
    """Writes the rows that are given, and deletes those of forgotten topics."""
    cluster_id = clean(stored.cluster_id)
    TOPIC_SAMPLES.write(connection, [(cluster_id, topic, content) for topic, content in stored.rows.items()])
    if stored.gone:
        connection.execute(
            "delete from rebalance_monitor.topic_samples where cluster_id = %s and topic = any(%s)",
            (cluster_id, list(stored.gone)),
        )
