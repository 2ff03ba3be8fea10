"""Asks brokers for all groups, every ten seconds: the source of a cluster whose coordinator's log nobody may read.

each time           one question about all groups, two requests per broker
brokers fail        pauses that grow to 30 s; the part is stated as failing, and after a while the job is not ready
"""

import time
from collections.abc import Callable

from rebalance_monitor.streaming.core.reading.snapshots import SnapshotPoll
from rebalance_monitor.streaming.polling.asking_snapshots import GroupsAnswer
from rebalance_monitor.streaming.polling.poller import LOOK_EVERY_S, Polled, Poller

PART = "groups"
MOST_KEPT = 4
"""Answers that are kept for the next batch; each holds the bytes of all members."""


class SnapshotPoller(Poller[SnapshotPoll]):
    """`ask` gives one answer and raises PartFailed if there is none."""

    def __init__(
        self,
        ask: Callable[[], GroupsAnswer],
        observer: Polled,
        every_s: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask, self._observer, self._every_s, self._now_ms = ask, observer, every_s, now_ms
        self._asked_s = -every_s
        self._answered_s = clock_s()
        self._answered_ms = 0
        super().__init__(PART, observer, MOST_KEPT, clock_s)

    def step(self) -> float:
        """Asks, if it is time; returns the pause in seconds."""
        now_s = self._clock_s()
        if now_s - self._asked_s < self._every_s:
            return LOOK_EVERY_S
        asked_ms, requests = self._now_ms(), 1
        answered_ms: int | None = None
        try:
            answer = self._timed(self._ask)
            requests = answer.requests
            # A clock that was set back must not make this answer older than the one before.
            answered_ms = self._answered_ms = max(self._now_ms(), self._answered_ms + 1)
            poll = SnapshotPoll(asked_ms, answered_ms, answer.groups, answer.complete, answer.unclear)
            with self._lock:
                self._kept.append(poll)
            self._asked_s, self._answered_s = now_s, self._clock_s()
        finally:
            self._observer.polled(PART, requests, answered_ms)
        return LOOK_EVERY_S

    def due_ms(self) -> int:
        """When the next answer may be there, by the monitor's clock."""
        left_s = max(self._every_s - (self._clock_s() - self._asked_s), 0.0)
        return self._now_ms() + round(left_s * 1000)

    def problem(self, allowed_s: float) -> str | None:
        """The sentence that says for how long there was no answer; None if that is not longer than it may be."""
        silent_s = self._clock_s() - self._answered_s
        if silent_s <= self._every_s + allowed_s:
            return None
        return f"blind: no answer about the groups for {silent_s:.0f} s, so nothing is judged"
