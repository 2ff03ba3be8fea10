"""The herder's thread of one worker: one thing at a time.

It looks again whenever something wakes it. While it stops or starts jobs or reads a topic it is occupied: what comes
meanwhile waits, replies of the group first, then what REST asks for.
"""

from abc import abstractmethod
from collections import deque

from lab.simulated.process import Process
from lab.simulated.queue import Queue, Step


class Herder(Process):
    """The thread, and what waits for it."""

    def __init__(self, queue: Queue) -> None:
        super().__init__(queue)
        self.leaving = False
        self._busy = False
        self._busy_since_ms = 0.0
        self._ticking = False
        self._replies: deque[Step] = deque()
        self._requests: deque[Step] = deque()

    def wake(self) -> None:
        """There is something to look at."""
        if not self._ticking and not self.leaving:
            self._ticking = True
            self.later(self.queue.between(0.2, 3), self._tick)

    def request(self, step: Step) -> None:
        """Ask the herder to do something, as REST calls do; done between two ticks."""
        self._requests.append(step)
        self.wake()

    def _occupied(self) -> None:
        self._busy, self._busy_since_ms = True, self.queue.now_ms

    def _free(self, then: Step | None = None) -> None:
        self._busy = False
        if then is not None:
            then()
        if not self._busy:
            self.wake()

    def occupy(self, for_ms: float) -> None:
        """The herder is stuck for so long, in a connector's start for example."""
        self._occupied()
        self.later(for_ms, self._free)

    def _tick(self) -> None:
        self._ticking = False
        if self._busy or self.leaving:
            return
        if self._replies:
            self._replies.popleft()()
            self.wake()
            return
        if self._requests:
            self._requests.popleft()()
            self.wake()
            return
        if not self._take_up_updates():
            self._go_on()

    @abstractmethod
    def _take_up_updates(self) -> bool:
        """Config changes since the last look; whether the herder is occupied with them."""

    @abstractmethod
    def _go_on(self) -> None:
        """Join where that is asked for, else resolve the rebalance that has come."""
