"""Kafka's `ConstrainedPrioritySet`: clients by load, the least loaded that satisfies a constraint first.

The loads are looked up while clients are compared and change while clients are in the queue, so the queue may be out of
order; then the answer is what Java's sifting makes of it. Therefore this class sifts exactly as Java does, and offers
rejected clients again in the order of Java's hash set.
"""

from collections.abc import Container, Iterable, Sequence

from .tasks import HashOrders, ProcessId


class PrioritySet:
    """Numbers of clients, each at most once. `load` is read anew at every comparison; ties go to the smaller number."""

    __slots__ = ("_hash_orders", "_ids", "_load", "_members", "_queue")

    def __init__(self, load: Sequence[float], ids: Sequence[ProcessId], hash_orders: HashOrders) -> None:
        self._load = load
        self._ids = ids
        self._hash_orders = hash_orders
        self._queue: list[int] = []
        self._members: set[int] = set()

    def offer(self, client: int) -> None:
        """Put the client in, at the place its load now has."""
        if client in self._members:
            self._remove(client)
        else:
            self._members.add(client)
        self._queue.append(client)
        self._up(len(self._queue) - 1, client)

    def offer_all(self, clients: Iterable[int]) -> None:
        for client in clients:
            self.offer(client)

    def poll(self, accepted: Container[int]) -> int | None:
        """Take out the first client that is accepted; None if there is none."""
        queue = self._queue
        rejected: list[int] = []
        found = None
        while queue:
            first, last = queue[0], queue.pop()
            if queue:
                self._down(0, last)
            if first in accepted:
                found = first
                break
            rejected.append(first)
        if found is not None:
            self._members.remove(found)
        # They are still members, and none of them is in the queue.
        for client in self._hash_orders.clients(rejected, self._ids) if len(rejected) > 1 else rejected:
            queue.append(client)
            self._up(len(queue) - 1, client)
        return found

    def _remove(self, client: int) -> None:
        queue = self._queue
        at = queue.index(client)
        moved = queue.pop()
        if at == len(queue):
            return
        self._down(at, moved)
        if queue[at] == moved:
            self._up(at, moved)

    def _up(self, at: int, client: int) -> None:
        queue, load = self._queue, self._load
        mine = load[client]
        while at > 0:
            parent = queue[(at - 1) >> 1]
            theirs = load[parent]
            if mine > theirs or (mine == theirs and client > parent):
                break
            queue[at] = parent
            at = (at - 1) >> 1
        queue[at] = client

    def _down(self, at: int, client: int) -> None:
        queue, load = self._queue, self._load
        mine = load[client]
        size = len(queue)
        half = size >> 1
        while at < half:
            child = 2 * at + 1
            least = queue[child]
            if child + 1 < size:
                other = queue[child + 1]
                if load[least] > load[other] or (load[least] == load[other] and least > other):
                    child += 1
                    least = other
            theirs = load[least]
            if mine < theirs or (mine == theirs and client <= least):
                break
            queue[at] = least
            at = child
        queue[at] = client
