"""The bytes of a Streams assignment as Kafka's class writes them: its maps and sets in hash order.

Only the calculator needs the very bytes; a judge compares what they say.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rebalance_monitor.assignors.java_order import HashOrder, java_hash
from rebalance_monitor.assignors.streams.tasks import HashOrders, TaskId, TopicPartition, host_hash, partition_hash
from rebalance_monitor.schemas.streams_assignment import (
    FIRST_WITH_DICTIONARY,
    AssignmentInfo,
    Host,
    HostEntry,
    encode_assignment_info,
)

Release = tuple[int, ...]

# Before, topics got their numbers while the host map was walked; since then while a set of all partitions is.
_FIRST_WITH_TOPIC_SET: Release = (2, 5)


def assignment_bytes(
    release: Release,
    *,
    version: int,
    commonly_supported: int,
    active: Sequence[TaskId],
    standby: Mapping[TaskId, Sequence[TopicPartition]],
    by_host: Mapping[Host, Iterable[TopicPartition]],
    standby_by_host: Mapping[Host, Iterable[TopicPartition]],
    error: int,
    next_rebalance_ms: int,
) -> bytes:
    """The payload. Maps, and the sets of hosts' partitions, in the order in which Kafka filled them; the partitions of
    a standby in the order of their set. Raises SchemaError for what the version cannot say."""
    hosts, standby_hosts = _hash_ordered(by_host), _hash_ordered(standby_by_host)
    every = [part for of_hosts in (hosts, standby_hosts) for found in of_hosts.values() for part in found]
    seen = every if release < _FIRST_WITH_TOPIC_SET else hash_order(partition_hash, every)
    numbers = {topic: number for number, topic in enumerate(dict.fromkeys(topic for topic, _ in seen))}
    numbered = version >= FIRST_WITH_DICTIONARY

    def entries(of_hosts: Mapping[Host, Sequence[TopicPartition]]) -> tuple[HostEntry, ...]:
        return tuple(
            (host, port, tuple(n for topic, p in found for n in (numbers[topic], p)) if numbered else tuple(found))
            for (host, port), found in of_hosts.items()
        )

    return encode_assignment_info(
        AssignmentInfo(
            version=version,
            commonly_supported=commonly_supported,
            active=tuple(plain(task) for task in active),
            standby=tuple((plain(task), tuple(standby[task])) for task in HashOrders(release).tasks(standby)),
            topics=tuple((numbers[topic], topic) for topic in hash_order(java_hash, numbers)),
            hosts=entries(hosts),
            standby_hosts=entries(standby_hosts),
            error=error,
            next_rebalance_ms=next_rebalance_ms,
        )
    )


def plain(task: TaskId) -> tuple[int, int] | tuple[int, int, str]:
    """The task id as the payloads' decoders have it."""
    return (task.subtopology, task.partition, task.topology) if task.topology else (task.subtopology, task.partition)


def hash_order(hash_of: Callable[[Any], int], items: Iterable[Any]) -> list[Any]:
    """Iteration order of a default-constructed hash set or map that received `items` one by one."""
    order: HashOrder[Any] = HashOrder(hash_of)
    for item in items:
        order.add(item)
    return order.keys()


def _hash_ordered(by_host: Mapping[Host, Iterable[TopicPartition]]) -> dict[Host, list[TopicPartition]]:
    return {host: hash_order(partition_hash, by_host[host]) for host in hash_order(host_hash, by_host)}
