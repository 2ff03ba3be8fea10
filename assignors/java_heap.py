"""Java's `PriorityQueue`: a binary heap whose array order shows in Kafka's answers.

Kafka walks some of these queues as arrays, removes elements from their middle, and keeps elements that compare equal;
what comes out then depends on every step of the sifting, so a sorted list or Python's `heapq` (which sifts another
way) gives other answers. Entries are `(key, payload)`; only the keys are compared.

Example: [5, 3, 8, 1, 9, 2, 7] is arranged as [1, 3, 2, 5, 9, 8, 7]; without 3 it is [1, 5, 2, 7, 9, 8].
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

P = TypeVar("P")


class JavaHeap(Generic[P]):
    """Entries of a priority queue, smallest key first; keys are numbers."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[tuple[float, P]] = ()) -> None:
        """Arrange entries in place, as the constructor does that takes a collection."""
        self._entries = list(entries)
        for at in range(len(self._entries) // 2 - 1, -1, -1):
            self._down(at, self._entries[at])

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[float, P]]:
        """The array from front to back, which is not sorted."""
        return iter(self._entries)

    def add(self, key: float, payload: P) -> None:
        """Append an entry and move it up while its parent is larger."""
        self._entries.append((key, payload))
        self._up(len(self._entries) - 1, (key, payload))

    def poll(self) -> tuple[float, P] | None:
        """Take the smallest entry; None from an empty queue."""
        entries = self._entries
        if not entries:
            return None
        first, last = entries[0], entries.pop()
        if entries:
            self._down(0, last)
        return first

    def remove(self, key: float) -> None:
        """Take out the first entry of the array that has this key. Raises ValueError without one."""
        entries = self._entries
        at = next((number for number, entry in enumerate(entries) if entry[0] == key), None)
        if at is None:
            raise ValueError(f"the queue holds no entry with key {key}")
        moved = entries.pop()
        if at == len(entries):
            return
        self._down(at, moved)
        if entries[at] is moved:
            self._up(at, moved)

    def _up(self, at: int, entry: tuple[float, P]) -> None:
        entries, key = self._entries, entry[0]
        while at > 0:
            parent = (at - 1) >> 1
            if key >= entries[parent][0]:
                break
            entries[at] = entries[parent]
            at = parent
        entries[at] = entry

    def _down(self, at: int, entry: tuple[float, P]) -> None:
        entries, key = self._entries, entry[0]
        size = len(entries)
        while at < size >> 1:
            child = 2 * at + 1
            if child + 1 < size and entries[child][0] > entries[child + 1][0]:
                child += 1
            if key <= entries[child][0]:
                break
            entries[at] = entries[child]
            at = child
        entries[at] = entry
