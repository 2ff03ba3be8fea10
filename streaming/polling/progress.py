"""Asks brokers how far groups have come, every half minute: committed offsets, then end offsets.

each sample         at most 50 groups, and not many more than 10,000 partitions: of each group what it has committed,
                    then the ends of all these partitions at once: an end must not be older than a commit, nor much
                    younger
from the log        what the log tells (`logged_offsets`) is not asked for; a sample with such groups counts once the
                    log is read beyond it, and doubtful groups are asked for in the next one
each turn           all groups, in as many samples as that takes; at most 20 requests a second, and 10,000 partitions
                    in half a minute. Where that is too little, a turn takes longer, and its time is published
a group is refused  it is left out, and the part is stated as failing
brokers fail        what was answered is kept; pauses that grow to 30 s; nothing else happens
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from rebalance_monitor.streaming.core.cluster.changelogs import ChangelogEnds
from rebalance_monitor.streaming.core.cluster.progress import PartitionOffsets, ProgressSample
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.supervision import PartFailed
from .admin import next_of
from .asking_progress import COMMITTED_REQUESTS, EndsAnswer, GroupRefused, NamedPartition
from .logged_offsets import LoggedGroup, LoggedOffsets
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

    def progress_turn(self, seconds: float, from_log: int) -> None:
        """A turn through all groups is over; so long after the one before, or after its own beginning. `from_log`: how
        many groups the log told of."""


class _Unsure(NamedTuple):
    """A sample of which some groups were told by the log, and where partitions end."""

    sample: ProgressSample
    logged: Mapping[str, LoggedGroup]
    ends: Mapping[NamedPartition, int]


class ProgressPoller(Poller[ProgressSample]):
    """Asks the questions of `AskedOffsets`. `logged`: what the log tells of them; None: nothing."""

    def __init__(
        self,
        offsets: AskedOffsets,
        observer: TurnsPolled,
        every_s: float,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        clock_s: Callable[[], float] = time.monotonic,
        logged: LoggedOffsets | None = None,
    ) -> None:
        self._offsets, self._turns, self._every_s = offsets, observer, every_s
        self._now_ms, self._logged = now_ms, logged
        self._unsure: _Unsure | None = None
        self._from_log = 0
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
        if self._unsure is not None and self._settled(self._unsure) and not self._left:
            self._end_turn()
        if self._unsure is not None:
            return LOOK_EVERY_S
        if not watched or (self._turn_s is not None and now_s < self._due_s):
            return LOOK_EVERY_S
        if not self._left:
            self._left, self._refused = next_of(watched, self._last, len(watched))[::-1], []
            self._turn_s, self._from_log = now_s, 0
            if self._logged is not None:
                self._logged.keep(watched)
        assert self._turn_s is not None
        try:
            pause_s = self._sample(watched)
        except PartFailed:
            self._left, self._turn_s = [], None  # another turn begins behind the group that failed
            raise
        self._due_s = now_s + pause_s
        if not self._left and self._unsure is None:
            self._end_turn()
        return LOOK_EVERY_S

    def _end_turn(self) -> None:
        if self._turn_s is None:
            return
        self._due_s = max(self._due_s, self._turn_s + self._every_s)
        self._turns.progress_turn(self._due_s - self._turn_s, self._from_log)
        if self._refused:
            raise PartFailed(
                f"brokers refuse the committed offsets of {listed(self._refused)}: the monitor needs "
                "Describe on these groups",
                again_in_s=self._every_s,
            )

    def _settled(self, unsure: "_Unsure") -> bool:
        """Whether it is known by now of which groups the sample is sure: it is kept with these; brokers are asked for
        the others."""
        assert self._logged is not None
        sample = unsure.sample
        doubtful = self._logged.doubtful(unsure.logged, unsure.ends, sample.answered_ms)
        if doubtful is None:
            return False
        self._unsure = None
        self._from_log += len(unsure.logged.keys() - doubtful)
        self._keep(replace(sample, groups={one: told for one, told in sample.groups.items() if one not in doubtful}))
        if self._turn_s is not None:
            self._left += sorted(doubtful)
        return True

    def _keep(self, sample: ProgressSample) -> None:
        if sample.groups:
            with self._lock:
                self._kept.append(sample)

    def _sample(self, watched: frozenset[str]) -> float:
        """One sample of the next groups; returns how long after its beginning the next one may begin. What was
        answered before a failure counts."""
        asked_ms, requests, changelogs = self._now_ms(), 0, self._changelogs
        wanted: Changelogs = {}
        answered_ms: int | None = None
        committed: Committed = {}
        logged: dict[str, LoggedGroup] = {}
        refused: list[str] = []
        failed: PartFailed | None = None
        partitions = 0
        try:
            for _ in range(MOST_GROUPS):
                if partitions >= MOST_PARTITIONS or not self._left:
                    break
                group = self._last = self._left.pop()
                try:
                    told = None if self._logged is None else self._logged.of(group)
                    if told is None:
                        requests += COMMITTED_REQUESTS
                        committed[group] = self._asked(group)
                    else:
                        logged[group], committed[group] = told, told.offsets
                    if group in changelogs:
                        wanted = {**wanted, group: changelogs[group]}
                    partitions += len(committed[group]) + len(wanted.get(group, ()))
                except GroupRefused:
                    refused.append(group)
                except PartFailed as why:
                    failed = why
                    break
            ends_ms = self._now_ms()
            log = [] if self._logged is None or not logged else self._logged.partitions()
            ends, more = self._ends({place for one in (*committed.values(), *wanted.values(), log) for place in one})
            requests += more
            if committed or refused:
                answered_ms = self._now_ms()
            if committed and answered_ms is not None:
                ended = {
                    group: ChangelogEnds(ends_ms, answered_ms, _ended(places, ends)) for group, places in wanted.items()
                }
                asked_ms = min(asked_ms, *(one.read_ms for one in logged.values())) if logged else asked_ms
                sample = ProgressSample(
                    asked_ms,
                    answered_ms,
                    _offsets_by_group(committed, ends),
                    watched,
                    ended,
                    {name: one.changed_ms for name, one in logged.items() if one.changed_ms is not None},
                )
                if logged:
                    self._unsure = _Unsure(sample, logged, ends)
                else:
                    self._keep(sample)
        finally:
            self._refused += refused
            self._told.polled(PART, requests, answered_ms)
        if failed is not None:
            raise failed
        return max(requests / MOST_REQUESTS_S, partitions / MOST_PARTITIONS * self._every_s)

    def _asked(self, group: str) -> Mapping[NamedPartition, int]:
        """By brokers; from then on by the log."""
        followed = None if self._logged is None else self._logged.begin(group)
        told = self._timed(partial(self._offsets.committed, group))
        if self._logged is not None and followed is not None:
            self._logged.asked(followed, told)
        return told

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
