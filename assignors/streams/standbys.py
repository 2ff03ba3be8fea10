"""Standby copies by load: the default standby assignor."""

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Protocol


class Holders(Protocol):
    """Where standbys are placed: load per client, and which client holds a task."""

    @property
    def load(self) -> Sequence[float]:
        """Tasks per thread of each client."""

    def holds(self, client: int, task: int) -> bool:
        """Whether the client has the task in either role."""

    def give_standby(self, client: int, task: int) -> None:
        """Give the client a copy."""


def place_by_load(placement: Holders, wanted: Iterable[tuple[int, int]], clients: Iterable[int]) -> None:
    """For each (task, number of copies): a copy to the least loaded of these clients that do not hold the task, while
    there are any. Ties go to the smaller client.

    A client leaves the queue, gets the copy and returns with its new load, so the queue is always in order and a
    plain heap gives what Java's gives.
    """
    queue = [(placement.load[client], client) for client in clients]
    heapify(queue)
    for task, copies in wanted:
        rejected = []
        while copies > 0 and queue:
            entry = heappop(queue)
            client = entry[1]
            if placement.holds(client, task):
                rejected.append(entry)
            else:
                placement.give_standby(client, task)
                rejected.append((placement.load[client], client))
                copies -= 1
        for entry in rejected:
            heappush(queue, entry)


MayMove = Callable[[int, int], bool]
"""Whether standbys may move from the first client to the second."""

MayMoveTask = Callable[[int, int, int], bool]
"""Whether the standby of a task (third) may move from the first client to the second."""


def always(source: int, destination: int) -> bool:
    """Any standby may move anywhere."""
    return True


def always_task(source: int, destination: int, task: int) -> bool:
    """Any standby may move anywhere."""
    return True
