"""Java's `PriorityQueue`: among equal entries the position in the array decides, so the sifting is Java's own."""

from typing import Generic, TypeVar

T = TypeVar("T")


class JavaHeap(Generic[T]):
    """A heap of entries with a number as key; a key must not change while its entry is inside."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: list[tuple[float, T]] = []

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, key: float, entry: T) -> None:
        """Append the entry and lift it past parents with a greater key."""
        queue = self._queue
        at = len(queue)
        new = (key, entry)
        queue.append(new)
        while at > 0:
            parent = (at - 1) >> 1
            if key >= queue[parent][0]:
                break
            queue[at] = queue[parent]
            at = parent
        queue[at] = new

    def poll(self) -> T:
        """Take the first entry; the last one sinks from the top, to the left where both children are equal."""
        queue = self._queue
        first = queue[0][1]
        last = queue.pop()
        size = len(queue)
        if not size:
            return first
        at, half = 0, size >> 1
        while at < half:
            child = 2 * at + 1
            if child + 1 < size and queue[child][0] > queue[child + 1][0]:
                child += 1
            if last[0] <= queue[child][0]:
                break
            queue[at] = queue[child]
            at = child
        queue[at] = last
        return first
