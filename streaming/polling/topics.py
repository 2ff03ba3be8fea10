"""Asks brokers for their topics: every half minute, and at once when a record waits for a later sample.

no record waits     a request each `every_s`
one waits           as soon as its sample may be asked, at most one each second
brokers fail        pauses that grow to 30 s; the part is stated as failing, nothing else happens
"""

import time
from collections.abc import Callable

from rebalance_monitor.streaming.core.cluster.topics import TopicSample
from .asking import REQUESTS, BrokersAnswer
from .poller import LOOK_EVERY_S, Polled, Poller

PART = "topics"
SHORTEST_PAUSE_S = 1.0
MOST_KEPT = 8
"""Samples that are kept for the next batch."""


class TopicPoller(Poller[TopicSample]):
    """`ask` gives one answer and raises PartFailed if there is none."""

    def __init__(
        self,
        ask: Callable[[], BrokersAnswer],
        observer: Polled,
        every_s: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask, self._observer, self._every_s = ask, observer, every_s
        self._now_ms = now_ms
        self._wanted_ms: int | None = None
        self._asked_s = -every_s
        super().__init__(PART, observer, MOST_KEPT, clock_s)

    def want(self, from_ms: int) -> None:
        with self._lock:
            if self._wanted_ms is None or from_ms < self._wanted_ms:
                self._wanted_ms = from_ms

    def step(self) -> float:
        now_s = self._clock_s()
        wanted = self._wanted_ms is not None and self._now_ms() >= self._wanted_ms
        if now_s - self._asked_s < (SHORTEST_PAUSE_S if wanted else self._every_s):
            return LOOK_EVERY_S
        asked_ms, answered_ms, requests = self._now_ms(), None, REQUESTS
        try:
            answer = self._timed(self._ask)
            requests = answer.requests
            answered_ms = self._now_ms()
            self._keep(answer, asked_ms, answered_ms)
            self._asked_s = now_s
        finally:
            self._observer.polled(PART, requests, answered_ms)
        return LOOK_EVERY_S

    def _keep(self, answer: BrokersAnswer, asked_ms: int, answered_ms: int) -> None:
        with self._lock:
            last = self._kept[-1] if self._kept else None
            known = {} if last is None else last.topics
            topics = {**answer.topics, **{name: known[name] for name in answer.unclear if name in known}}
            # What did not change is kept once, however often it was said.
            topics = {name: known[name] if known.get(name) == held else held for name, held in topics.items()}
            self._kept.append(
                TopicSample(asked_ms, answered_ms, topics, dict(answer.racks), dict(answer.ids), dict(answer.ends))
            )
            if self._wanted_ms is not None and self._wanted_ms <= asked_ms:
                self._wanted_ms = None
