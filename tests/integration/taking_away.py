"""What a cluster's owner can take away from a monitor: topics, records, rights."""

from functools import cache
from typing import Any

import psycopg

from tests.integration.secured import Secured
from tests.integration.watched import Watched
from tests.waiting import PATIENCE_S


@cache
def admin(watched: Watched) -> Any:
    """One client for all: what a client that is let go of was asked for fails."""
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": watched.broker.address, "log_level": 0})


def delete(watched: Watched, topic: str) -> None:
    admin(watched).delete_topics([topic])[topic].result(PATIENCE_S)

    def away() -> bool:
        return topic not in admin(watched).list_topics(timeout=PATIENCE_S).topics

    watched.lab.wait_for(f"{topic} deleted", away)


def ungrant(stage: Secured, user: str, topic: str) -> None:
    from confluent_kafka.admin import (
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )

    rule = AclBindingFilter(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{user}", None, AclOperation.ANY,
        AclPermissionType.ANY,
    )  # fmt: skip
    (answer,) = admin(stage.watched).delete_acls([rule]).values()
    assert answer.result(PATIENCE_S)


def ends(watched: Watched, topic: str) -> dict[int, int]:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    known = admin(watched)
    partitions = known.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    asked = {TopicPartition(topic, number): OffsetSpec.latest() for number in partitions}
    return {place.partition: answer.result(PATIENCE_S).offset for place, answer in known.list_offsets(asked).items()}


def all_read(watched: Watched, topic: str) -> bool:
    """Whether the position in each partition is the partition's end."""
    with psycopg.connect(watched.postgres.dsn) as database:
        rows = database.execute(
            "select distinct on (partition) partition, next_offset from rebalance_monitor.positions"
            " where topic = %s order by partition, updated_at desc",
            (topic,),
        ).fetchall()
    positions: dict[int, int] = dict(rows)
    return all(positions.get(partition, 0) == end for partition, end in ends(watched, topic).items())


def truncate(watched: Watched, topic: str) -> dict[int, int]:
    """Delete all records there are: partition to the first offset that is left. Kafka refuses it of a topic that is
    only compacted."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    known = admin(watched)
    entry = ConfigEntry("cleanup.policy", "compact,delete", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    (answer,) = known.incremental_alter_configs([resource]).values()
    answer.result(PATIENCE_S)
    lows = ends(watched, topic)
    places = [TopicPartition(topic, partition, offset) for partition, offset in lows.items() if offset]
    for done in known.delete_records(places).values():
        done.result(PATIENCE_S)
    return lows
