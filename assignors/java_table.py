"""The order in which Java walks a `HashMap` or `HashSet`, for keys that are added and removed.

A map walks its buckets in ascending order. A key that `put` or `add` inserts goes to the end of its bucket; one that
`computeIfAbsent` inserts, as `Collectors.groupingBy` does, goes to the head. Doubling the table splits buckets without
reordering them, and removing never shrinks it. So a map that receives keys in one of the two ways only is walked in the
order of a stable sort by bucket of the final table, from the keys in order of insertion (`put`) or in the reverse
(`computeIfAbsent`). What has to be tracked is the size of the table:

    put "Aa" (hash 2112), "BB" (2112), "C" (67) into 16 buckets:   bucket 0: Aa, BB    bucket 3: C
    computeIfAbsent in the same order:                             bucket 0: BB, Aa    bucket 3: C

Java turns a bucket of nine or more keys into a tree once the table has 64 buckets (`assignors.java_tree`). Such an
order is `unsure`: it is computed, but rests on details of the JVM's library that nothing obliges it to keep. Where keys
were removed before, it is the order that lists would have.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from .java_order import java_hash, key_hash, natural_key
from .java_tree import TREE_BUCKET, TREE_TABLE, walk_with_trees

K = TypeVar("K", bound=Hashable)

DEFAULT_CAPACITY = 16
_EXACT_CAPACITY_SINCE = 19


def table_size(capacity: int) -> int:
    """Buckets of a map that was made with this initial capacity."""
    return 1 << max(0, capacity - 1).bit_length()


class JavaTable(Generic[K]):
    """The keys of one map. `hash_of` gives `hashCode()` as an unsigned 32-bit number.

    `computed`: keys come by `computeIfAbsent`, which also doubles a table that is too full on its next call only, and
    minds buckets of eight keys instead of nine. `natural` gives the sort key of `compareTo`, which orders the keys of
    one hash inside a tree.
    """

    __slots__ = (
        "_calls",
        "_computed",
        "_crowd",
        "_first",
        "_hash",
        "_natural",
        "_size",
        "_sizes",
        "_spreads",
        "unsure",
    )

    def __init__(
        self,
        hash_of: Callable[[K], int] = key_hash,
        capacity: int = DEFAULT_CAPACITY,
        *,
        computed: bool = False,
        natural: Callable[[K], Any] = natural_key,
    ) -> None:
        self._hash, self._natural = hash_of, natural
        self._computed = computed
        self._crowd = TREE_BUCKET - computed
        self._spreads: dict[K, int] = {}
        self._first = self._size = table_size(capacity)
        # Every call of `computeIfAbsent`, as trees need them; None once a key was removed.
        self._calls: list[K] | None = [] if computed else None
        # Keys in each bucket; not counted while there are fewer keys than a crowded bucket has.
        self._sizes: Counter[int] | None = None
        self.unsure = False

    def __len__(self) -> int:
        return len(self._spreads)

    def __contains__(self, key: K) -> bool:
        return key in self._spreads

    def __iter__(self) -> Iterator[K]:
        """All keys in Java's order, as they are now."""
        return iter(self.keys())

    def keys(self) -> list[K]:
        """The same as a list."""
        spreads, mask = self._spreads, self._size - 1
        if len(spreads) < 2:
            return list(spreads)
        if self.unsure and self._first:
            places = {key: (spread, self._natural(key)) for key, spread in spreads.items()}
            calls = self._calls if self._calls is not None else spreads
            return walk_with_trees(calls, places, self._first, computed=self._computed)
        inserted = reversed(spreads) if self._computed else iter(spreads)
        return sorted(inserted, key=lambda key: spreads[key] & mask)

    def add(self, key: K) -> None:
        """Add a key; one that is present keeps its place."""
        spreads = self._spreads
        if self._computed:
            if 4 * len(spreads) > 3 * self._size:
                self._double()
            if self._calls is not None:
                self._calls.append(key)
        if key in spreads:
            return
        h = self._hash(key)
        spread = spreads[key] = h ^ h >> 16
        if len(spreads) >= self._crowd:
            self._count(spread)
        if not self._computed and 4 * len(spreads) > 3 * self._size:
            self._double()

    def add_all(self, keys: Iterable[K]) -> None:
        for key in keys:
            self.add(key)

    def remove(self, key: K) -> bool:
        """Take a key out; whether it was there."""
        spread = self._spreads.pop(key, None)
        if spread is None:
            return False
        if self._sizes is not None:
            self._sizes[spread & self._size - 1] -= 1
        self._first, self._calls = 0, None
        return True

    def bucket_of(self, key: K) -> int:
        """The bucket of a key in the table as it is now. Raises KeyError for a key that is not there."""
        return self._spreads[key] & self._size - 1

    def _count(self, spread: int) -> None:
        if self._sizes is None:
            self._recount()
        else:
            self._sizes[spread & self._size - 1] += 1
        assert self._sizes is not None, "counted just now"
        if self._sizes[spread & self._size - 1] >= self._crowd:
            # A crowded bucket of a small table makes Java double the table instead of building a tree.
            if self._size < TREE_TABLE:
                self._double()
            else:
                self.unsure = True

    def _double(self) -> None:
        self._size *= 2
        if self._sizes is not None:
            self._recount()

    def _recount(self) -> None:
        mask = self._size - 1
        self._sizes = Counter(spread & mask for spread in self._spreads.values())


def table_of(
    keys: Iterable[K],
    hash_of: Callable[[K], int] = key_hash,
    capacity: int = DEFAULT_CAPACITY,
    *,
    computed: bool = False,
) -> JavaTable[K]:
    """A map or set that received these keys one by one."""
    table = JavaTable(hash_of, capacity, computed=computed)
    table.add_all(keys)
    return table


def hash_map_order(ids: Iterable[str]) -> JavaTable[str]:
    """A default-constructed map or set that received these strings one by one."""
    return table_of(ids, java_hash)


def hash_order(items: Iterable[K]) -> JavaTable[K]:
    """A default-constructed map or set that received strings, tasks, ids or numbers one by one."""
    return table_of(items)


def grouping_order(items: Iterable[K]) -> tuple[list[K], bool]:
    """Iteration order of the map that `Collectors.groupingBy` makes of these items, and whether it is unsure."""
    table = table_of(items, computed=True)
    return table.keys(), table.unsure


def copied_set_capacity(size: int, java_version: int) -> int:
    """Number of buckets of a `HashSet` copied from a collection of `size` elements, repeats counted.

    Java 19 began to compute it without rounding up needlessly; the two rules differ for 12, 24, 48, 96, ... elements.
    """
    if java_version >= _EXACT_CAPACITY_SINCE:
        wanted = -(-4 * max(size, 12) // 3)
    else:
        wanted = max(4 * size // 3 + 1, DEFAULT_CAPACITY)
    return 1 << (wanted - 1).bit_length()


def rests_on_java(sizes: Iterable[int]) -> frozenset[str]:
    """`java_version` if copies of collections of these sizes may be walked in another order by another Java."""
    differ = any(copied_set_capacity(size, 8) != copied_set_capacity(size, _EXACT_CAPACITY_SINCE) for size in sizes)
    return frozenset({"java_version"} if differ else ())


def copied_set(items: Sequence[K], java_version: int) -> JavaTable[K]:
    """The `HashSet` Java makes of a collection of strings, tasks, ids or numbers in one go."""
    return table_of(items, capacity=copied_set_capacity(len(items), java_version))


def set_copy_order(items: Sequence[K], java_version: int) -> tuple[K, ...]:
    """Iteration order of a `HashSet` copied from strings or tasks; `java_version` is the major release."""
    return tuple(items) if len(items) < 2 else tuple(copied_set(items, java_version).keys())
