"""Asks brokers for their topics: every half minute, and at once when a record waits for a later sample.

no record waits     a request each `every_s`
one waits           as soon as its sample may be asked, at most one each second
brokers fail        pauses that grow to 30 s; the part is stated as failing, nothing else happens
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from rebalance_monitor.streaming.core.cluster.topics import TopicSample
from rebalance_monitor.streaming.polling.asking import REQUESTS, BrokersAnswer
from rebalance_monitor.streaming.supervision import Answerable, Supervised

PART = "topics"
SHORTEST_PAUSE_S = 1.0
LOOK_EVERY_S = 0.2
HANGS_S = 30.0
"""Longer than all requests of one answer may take."""
MOST_KEPT = 8
"""Samples that are kept for the next batch."""


class Polled(Answerable, Protocol):
    """Who is told how the poller is doing."""

    def polled(self, poller: str, requests: int, answered_ms: int | None) -> None:
        """So many requests were made; `answered_ms`: when the answer came, None if none did."""
        ...


class TopicPoller:
    """A thread from `start` to `stop`. `ask` gives one answer and raises PartFailed if there is none."""

    def __init__(
        self,
        ask: Callable[[], BrokersAnswer],
        observer: Polled,
        every_s: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask, self._observer, self._every_s = ask, observer, every_s
        self._now_ms, self._clock_s = now_ms, clock_s
        self._lock = threading.Lock()
        self._samples: deque[TopicSample] = deque(maxlen=MOST_KEPT)
        self._wanted_ms: int | None = None
        self._asked_s = -every_s
        self._asking_since_s: float | None = None
        self._thread = Supervised(PART, self.step, observer)

    def start(self) -> None:
        """Returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """No further request."""
        self._thread.stop(timeout_s=1.0)

    def since(self, answered_ms: int | None) -> Sequence[TopicSample]:
        """The samples after the one that was answered then, oldest first; None: all that are kept."""
        with self._lock:
            return [one for one in self._samples if answered_ms is None or one.answered_ms > answered_ms]

    def want(self, from_ms: int) -> None:
        """A sample is wanted that is asked at this time or later."""
        with self._lock:
            if self._wanted_ms is None or from_ms < self._wanted_ms:
                self._wanted_ms = from_ms

    def look(self) -> None:
        """Says so where a request does not end at all."""
        since_s = self._asking_since_s
        if since_s is not None and self._clock_s() - since_s > HANGS_S:
            self._observer.part(PART, f"no answer and no error from the brokers for {self._clock_s() - since_s:.0f} s")

    def step(self) -> float:
        """Asks, if it is time; returns the pause in seconds."""
        now_s = self._clock_s()
        wanted = self._wanted_ms is not None and self._now_ms() >= self._wanted_ms
        if now_s - self._asked_s < (SHORTEST_PAUSE_S if wanted else self._every_s):
            return LOOK_EVERY_S
        asked_ms, self._asking_since_s = self._now_ms(), now_s
        answered_ms: int | None = None
        try:
            answer = self._ask()
            answered_ms = self._now_ms()
            self._keep(answer, asked_ms, answered_ms)
            self._asked_s = now_s
        finally:
            self._asking_since_s = None
            self._observer.polled(PART, REQUESTS, answered_ms)
        return LOOK_EVERY_S

    def _keep(self, answer: BrokersAnswer, asked_ms: int, answered_ms: int) -> None:
        with self._lock:
            last = self._samples[-1] if self._samples else None
            known = {} if last is None else last.topics
            topics = {**answer.topics, **{name: known[name] for name in answer.unclear if name in known}}
            # What did not change is kept once, however often it was said.
            topics = {name: known[name] if known.get(name) == held else held for name, held in topics.items()}
            self._samples.append(TopicSample(asked_ms, answered_ms, topics, dict(answer.racks), dict(answer.ids)))
            if self._wanted_ms is not None and self._wanted_ms <= asked_ms:
                self._wanted_ms = None
