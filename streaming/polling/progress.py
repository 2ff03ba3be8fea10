"""Asks brokers how far some groups have come, every half minute: committed offsets, then end offsets.

each time           the groups in turn, at most 50 of them and not many more than 10,000 partitions
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
"""Groups that are asked for each time: two requests each."""
MOST_PARTITIONS = 10_000
MOST_KEPT = 8
"""Samples that are kept for the next batch."""

Committed = dict[str, Mapping[NamedPartition, int]]
Changelogs: TypeAlias = Mapping[str, Collection[NamedPartition]]
"""The partitions of each application's changelogs."""


class AskedOffsets(Protocol):
    """Gives one answer to each question and raises PartFailed if there is none."""

    def committed(self, group: str) -> Mapping[NamedPartition, int]:
        """What a group has committed. Raises GroupRefused."""
        ...

    def ends(self, partitions: Collection[NamedPartition]) -> EndsAnswer:
        """Where these partitions end."""
        ...


class ProgressPoller(Poller[ProgressSample]):
    """Asks the questions of `AskedOffsets`."""

    def __init__(
        self,
        offsets: AskedOffsets,
        observer: Polled,
        every_s: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._offsets, self._observer, self._every_s = offsets, observer, every_s
        self._now_ms = now_ms
        self._watched: frozenset[str] = frozenset()
        self._changelogs: Changelogs = {}
        self._last: str | None = None
        self._asked_s = -every_s
        super().__init__(PART, observer, MOST_KEPT, clock_s)

    def watch(self, groups: Collection[str], changelogs: Changelogs | None = None) -> None:
        """The groups that are to be asked for, and the partitions of changelogs that some of them have."""
        self._watched, self._changelogs = frozenset(groups), changelogs or {}

    def step(self) -> float:
        now_s = self._clock_s()
        if now_s - self._asked_s < self._every_s:
            return LOOK_EVERY_S
        watched = self._watched
        refused = self._round(watched) if watched else []
        self._asked_s = now_s
        if refused:
            raise PartFailed(
                f"brokers refuse the committed offsets of {listed(refused)}: the monitor needs "
                "Describe on these groups",
                again_in_s=self._every_s,
            )
        return LOOK_EVERY_S

    def _round(self, watched: frozenset[str]) -> list[str]:
        """One sample of some groups; returns those that were refused. What was answered before a failure counts."""
        asked_ms, requests, changelogs = self._now_ms(), 0, self._changelogs
        wanted: Changelogs = {}
        answered_ms: int | None = None
        committed: Committed = {}
        refused: list[str] = []
        failed: PartFailed | None = None
        try:
            for group in next_of(sorted(watched), self._last, MOST_GROUPS):
                if sum(map(len, (*committed.values(), *wanted.values()))) >= MOST_PARTITIONS:
                    break
                self._last, requests = group, requests + COMMITTED_REQUESTS
                try:
                    committed[group] = self._timed(partial(self._offsets.committed, group))
                    if group in changelogs:
                        wanted = {**wanted, group: changelogs[group]}
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
            self._observer.polled(PART, requests, answered_ms)
        if failed is not None:
            raise failed
        return refused

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
