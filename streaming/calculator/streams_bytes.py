"""The bytes of a Streams assignment as Kafka's class writes them, its maps and sets in hash order, and what they say.

Only the calculator needs the very bytes; a judge compares what they say.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rebalance_monitor.assignors.java_order import java_hash, utf16_key
from rebalance_monitor.assignors.java_table import JavaTable
from rebalance_monitor.assignors.streams.tasks import HashOrders, TaskId, TopicPartition, host_hash, partition_hash
from rebalance_monitor.schemas.streams_assignment import (
    FIRST_WITH_DICTIONARY,
    AssignmentInfo,
    Host,
    HostEntry,
    OwnedPartitions,
    encode_assignment_info,
)
from rebalance_monitor.schemas.streams_tasks import task_text

Release = tuple[int, ...]
MajorMinor = tuple[int, int]

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
    order: JavaTable[Any] = JavaTable(hash_of)
    for item in items:
        order.add(item)
    return order.keys()


def _hash_ordered(by_host: Mapping[Host, Iterable[TopicPartition]]) -> dict[Host, list[TopicPartition]]:
    return {host: hash_order(partition_hash, by_host[host]) for host in hash_order(host_hash, by_host)}


def assignment_json(release: MajorMinor, value: AssignmentInfo) -> dict[str, Any]:
    """What the class of this release shows of the payload, by Kafka's names of its fields."""
    since: tuple[tuple[MajorMinor, str, Any], ...] = (
        ((0, 0), "version", value.version),
        ((0, 0), "commonlySupportedVersion", value.commonly_supported),
        ((0, 0), "errorCode", value.error),
        ((0, 0), "activeTasks", [task_text(task) for task in value.active]),
        ((0, 0), "standbyTasks", {task_text(task): _texts(found) for task, found in value.standby_tasks().items()}),
        ((0, 0), "partitionsByHost", _by_host(value.partitions_by_host())),
        ((2, 5), "standbyPartitionsByHost", _by_host(value.standby_partitions_by_host())),
        ((2, 6), "nextRebalanceMs", value.next_rebalance_ms),
    )
    return {name: shown for first, name, shown in since if release >= first}


def _texts(partitions: OwnedPartitions) -> list[str]:
    """A set of partitions, sorted; a topic without name is spelled as Java spells it."""
    named = {("null" if topic is None else topic, partition) for topic, partition in partitions}
    return [f"{topic}-{number}" for topic, number in sorted(named, key=lambda item: (utf16_key(item[0]), item[1]))]


def _by_host(hosts: Mapping[Host, OwnedPartitions]) -> dict[str, list[str]]:
    return {f"{host}:{port}": _texts(found) for (host, port), found in hosts.items()}
