"""The keys of a Java `HashMap` or `HashSet` that are added and removed in any order, walked as Java walks them.

A table of buckets; each bucket is a list. `put` appends to the bucket and doubles the table when it is too full;
`compute` (`computeIfAbsent`) puts the key at the head and doubles on its next call only. Doubling splits a bucket
without reordering it; removing never shrinks the table. Where a bucket would become a tree (`assignors.java_tree`),
the walk goes on as if it were a list, and the table is `unsure` from then on.

Maps that only receive `put` are cheaper as `assignors.java_order.HashOrder`, which also follows trees.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from assignors.java_order import key_hash
from assignors.java_tree import TREE_BUCKET, TREE_TABLE

K = TypeVar("K", bound=Hashable)

DEFAULT_CAPACITY = 16


def table_size(capacity: int) -> int:
    """Buckets of a map that was made with this initial capacity."""
    return 1 << max(0, capacity - 1).bit_length()


class JavaTable(Generic[K]):
    """The keys of one map. `hash_of` gives `hashCode()` as an unsigned 32-bit number."""

    __slots__ = ("_buckets", "_hash", "_keys", "unsure")

    def __init__(self, capacity: int = DEFAULT_CAPACITY, hash_of: Callable[[K], int] = key_hash) -> None:
        self._hash = hash_of
        self._keys: dict[K, int] = {}
        self._buckets: list[list[K]] = [[] for _ in range(table_size(capacity))]
        self.unsure = False

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: K) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[K]:
        """All keys in Java's order; the table must not grow meanwhile."""
        for bucket in self._buckets:
            yield from bucket

    def put(self, key: K) -> None:
        """Add a key as `put` and `add` do; one that is present keeps its place."""
        if key in self._keys:
            return
        bucket = self._bucket(key)
        bucket.append(key)
        if len(bucket) >= TREE_BUCKET:
            self._crowded()
        if 4 * len(self._keys) > 3 * len(self._buckets):
            self._double()

    def put_all(self, keys: Iterable[K]) -> None:
        """Add keys one by one."""
        for key in keys:
            self.put(key)

    def compute(self, key: K) -> None:
        """Add a key as `computeIfAbsent` does."""
        if 4 * len(self._keys) > 3 * len(self._buckets):
            self._double()
        if key in self._keys:
            return
        bucket = self._bucket(key)
        bucket.insert(0, key)
        if len(bucket) >= TREE_BUCKET - 1:
            self._crowded()

    def remove(self, key: K) -> bool:
        """Take a key out; whether it was there."""
        spread = self._keys.pop(key, None)
        if spread is None:
            return False
        self._buckets[spread & len(self._buckets) - 1].remove(key)
        return True

    def _bucket(self, key: K) -> list[K]:
        h = self._hash(key)
        spread = self._keys[key] = h ^ h >> 16
        return self._buckets[spread & len(self._buckets) - 1]

    def _crowded(self) -> None:
        if len(self._buckets) < TREE_TABLE:
            self._double()
        else:
            self.unsure = True

    def _double(self) -> None:
        old, size = self._buckets, 2 * len(self._buckets)
        self._buckets = [[] for _ in range(size)]
        for bucket in old:
            for key in bucket:
                self._buckets[self._keys[key] & size - 1].append(key)
