"""The order in which Java sorts strings and iterates hash collections; Connect's answers depend on both.

Strings compare and hash by UTF-16 code unit, so a character beyond U+FFFF sorts before U+E000..U+FFFF. A `HashMap`
walks its buckets in ascending order and each bucket in order of insertion; growing the table splits buckets without
reordering them. Hence the order after any number of insertions is a stable sort by bucket in the final table, and the
only thing worth tracking is how large that table has become.

Java turns a bucket of nine or more keys into a tree once the table has 64 buckets (`assignors.java_tree`). Such an
order is `unsure`: it is computed, but rests on details of the JVM's library that nothing obliges it to keep.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any, Generic, TypeVar

from rebalance_monitor.assignors.java_tree import TREE_BUCKET, TREE_TABLE, walk_grouped_with_trees, walk_with_trees

TaskId = tuple[str, int]
Entries = tuple[tuple[str, tuple[int, ...]], ...]
K = TypeVar("K", bound=Hashable)

CONNECTOR_ITSELF = -1
"""Stands for the connector instance in a list of task numbers."""

_MASK = 0xFFFFFFFF
_WORDS = Struct(">4I")
_DEFAULT_CAPACITY = 16
_EXACT_CAPACITY_SINCE = 19


def utf16_key(text: str) -> bytes:
    """Sort key that orders strings as `String.compareTo` does; lone surrogates are kept."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_names(names: Iterable[str]) -> list[str]:
    """Strings in Java's natural order."""
    listed = list(names)
    # ASCII is ordered alike in both worlds, and the native comparison is many times faster.
    return sorted(listed) if all(map(str.isascii, listed)) else sorted(listed, key=utf16_key)


def sorted_tasks(tasks: Iterable[TaskId]) -> list[TaskId]:
    """Tasks by connector in Java's order, then by number."""
    listed = list(tasks)
    if all(name.isascii() for name, _ in listed):
        return sorted(listed)
    return sorted(listed, key=lambda task: (utf16_key(task[0]), task[1]))


@lru_cache(maxsize=65536)
def java_hash(text: str) -> int:
    """`String.hashCode()` as an unsigned 32-bit number."""
    h = 0
    if text.isascii():
        for unit in text.encode("ascii"):
            h = 31 * h + unit & _MASK
        return h
    units = utf16_key(text)
    for at in range(0, len(units), 2):
        h = 31 * h + (units[at] << 8 | units[at + 1]) & _MASK
    return h


def task_hash(task: TaskId) -> int:
    """`ConnectorTaskId.hashCode()` as an unsigned 32-bit number."""
    return 31 * java_hash(task[0]) + task[1] & _MASK


@lru_cache(maxsize=65536)
def uuid_hash(uuid: bytes) -> int:
    """Hash code of Kafka's `Uuid` and Java's `UUID` (16 bytes) as an unsigned 32-bit number."""
    a, b, c, d = _WORDS.unpack(uuid)
    h: int = a ^ b ^ c ^ d
    return h


def topic_partition_hash(at: tuple[bytes, int]) -> int:
    """Hash code of a partition of a topic id, as releases since 4.1 compute it, as an unsigned 32-bit number."""
    return 31 * uuid_hash(at[0]) + at[1] & _MASK


def uuid_key(uuid: bytes) -> bytes:
    """Sort key that orders 16-byte ids as their `compareTo` does: two signed 64-bit halves."""
    return bytes((uuid[0] ^ 0x80, *uuid[1:8], uuid[8] ^ 0x80, *uuid[9:]))


def copied_set_capacity(size: int, java_version: int) -> int:
    """Number of buckets of a `HashSet` copied from a collection of `size` elements, repeats counted.

    Java 19 began to compute it without rounding up needlessly; the two rules differ for 12, 24, 48, 96, ... elements.
    """
    if java_version >= _EXACT_CAPACITY_SINCE:
        wanted = -(-4 * max(size, 12) // 3)
    else:
        wanted = max(4 * size // 3 + 1, _DEFAULT_CAPACITY)
    return 1 << (wanted - 1).bit_length()


def rests_on_java(sizes: Iterable[int]) -> frozenset[str]:
    """`java_version` if copies of collections of these sizes may be walked in another order by another Java."""
    differ = any(copied_set_capacity(size, 8) != copied_set_capacity(size, _EXACT_CAPACITY_SINCE) for size in sizes)
    return frozenset({"java_version"} if differ else ())


class HashOrder(Generic[K]):
    """A `HashMap`'s keys: `add` them one by one, read them back in Java's iteration order."""

    __slots__ = ("_capacity", "_first_capacity", "_hash", "_members", "_natural", "_sizes", "unsure")

    def __init__(
        self,
        hash_of: Callable[[K], int],
        capacity: int = _DEFAULT_CAPACITY,
        *,
        natural: Callable[[K], Any] | None = None,
    ) -> None:
        """`natural` gives the sort key of `compareTo`, which orders the keys of one hash inside a tree."""
        self._hash = hash_of
        self._natural = natural or _natural
        self._first_capacity = self._capacity = capacity
        self._members: dict[K, int] = {}
        self._sizes: dict[int, int] = {}
        self.unsure = False

    def add(self, key: K) -> None:
        """Append `key` to its bucket; a key that is present keeps its place."""
        if key in self._members:
            return
        h = self._hash(key)
        spread = h ^ h >> 16
        self._members[key] = spread
        bucket = spread & self._capacity - 1
        size = self._sizes[bucket] = self._sizes.get(bucket, 0) + 1
        if size >= TREE_BUCKET:
            # A crowded bucket of a small table makes Java double the table instead of building a tree.
            if self._capacity < TREE_TABLE:
                self._grow()
            else:
                self.unsure = True
        if len(self._members) * 4 > self._capacity * 3:
            self._grow()

    def keys(self) -> list[K]:
        """All keys: buckets ascending, inside a bucket in order of insertion unless it became a tree."""
        members = self._members
        if self.unsure:
            return walk_with_trees({key: (h, self._natural(key)) for key, h in members.items()}, self._first_capacity)
        mask = self._capacity - 1
        return sorted(members, key=lambda key: members[key] & mask)

    def bucket_of(self, key: K) -> int:
        """The bucket of a key in the table as it is now. Raises KeyError for a key that is not there."""
        return self._members[key] & self._capacity - 1

    def _grow(self) -> None:
        self._capacity *= 2
        self._sizes = {}
        for spread in self._members.values():
            bucket = spread & self._capacity - 1
            self._sizes[bucket] = self._sizes.get(bucket, 0) + 1


def hash_map_order(ids: Iterable[str]) -> HashOrder[str]:
    """A default-constructed map or set that received these strings one by one."""
    order: HashOrder[str] = HashOrder(java_hash)
    for name in ids:
        order.add(name)
    return order


def hash_order(items: Iterable[K]) -> HashOrder[K]:
    """A default-constructed map or set that received strings, tasks, ids or numbers one by one."""
    order: HashOrder[K] = HashOrder(key_hash)
    for item in items:
        order.add(item)
    return order


def grouping_order(items: Iterable[K]) -> tuple[list[K], bool]:
    """Iteration order of the map that `Collectors.groupingBy` makes of these items, and whether it is unsure.

    It inserts with `computeIfAbsent`, which puts a new key at the head of its bucket, minds a bucket of eight instead
    of nine, and doubles a table that is too full only on the next call.
    """
    capacity, unsure = _DEFAULT_CAPACITY, False
    spreads: dict[K, int] = {}
    sizes: Counter[int] = Counter()
    listed = list(items)
    for item in listed:
        if len(spreads) * 4 > capacity * 3:
            capacity *= 2
            sizes = Counter(spread & capacity - 1 for spread in spreads.values())
        if item not in spreads:
            h = key_hash(item)
            spread = spreads[item] = h ^ h >> 16
            sizes[spread & capacity - 1] += 1
            if sizes[spread & capacity - 1] >= TREE_BUCKET - 1:
                unsure |= capacity >= TREE_TABLE
                if capacity < TREE_TABLE:
                    capacity *= 2
                    sizes = Counter(spread & capacity - 1 for spread in spreads.values())
    if unsure:
        places = {key: (spread, _natural(key)) for key, spread in spreads.items()}
        return walk_grouped_with_trees(listed, places, _DEFAULT_CAPACITY), True
    return sorted(reversed(spreads), key=lambda key: spreads[key] & capacity - 1), False


def copied_set(items: Sequence[K], java_version: int) -> HashOrder[K]:
    """The `HashSet` Java makes of a collection of strings, tasks, ids or numbers in one go."""
    order: HashOrder[K] = HashOrder(key_hash, copied_set_capacity(len(items), java_version))
    for item in items:
        order.add(item)
    return order


def set_copy_order(items: Sequence[K], java_version: int) -> tuple[K, ...]:
    """Iteration order of a `HashSet` copied from strings or tasks; `java_version` is the major release."""
    return tuple(items) if len(items) < 2 else tuple(copied_set(items, java_version).keys())


def wire_entries_assigned(connectors: Sequence[str], tasks: Iterable[TaskId], java_version: int) -> Entries:
    """Entries of an `assignment` array: the connector instances in hash order, then the tasks as listed."""
    return _entries(set_copy_order(connectors, java_version), tasks)


def wire_entries_revoked(connectors: Iterable[str], tasks: Iterable[TaskId]) -> Entries:
    """Entries of a `revoked` array: everything in list order."""
    return _entries(connectors, tasks)


def key_hash(key: Hashable) -> int:
    """`hashCode()` of a key as an unsigned 32-bit number.

    Strings; (name, number) for tasks of Connect and of Streams groups; 16-byte ids; whole numbers; (id, number) for a
    partition of a topic id as releases since 4.1 hash it. Raises TypeError for anything else.
    """
    match key:
        case str():
            return java_hash(key)
        case (str(name), int(number)):
            return task_hash((name, number))
        case (bytes(topic), int(number)):
            return topic_partition_hash((topic, number))
        case bytes():
            return uuid_hash(key)
        case int():
            return key & _MASK
        case _:
            raise TypeError(f"no Java hash is known for {type(key).__name__}")


def _natural(key: Hashable) -> Any:
    """Sorts keys of one kind as `compareTo` does."""
    match key:
        case (str(name), int(number)):
            return utf16_key(name), number
        case bytes():
            return uuid_key(key)
        case int():
            return key
        case _:
            return utf16_key(str(key))


def _entries(connectors: Iterable[str], tasks: Iterable[TaskId]) -> Entries:
    numbers: dict[str, list[int]] = {name: [CONNECTOR_ITSELF] for name in connectors}
    for name, number in tasks:
        numbers.setdefault(name, []).append(number)
    return tuple((name, tuple(of_name)) for name, of_name in numbers.items())
