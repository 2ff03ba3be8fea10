"""How far the committed positions are behind the cluster, in time. Pure: times are given, never taken.

A sample says what the end offsets were at its time. Positions that have reached all ends of a sample are behind by the
age of that sample at most, whatever was written since. So a busy cluster is up to date although some record is always
unread, and a reader that hangs falls behind although nothing is written.

    sampled at 10.0 s: ends 500      committed 480      behind: more than is known
    sampled at 10.5 s: ends 900      committed 700      behind: now - 10.0 s
    sampled at 11.0 s: ends 1300     committed 900      behind: now - 10.5 s
"""

import threading
from collections import deque
from dataclasses import dataclass

from .offsets import Offset, Sample

MARKS = 20
"""Samples that are kept within the longest allowed lag; one every twentieth of it is close enough."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A sample, when it was begun, and the names of the topics that were asked for."""

    at_s: float
    sample: Sample
    names: tuple[str, ...]


class Lag:
    """Positions against samples. `sampled` and `committed` may be called from different threads."""

    def __init__(self, max_lag_s: float) -> None:
        self._max_lag_s = max_lag_s
        self._lock = threading.Lock()
        self._marks: deque[_Mark] = deque()
        self._newest: _Mark | None = None
        self._committed = Offset()
        self._reached_s: float | None = None
        self._all_reached_s: float | None = None

    def sampled(self, at_s: float, sample: Sample, names: tuple[str, ...]) -> None:
        """A sample that was begun at `at_s`. One that leaves a partition out says nothing and is passed over."""
        if not sample.complete:
            return
        with self._lock:
            mark = _Mark(at_s, sample, names)
            if self._newest is None or self._newest.names != names:
                self._all_reached_s = None
            self._newest = mark
            if self._covers(mark):
                self._reach(mark)
            elif not self._marks or at_s - self._marks[-1].at_s >= self._max_lag_s / MARKS:
                self._marks.append(mark)
            # Older ones can make nothing current any more.
            while self._marks and at_s - self._marks[0].at_s > self._max_lag_s:
                self._marks.popleft()

    def committed(self, offset: Offset) -> None:
        """Everything before this offset is stored."""
        with self._lock:
            self._committed = offset
            # Newest first: a mark with the partitions of a topic that was deleted since is never reached.
            for mark in (*((self._newest,) if self._newest is not None else ()), *reversed(self._marks)):
                if self._covers(mark):
                    self._reach(mark)
                    break

    def current(self, now_s: float) -> bool:
        """Whether the ends of at most the longest allowed lag ago are reached."""
        with self._lock:
            return self._fresh(self._reached_s, now_s)

    def all_current(self, now_s: float) -> bool:
        """As `current`, of a sample with every topic that is asked for now: one found a moment ago is read as well."""
        with self._lock:
            return self._fresh(self._all_reached_s, now_s)

    def behind_s(self, now_s: float) -> float | None:
        """The age of the newest ends that are reached; None before the first."""
        with self._lock:
            return None if self._reached_s is None else max(0.0, now_s - self._reached_s)

    def _fresh(self, reached_s: float | None, now_s: float) -> bool:
        return reached_s is not None and now_s - reached_s <= self._max_lag_s

    def _covers(self, mark: _Mark) -> bool:
        if self._committed.tick_ms == 0:
            return False  # before the first tick of a query its positions are those of the start
        at = self._committed.partitions
        return all(at.get(key, -1) >= bounds.end for key, bounds in mark.sample.bounds.items())

    def _reach(self, mark: _Mark) -> None:
        self._reached_s = mark.at_s if self._reached_s is None else max(self._reached_s, mark.at_s)
        if self._newest is not None and mark.names == self._newest.names:
            self._all_reached_s = max(mark.at_s, self._all_reached_s or mark.at_s)
        while self._marks and self._marks[0].at_s <= mark.at_s:
            self._marks.popleft()
