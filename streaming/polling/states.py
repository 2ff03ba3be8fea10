"""Asks brokers which groups rebalance, every ten seconds: a rebalance that does not end leaves no record.

each time           one question about all consumer groups
beside it           a few Connect groups, by name, in turn
now and then        whether the monitor may describe all groups
brokers fail        pauses that grow to 30 s; the part is stated as failing, nothing else happens
some brokers fail   the part is stated as failing; what the others say counts, and they are asked as often as before
"""

import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from rebalance_monitor.streaming.core.cluster.group_states import StatePoll
from rebalance_monitor.streaming.supervision import PartFailed
from .admin import next_of
from .asking_states import StateAnswer
from .poller import LOOK_EVERY_S, Polled, Poller

PART = "group_states"
MOST_BY_NAME = 5
"""Connect groups that are asked for each time: each takes a request to every broker."""
RIGHTS_EVERY_S = 600.0
MOST_KEPT = 16
"""Polls that are kept for the next batch."""


class States(Protocol):
    """Gives one answer to each question and raises PartFailed if there is none."""

    def consumers(self) -> StateAnswer:
        """All consumer groups."""

    def group(self, name: str) -> StateAnswer:
        """One group of any kind."""

    def refused(self) -> bool:
        """Whether groups may be left out because the monitor may not see them."""


class Watched(Polled, Protocol):
    """Who is told how the poller is doing."""

    def groups_unseen(self, *, unseen: bool) -> None:
        """Whether brokers leave out groups that the monitor may not describe."""


class StatePoller(Poller[StatePoll]):
    """Asks the questions of `States`."""

    def __init__(
        self,
        states: States,
        observer: Watched,
        every_s: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._states, self._observer, self._every_s = states, observer, every_s
        self._now_ms = now_ms
        self._named: frozenset[str] = frozenset()
        self._last_named: str | None = None
        self._asked_s, self._rights_s = -every_s, -RIGHTS_EVERY_S
        super().__init__(PART, observer, MOST_KEPT, clock_s)

    def name(self, groups: Collection[str]) -> None:
        self._named = frozenset(groups)

    def step(self) -> float:
        now_s = self._clock_s()
        if now_s - self._asked_s < self._every_s:
            return LOOK_EVERY_S
        named = self._named
        if now_s - self._rights_s >= RIGHTS_EVERY_S:
            self._observer.groups_unseen(unseen=self._timed(self._states.refused))
            self._rights_s = now_s
        answer = self._poll(self._states.consumers, of=None, apart=named)
        for group in next_of(sorted(named), self._last_named, MOST_BY_NAME):
            self._last_named = group
            self._poll(partial(self._states.group, group), of=frozenset({group}))
        self._asked_s = now_s
        if answer.failures:
            raise PartFailed(
                f"{len(answer.failures)} of {answer.requests} brokers did not say which groups rebalance "
                f"({answer.failures[0]})",
                again_in_s=self._every_s,
            )
        return LOOK_EVERY_S

    def _poll(
        self, ask: Callable[[], StateAnswer], of: frozenset[str] | None, apart: frozenset[str] = frozenset()
    ) -> StateAnswer:
        asked_ms, requests = self._now_ms(), 1
        answered_ms: int | None = None
        try:
            answer = self._timed(ask)
            answered_ms, requests = self._now_ms(), answer.requests
            poll = StatePoll(asked_ms, answered_ms, answer.states, of=of, apart=apart)
            with self._lock:
                self._kept.append(poll)
            return answer
        finally:
            self._observer.polled(PART, requests, answered_ms)
