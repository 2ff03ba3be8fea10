"""True time: a queue of events, and the only source of chance."""

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

Step = Callable[[], None]
START_MS = 1_790_000_000_000
"""When the life of every simulated cluster begins, in ms of true time."""


class Queue:
    """Events in the order of their times; those of one time in the order in which they were asked for."""

    def __init__(self, seed: int, start_ms: float = START_MS) -> None:
        self.random = Random(seed)
        self.now_ms = start_ms
        self._events: list[tuple[float, int, Step]] = []
        self._asked = 0

    def after(self, delay_ms: float, step: Step) -> None:
        """Do this `delay_ms` from now."""
        self.at(self.now_ms + max(delay_ms, 0.0), step)

    def at(self, time_ms: float, step: Step) -> None:
        """Do this at a true time."""
        self._asked += 1
        heappush(self._events, (max(time_ms, self.now_ms), self._asked, step))

    def run(self, until_ms: float) -> None:
        """Let true time pass up to `until_ms`."""
        while self._events and self._events[0][0] <= until_ms:
            self.now_ms, _, step = heappop(self._events)
            step()
        self.now_ms = max(self.now_ms, until_ms)

    # -- how long things take ------------------------------------------------------------------------------------

    def between(self, least_ms: float, most_ms: float) -> float:
        """A duration, equally likely all the way."""
        return self.random.uniform(least_ms, most_ms)

    def trip(self) -> float:
        """One way over the network; now and then a slow one."""
        return self.between(0.2, 2.0) if self.random.random() < 0.97 else self.between(5.0, 60.0)
