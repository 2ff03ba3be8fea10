"""A thread that asks brokers something, again and again, and keeps the last answers for the next batch."""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from rebalance_monitor.streaming.supervision import Answerable, Supervised

LOOK_EVERY_S = 0.2
HANGS_S = 30.0
"""Longer than all requests of one answer may take."""
R = TypeVar("R")


class Answered(Protocol):
    """An answer with the time it came, ms by the monitor's clock."""

    @property
    def answered_ms(self) -> int: ...


A = TypeVar("A", bound=Answered)


class Polled(Answerable, Protocol):
    """Who is told how a poller is doing."""

    def polled(self, poller: str, requests: int, answered_ms: int | None) -> None:
        """So many requests were made; `answered_ms`: when the answer came, None if none did."""


class Poller(ABC, Generic[A]):
    """Runs from `start` to `stop`. `step` asks, if it is time, and raises PartFailed if nobody answers."""

    def __init__(self, part: str, observer: Polled, most_kept: int, clock_s: Callable[[], float]) -> None:
        self._part, self._told, self._clock_s = part, observer, clock_s
        self._lock = threading.Lock()
        self._kept: deque[A] = deque(maxlen=most_kept)
        self._asking_since_s: float | None = None
        self._thread = Supervised(part, self.step, observer)

    @abstractmethod
    def step(self) -> float:
        """Asks, if it is time; returns the pause in seconds."""

    def start(self, cluster: str = "") -> None:
        """Returns at once. `cluster`: whose brokers it asks, for its log."""
        if cluster:
            self._thread.fields["cluster"] = cluster
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop(timeout_s=1.0)

    def since(self, answered_ms: int | None) -> Sequence[A]:
        """The answers after the one of this time, oldest first; None: all that are kept."""
        with self._lock:
            return [one for one in self._kept if answered_ms is None or one.answered_ms > answered_ms]

    def look(self) -> None:
        """Says so where a request does not end at all."""
        since_s = self._asking_since_s
        if since_s is not None and self._clock_s() - since_s > HANGS_S:
            self._told.part(
                self._part, f"no answer and no error from the brokers for {self._clock_s() - since_s:.0f} s"
            )

    def _timed(self, ask: Callable[[], R]) -> R:
        self._asking_since_s = self._clock_s()
        try:
            return ask()
        finally:
            self._asking_since_s = None
