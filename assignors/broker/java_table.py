"""The keys of a Java `HashMap` or `HashSet` to which keys are added and from which they are removed, in Java's order.

A key that `put` or `add` inserts goes to the end of its bucket; one that `computeIfAbsent` inserts goes to the head.
Doubling the table splits buckets without reordering them, and removing never shrinks it. So a map that receives keys in
one of the two ways only is walked in the order of a stable sort by bucket of the final table, from the keys in order of
insertion (`put`) or in the reverse (`computeIfAbsent`). What has to be tracked is the size of the table.

Where a bucket would become a tree (`assignors.java_tree`) the walk goes on as if it were a list, and the table is
`unsure` from then on. Maps that only receive `put` have `assignors.java_order.HashOrder`, which also follows trees.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from rebalance_monitor.assignors.java_order import key_hash
from rebalance_monitor.assignors.java_tree import TREE_BUCKET, TREE_TABLE

K = TypeVar("K", bound=Hashable)

DEFAULT_CAPACITY = 16


def table_size(capacity: int) -> int:
    """Buckets of a map that was made with this initial capacity."""
    return 1 << max(0, capacity - 1).bit_length()


class JavaTable(Generic[K]):
    """The keys of one map. `hash_of` gives `hashCode()` as an unsigned 32-bit number.

    `computed`: keys come by `computeIfAbsent`, which also doubles a table that is too full on its next call only, and
    minds buckets of eight keys instead of nine.
    """

    __slots__ = ("_computed", "_crowd", "_hash", "_size", "_sizes", "_spreads", "unsure")

    def __init__(
        self,
        capacity: int = DEFAULT_CAPACITY,
        hash_of: Callable[[K], int] = key_hash,
        *,
        computed: bool = False,
    ) -> None:
        self._hash = hash_of
        self._computed = computed
        self._crowd = TREE_BUCKET - computed
        self._spreads: dict[K, int] = {}
        self._size = table_size(capacity)
        # Keys in each bucket; not counted while there are fewer keys than a crowded bucket has.
        self._sizes: Counter[int] | None = None
        self.unsure = False

    def __len__(self) -> int:
        return len(self._spreads)

    def __contains__(self, key: K) -> bool:
        return key in self._spreads

    def __iter__(self) -> Iterator[K]:
        """All keys in Java's order, as they are now."""
        spreads, mask = self._spreads, self._size - 1
        if len(spreads) < 2:
            return iter(list(spreads))
        inserted = reversed(spreads) if self._computed else iter(spreads)
        return iter(sorted(inserted, key=lambda key: spreads[key] & mask))

    def add(self, key: K) -> None:
        """Add a key; one that is present keeps its place."""
        spreads = self._spreads
        if self._computed and 4 * len(spreads) > 3 * self._size:
            self._double()
        if key in spreads:
            return
        h = self._hash(key)
        spread = spreads[key] = h ^ h >> 16
        if len(spreads) >= self._crowd:
            self._count(spread)
        if not self._computed and 4 * len(spreads) > 3 * self._size:
            self._double()

    def add_all(self, keys: Iterable[K]) -> None:
        """Add keys one by one."""
        for key in keys:
            self.add(key)

    def remove(self, key: K) -> bool:
        """Take a key out; whether it was there."""
        spread = self._spreads.pop(key, None)
        if spread is None:
            return False
        if self._sizes is not None:
            self._sizes[spread & self._size - 1] -= 1
        return True

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
