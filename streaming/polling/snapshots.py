"""Asks brokers for all groups, every ten seconds: the source of a cluster whose coordinator's log nobody may read.

each time           one question about all groups, two requests per broker
brokers fail        pauses that grow to 30 s; the part is stated as failing, and after a while the job is not ready
a group is refused  that was described before: the others go on, and the part states which one
"""

import time
from collections.abc import Callable, Collection

from rebalance_monitor.streaming.core.reading.snapshots import SnapshotPoll
from rebalance_monitor.streaming.supervision import PartFailed
from .asking_snapshots import GroupsAnswer, not_described
from .poller import LOOK_EVERY_S, Polled, Poller

PART = "groups"
MOST_KEPT = 4
"""Answers that are kept for the next batch; each holds the bytes of all members."""


HIDDEN_AFTER = 3
"""Answers in a row that do not describe a group, before that is stated."""


class SnapshotPoller(Poller[SnapshotPoll]):
    """`ask` is given the groups that were described before; it gives one answer and raises PartFailed if there is
    none."""

    def __init__(
        self,
        ask: Callable[[Collection[str]], GroupsAnswer],
        observer: Polled,
        every_s: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask, self._observer, self._every_s, self._now_ms = ask, observer, every_s, now_ms
        self._asked_s = -every_s
        self._answered_s = clock_s()
        self._answered_ms = 0
        self._described: set[str] = set()
        self._unclear: dict[str, int] = {}
        self._gone: dict[str, int] = {}
        super().__init__(PART, observer, MOST_KEPT, clock_s)

    def step(self) -> float:
        now_s = self._clock_s()
        if now_s - self._asked_s < self._every_s:
            return LOOK_EVERY_S
        asked_ms, requests = self._now_ms(), 1
        answered_ms: int | None = None
        try:
            expected = self._expected()
            answer = self._timed(lambda: self._ask(expected))
            requests = answer.requests
            # A clock that was set back must not make this answer older than the one before.
            answered_ms = self._answered_ms = max(self._now_ms(), self._answered_ms + 1)
            poll = SnapshotPoll(
                asked_ms, answered_ms, answer.groups, answer.complete, frozenset(answer.unclear), answer.others
            )
            with self._lock:
                self._kept.append(poll)
            self._asked_s, self._answered_s = now_s, self._clock_s()
        finally:
            self._observer.polled(PART, requests, answered_ms)
        hidden = self._hidden(answer)
        if hidden:
            raise PartFailed(not_described(hidden), again_in_s=self._every_s)
        return LOOK_EVERY_S

    def _hidden(self, answer: GroupsAnswer) -> dict[str, str]:
        """Groups that were described before and were not in several answers in a row, with the last reason. One answer
        says little: a coordinator may be on its way to another broker."""
        with self._lock:
            self._described |= answer.groups.keys()
            there = answer.groups.keys() | answer.unclear.keys() | answer.others.keys()
            gone = self._described - there if answer.complete else frozenset[str]()
            self._gone = {name: self._gone.get(name, 0) + 1 for name in gone}
            self._described -= {name for name, times in self._gone.items() if times >= HIDDEN_AFTER}
        self._unclear = {name: self._unclear.get(name, 0) + 1 for name in answer.unclear if name in self._described}
        return {name: answer.unclear[name] for name, times in self._unclear.items() if times >= HIDDEN_AFTER}

    def expect(self, groups: Collection[str]) -> None:
        """These groups were polled by a job before this one."""
        with self._lock:
            self._described |= set(groups)

    def _expected(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._described)

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
