"""A hash table that turns crowded buckets into trees, as `java.util.HashMap` does.

With 64 buckets or more, the ninth key of a bucket makes it a red-black tree: by hash (signed), then by the keys' own
order. The bucket is still walked as a list, but a different one: a new key stands right behind its parent in the tree,
and after every insertion the tree's root moves to the front. Doubling the table splits the list in order; a part of at
most six keys becomes a plain list again, a larger one a new tree, and a bucket that keeps all its keys is left alone.

Only names made to collide get here; `assignors.java_table` does without trees as long as it can.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
Place = tuple[int, Any]
"""Spread hash (unsigned 32 bits), and a value that sorts keys of one hash."""

TREE_BUCKET = 9
TREE_TABLE = 64
_LIST_AGAIN = 6
_SIGN = 1 << 31
_LEFT, _RIGHT = 0, 1


class _Node(Generic[K]):
    __slots__ = ("children", "key", "parent", "place", "red")

    def __init__(self, key: K, place: Place) -> None:
        self.key = key
        self.place = (place[0] ^ _SIGN, place[1])  # flipping the sign bit sorts unsigned numbers as signed ones
        self.parent: _Node[K] | None = None
        self.children: list[_Node[K] | None] = [None, None]
        self.red = True


class _Tree(Generic[K]):
    """One crowded bucket; `walk` is its order."""

    def __init__(self, keys: Iterable[K], places: Mapping[K, Place]) -> None:
        self.walk = list(keys)
        self._places = places
        self._root: _Node[K] | None = None
        for key in self.walk:
            self._insert(key)
        self._root_to_front()

    def add(self, key: K) -> None:
        parent = self._insert(key)
        self.walk.insert(len(self.walk) if parent is None else self.walk.index(parent) + 1, key)
        self._root_to_front()

    def _root_to_front(self) -> None:
        if self._root is not None:
            self.walk.remove(self._root.key)
            self.walk.insert(0, self._root.key)

    def _insert(self, key: K) -> K | None:
        """Put the key into the tree; its parent at that moment, before the tree is balanced."""
        new = _Node(key, self._places[key])
        parent, at, side = None, self._root, _LEFT
        while at is not None:
            parent, side = at, _RIGHT if at.place < new.place else _LEFT
            at = at.children[side]
        new.parent = parent
        if parent is not None:
            parent.children[side] = new
        else:
            self._root = new
        self._balance(new)
        return None if parent is None else parent.key

    def _balance(self, node: _Node[K]) -> None:
        while (parent := node.parent) is not None and parent.red and (grand := parent.parent) is not None:
            side = grand.children.index(parent)
            uncle = grand.children[1 - side]
            if uncle is not None and uncle.red:
                uncle.red = parent.red = False
                grand.red = True
                node = grand
                continue
            if node is parent.children[1 - side]:
                self._rotate(parent, side)
                node, parent = parent, node
            parent.red = False
            grand.red = True
            self._rotate(grand, 1 - side)
        if node.parent is None:
            node.red = False

    def _rotate(self, node: _Node[K], side: int) -> None:
        """Move `node` down to this side; its other child takes its place."""
        up = node.children[1 - side]
        assert up is not None, "a rotation needs a child to lift"
        inner = up.children[side]
        node.children[1 - side] = inner
        if inner is not None:
            inner.parent = node
        up.parent = node.parent
        if node.parent is None:
            self._root = up
        else:
            node.parent.children[node.parent.children.index(node)] = up
        up.children[side] = node
        node.parent = up


def walk_with_trees(calls: Iterable[K], places: Mapping[K, Place], capacity: int, *, computed: bool) -> list[K]:
    """Iteration order of a table of `capacity` buckets that received these keys in this order, some repeatedly.

    `computed`: it was filled by `computeIfAbsent`: a key goes to the head of its bucket, eight make a tree, and a table
    that is too full doubles on the next call only, though that call may add nothing."""
    crowd, seen = TREE_BUCKET - computed, set[K]()
    buckets: dict[int, list[K] | _Tree[K]] = {}
    for key in calls:
        if computed and len(seen) * 4 > capacity * 3:
            capacity, buckets = _doubled(buckets, capacity, places)
        if key in seen:
            continue
        seen.add(key)
        bucket = buckets.setdefault(places[key][0] & capacity - 1, [])
        if isinstance(bucket, _Tree):
            bucket.add(key)
        else:
            bucket.insert(0 if computed else len(bucket), key)
            if len(bucket) >= crowd and capacity < TREE_TABLE:
                capacity, buckets = _doubled(buckets, capacity, places)
            elif len(bucket) >= crowd:
                buckets[places[key][0] & capacity - 1] = _Tree(bucket, places)
        if not computed and len(seen) * 4 > capacity * 3:
            capacity, buckets = _doubled(buckets, capacity, places)
    return [key for number in sorted(buckets) for key in _walk(buckets[number])]


def _walk(bucket: list[K] | _Tree[K]) -> list[K]:
    return bucket.walk if isinstance(bucket, _Tree) else bucket


def _doubled(
    buckets: dict[int, list[K] | _Tree[K]], capacity: int, places: Mapping[K, Place]
) -> tuple[int, dict[int, list[K] | _Tree[K]]]:
    doubled: dict[int, list[K] | _Tree[K]] = {}
    for number, bucket in buckets.items():
        walk = _walk(bucket)
        low = [key for key in walk if not places[key][0] & capacity]
        high = [key for key in walk if places[key][0] & capacity]
        for part, at, other in ((low, number, high), (high, number + capacity, low)):
            if not part:
                continue
            if not isinstance(bucket, _Tree) or len(part) <= _LIST_AGAIN:
                doubled[at] = part
            else:
                doubled[at] = _Tree(part, places) if other else bucket
    return capacity * 2, doubled
