"""Asks brokers how far groups have come, every half minute: committed offsets, then end offsets.

each sample         at most 50 groups, and not many more than 10,000 partitions: of each group what it has committed,
                    then the ends of all these partitions at once: an end must not be older than a commit, nor much
                    younger
each turn           all groups, in as many samples as that takes; at most 20 requests a second, and 10,000 partitions
                    in half a minute. Where that is too little, a turn takes longer, and its time is published
a group is refused  it is left out, and the part is stated as failing
brokers fail        what was answered is kept; pauses that grow to 30 s; nothing else happens
"""

import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Protocol, TypeAlias

from rebalance_monitor.streaming.core.cluster.changelogs import ChangelogEnds
from rebalance_monitor.streaming.core.cluster.progress import PartitionOffsets, ProgressSample
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.supervision import PartFailed
from .admin import next_of
from .asking_progress import COMMITTED_REQUESTS, EndsAnswer, GroupRefused, NamedPartition
from .poller import LOOK_EVERY_S, Polled, Poller

PART = "progress"
MOST_GROUPS = 50
"""Groups of one sample: two requests each."""
MOST_PARTITIONS = 10_000
"""Partitions that are asked for in the time of one turn."""
MOST_REQUESTS_S = 20.0
"""Requests in a second, as the mean of a sample and the pause behind it."""
MOST_KEPT = 48
"""Samples that are kept for the next batch."""

Committed = dict[str, Mapping[NamedPartition, int]]
Changelogs: TypeAlias = Mapping[str, Collection[NamedPartition]]
"""The partitions of each application's changelogs."""


class AskedOffsets(Protocol):
    """Gives one answer to each question and raises PartFailed if there is none."""

    def committed(self, group: str) -> Mapping[NamedPartition, int]:
        """What a group has committed. Raises GroupRefused."""

    def ends(self, partitions: Collection[NamedPartition]) -> EndsAnswer:
        """Where these partitions end."""


class TurnsPolled(Polled, Protocol):
    """Who is told how the poller is doing."""

    def progress_turn(self, seconds: float) -> None:
        """A turn through all groups is over; so long after the one before, or after its own beginning."""


class ProgressPoller(Poller[ProgressSample]):
    """Asks the questions of `AskedOffsets`."""

    def __init__(
        self,
        offsets: AskedOffsets,
        observer: TurnsPolled,
        every_s: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._offsets, self._turns, self._every_s = offsets, observer, every_s
        self._now_ms = now_ms
        self._watched: frozenset[str] = frozenset()
        self._changelogs: Changelogs = {}
        self._last: str | None = None
        self._left: list[str] = []  # of this turn, the next one last
        self._refused: list[str] = []
        self._turn_s: float | None = None
        self._due_s = 0.0
        super().__init__(PART, observer, MOST_KEPT, clock_s)

    def watch(self, groups: Collection[str], changelogs: Changelogs | None = None) -> None:
        self._watched, self._changelogs = frozenset(groups), changelogs or {}

    def step(self) -> float:
        now_s, watched = self._clock_s(), self._watched
        if not watched or (self._turn_s is not None and now_s < self._due_s):
            return LOOK_EVERY_S
        if not self._left:
            self._left, self._refused = next_of(watched, self._last, len(watched))[::-1], []
            self._turn_s = now_s
        assert self._turn_s is not None
        try:
            pause_s = self._sample(watched)
        except PartFailed:
            self._left, self._turn_s = [], None  # another turn begins behind the group that failed
            raise
        self._due_s = now_s + pause_s
        if not self._left:
            self._due_s = max(self._due_s, self._turn_s + self._every_s)
            self._turns.progress_turn(self._due_s - self._turn_s)
            if self._refused:
                raise PartFailed(
                    f"brokers refuse the committed offsets of {listed(self._refused)}: the monitor needs "
                    "Describe on these groups",
                    again_in_s=self._every_s,
                )
        return LOOK_EVERY_S

    def _sample(self, watched: frozenset[str]) -> float:
        """One sample of the next groups; returns how long after its beginning the next one may begin. What was
        answered before a failure counts."""
        asked_ms, requests, changelogs = self._now_ms(), 0, self._changelogs
        wanted: Changelogs = {}
        answered_ms: int | None = None
        committed: Committed = {}
        refused: list[str] = []
        failed: PartFailed | None = None
        partitions = 0
        try:
            for _ in range(MOST_GROUPS):
                if partitions >= MOST_PARTITIONS or not self._left:
                    break
                group = self._left.pop()
                self._last, requests = group, requests + COMMITTED_REQUESTS
                try:
                    committed[group] = self._timed(partial(self._offsets.committed, group))
                    if group in changelogs:
                        wanted = {**wanted, group: changelogs[group]}
                    partitions += len(committed[group]) + len(wanted.get(group, ()))
                except GroupRefused:
                    refused.append(group)
                except PartFailed as why:
                    failed = why
                    break
            ends_ms = self._now_ms()
            ends, more = self._ends({place for told in (*committed.values(), *wanted.values()) for place in told})
            requests += more
            if committed or refused:
                answered_ms = self._now_ms()
            if committed and answered_ms is not None:
                ended = {
                    group: ChangelogEnds(ends_ms, answered_ms, _ended(places, ends)) for group, places in wanted.items()
                }
                sample = ProgressSample(asked_ms, answered_ms, _offsets_by_group(committed, ends), watched, ended)
                with self._lock:
                    self._kept.append(sample)
        finally:
            self._refused += refused
            self._told.polled(PART, requests, answered_ms)
        if failed is not None:
            raise failed
        return max(requests / MOST_REQUESTS_S, partitions / MOST_PARTITIONS * self._every_s)

    def _ends(self, wanted: Collection[NamedPartition]) -> tuple[Mapping[NamedPartition, int], int]:
        if not wanted:
            return {}, 0
        answer = self._timed(partial(self._offsets.ends, wanted))
        return answer.ends, answer.requests


def _ended(places: Collection[NamedPartition], ends: Mapping[NamedPartition, int]) -> dict[str, int]:
    return {f"{topic}-{number}": ends[topic, number] for topic, number in places if (topic, number) in ends}


def _offsets_by_group(
    committed: Committed, ends: Mapping[NamedPartition, int]
) -> dict[str, dict[str, PartitionOffsets]]:
    return {
        group: {
            f"{topic}-{number}": PartitionOffsets(offset, ends.get((topic, number)))
            for (topic, number), offset in offsets.items()
        }
        for group, offsets in committed.items()
    }
