"""Task ids, process ids and partitions of Kafka Streams: how they sort, and how Java hashes them.

Task ids sort by the name of their topology (in UTF-16 code units), then by subtopology, then by partition. Process ids
sort as two *signed* 64-bit numbers: `80000000-...` comes first and `7fffffff-...` last. Nearly every answer of an
assignor depends on these orders, and some on the order in which a Java hash table walks such keys.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from rebalance_monitor.assignors.java_order import java_hash, utf16_key
from rebalance_monitor.assignors.java_table import JavaTable, copied_set_capacity

ProcessId: TypeAlias = UUID
"""Identifies one `KafkaStreams` instance; its threads are the members that share it."""

TopicPartition: TypeAlias = tuple[str, int]

Release: TypeAlias = tuple[int, ...]

_K = TypeVar("_K", bound=Hashable)

_MASK = 0xFFFFFFFF
_OLD_MODULUS = 0xFFFFFFFF
_SIGN_64 = 1 << 63
_MASK_64 = (1 << 64) - 1
_NEW_TASK_HASH_SINCE: Release = (3, 0)


class TaskId(NamedTuple):
    """One task: partition `partition` of subtopology `subtopology`; `topology` is empty where topologies have no names.

    Python compares these tuples without the topology's name in front; `sorted_tasks` gives Java's order.
    """

    subtopology: int
    partition: int
    topology: str = ""

    def __str__(self) -> str:
        plain = f"{self.subtopology}_{self.partition}"
        return f"{self.topology}__{plain}" if self.topology else plain


def task_of(text: str) -> TaskId:
    """The task id spelled `S_P` or `NAME__S_P`. Raises ValueError for anything else."""
    topology, named, rest = text.partition("__")
    subtopology, _, partition = (rest if named else text).partition("_")
    return TaskId(int(subtopology), int(partition), topology if named else "")


def task_key(task: TaskId) -> tuple[bytes, int, int]:
    """Sort key of `TaskId.compareTo`."""
    return utf16_key(task.topology), task.subtopology, task.partition


def sorted_tasks(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Task ids in Java's order. Kafka compares a named task with an unnamed one only in broken applications."""
    listed = list(tasks)
    # Without names the tuples' own order is Java's, and many times faster.
    return sorted(listed, key=task_key) if any(task[2] for task in listed) else sorted(listed)


def task_hash(task: TaskId) -> int:
    """`TaskId.hashCode()` since 3.0, as an unsigned 32-bit number."""
    named = java_hash(task.topology) if task.topology else 0
    return (((31 + task.subtopology) * 31 + task.partition) * 31 + named) & _MASK


def old_task_hash(task: TaskId) -> int:
    """`TaskId.hashCode()` before 3.0: `0_1` and `1_0` share it."""
    return (task.subtopology << 32 | task.partition) % _OLD_MODULUS & _MASK


def process_key(process_id: ProcessId) -> int:
    """Sort key of `UUID.compareTo`: both halves are signed numbers."""
    number = process_id.int
    return (number ^ (_SIGN_64 << 64)) ^ _SIGN_64


class SignedUUID(UUID):
    """A process id that is smaller or greater as `UUID.compareTo` says, beside a plain `UUID`, too. It equals, and
    hashes as, the plain one of the same number."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return process_key(self) < process_key(other) if isinstance(other, UUID) else NotImplemented

    def __le__(self, other: object) -> bool:
        return process_key(self) <= process_key(other) if isinstance(other, UUID) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return process_key(self) > process_key(other) if isinstance(other, UUID) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return process_key(self) >= process_key(other) if isinstance(other, UUID) else NotImplemented


@lru_cache(maxsize=4096)
def signed(process_id: ProcessId) -> SignedUUID:
    """The process id as task assignors are given it."""
    return SignedUUID(int=process_id.int)


def process_hash(process_id: ProcessId) -> int:
    """`UUID.hashCode()`, as an unsigned 32-bit number."""
    both = (process_id.int >> 64) ^ (process_id.int & _MASK_64)
    return (both >> 32) ^ (both & _MASK)


def partition_hash(partition: TopicPartition) -> int:
    """`TopicPartition.hashCode()`, as an unsigned 32-bit number."""
    return (31 * (31 + partition[1]) + java_hash(partition[0])) & _MASK


def host_hash(host: tuple[str, int]) -> int:
    """`HostInfo.hashCode()`, as an unsigned 32-bit number."""
    return (31 * java_hash(host[0]) + host[1]) & _MASK


def partition_key(partition: TopicPartition) -> tuple[bytes, int]:
    """Sort key of partitions as Streams compares them."""
    return utf16_key(partition[0]), partition[1]


def sorted_partitions(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Partitions by topic (Java's order), then by number."""
    listed = list(partitions)
    return sorted(listed) if all(topic.isascii() for topic, _ in listed) else sorted(listed, key=partition_key)


_MOST_REMEMBERED = 1_024
"""Orders of process ids."""


class HashOrders:
    """The orders in which the hash tables of one leader walk tasks and process ids.

    `release` is the leader's: its task hash differs before 3.0. `java_version` is the leader's Java: from 19 on a
    copied set may get a smaller table. `unsure` turns true once an order rests on crowded buckets, which Java keeps as
    trees.
    """

    def __init__(self, release: Release, java_version: int = 17) -> None:
        self.unsure = False
        self._java_version = java_version
        self._task_hash: Callable[[TaskId], int] = task_hash if release >= _NEW_TASK_HASH_SINCE else old_task_hash
        self._processes: dict[tuple[ProcessId, ...], tuple[list[ProcessId], bool]] = {}
        self._ids: Sequence[ProcessId] = ()
        self._clients: dict[tuple[int, ...], tuple[list[int], bool]] = {}

    def tasks(self, tasks: Iterable[TaskId]) -> list[TaskId]:
        """A default-constructed set or map that received the tasks one by one."""
        return self._walk(JavaTable(self._task_hash, natural=task_key), tasks)

    def tasks_copied(self, tasks: list[TaskId]) -> list[TaskId]:
        """A set copied from a collection of tasks in this order."""
        capacity = copied_set_capacity(len(tasks), self._java_version)
        return self._walk(JavaTable(self._task_hash, capacity, natural=task_key), tasks)

    def processes(self, processes: Iterable[ProcessId]) -> list[ProcessId]:
        """A default-constructed set or map that received the process ids one by one. A leader that is run again and
        again asks for few of them."""
        order, unsure = self._processes_walked(tuple(processes))
        self.unsure |= unsure
        return list(order)

    def clients(self, clients: Sequence[int], ids: Sequence[ProcessId]) -> Sequence[int]:
        """The same of places in `ids`. As long as it is the same list, no process id is hashed again."""
        if ids is not self._ids or len(self._clients) >= _MOST_REMEMBERED:
            self._ids = ids
            self._clients.clear()
        given = tuple(clients)
        found = self._clients.get(given)
        if found is None:
            number = {ids[client]: client for client in given}
            order, unsure = self._processes_walked(tuple(number))
            found = self._clients[given] = [number[one] for one in order], unsure
        self.unsure |= found[1]
        return found[0]

    def _processes_walked(self, given: tuple[ProcessId, ...]) -> tuple[list[ProcessId], bool]:
        found = self._processes.get(given)
        if found is None:
            if len(self._processes) >= _MOST_REMEMBERED:
                self._processes.clear()
            table = JavaTable(process_hash, natural=process_key)
            table.add_all(given)
            found = self._processes[given] = table.keys(), table.unsure
        return found

    def processes_copied(self, processes: list[ProcessId]) -> list[ProcessId]:
        """A set copied from a collection of process ids in this order."""
        capacity = copied_set_capacity(len(processes), self._java_version)
        return self._walk(JavaTable(process_hash, capacity, natural=process_key), processes)

    def _walk(self, order: JavaTable[_K], keys: Iterable[_K]) -> list[_K]:
        for key in keys:
            order.add(key)
        self.unsure |= order.unsure
        return order.keys()
