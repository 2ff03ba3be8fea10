"""Committed offsets of groups by the coordinator's log, for `lag.from: log`: what the job reads anyway.

    group is new     its commits are kept from here on (`begin`), and brokers are asked once what it has committed
    log read so far  what was asked counts, with all commits over it that came since: no older one comes any more
    then             the group is told from memory (`of`), as of the time until which the log was read
    a sample later   the log was read beyond the sample's end: only now it is sure that no transaction was in it

A commit in a transaction is a record like any other, before the transaction ends; that it did shows by its marker, an
offset at which no reader gets a record. So of a partition of the log in which an offset was missing nothing is told
for a while, nor of one in which a transaction is open: its last stable offset lies before what was read. Brokers are
asked for groups of such a partition, as they are for all groups while the log is not read up to a few seconds ago.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple

from rebalance_monitor.streaming.core.reading.coordinators import home_partition
from rebalance_monitor.streaming.core.reading.last_commits import LoggedCommits
from .asking_progress import NamedPartition

FRESH_MS = 5_000
"""So old the newest time may be until which the log was read."""
DOUBTED_MS = 60_000
"""Brokers are asked for so long after the last sign of a transaction in a partition."""


class ReadOfLog(NamedTuple):
    """What a batch read of one partition of the log. `end`: the next offset; `whole`: none was missing, and every
    commit could be read; `groups`: the last commits of each."""

    end: int
    whole: bool
    groups: Mapping[str, LoggedCommits]


@dataclass(slots=True)
class FollowedGroup:
    """A group whose commits are kept. `since_ms`: until then the log must be read first; None: it was not asked yet."""

    offsets: dict[NamedPartition, int | None] = field(default_factory=dict)
    since_ms: int | None = None
    changed_ms: int | None = None


class LoggedGroup(NamedTuple):
    """As of `read_ms`. `changed_ms`: when a commit last changed an offset, by the coordinator's clock; None where none
    came. `home` of the log was read up to offset `end`, and `life` counts how often it was doubted."""

    offsets: Mapping[NamedPartition, int]
    read_ms: int
    changed_ms: int | None
    home: int
    end: int
    life: int


@dataclass(slots=True)
class _Home:
    """A partition of the log: the next offset, how often it was doubted, and when last."""

    end: int
    life: int = 0
    doubted_ms: int | None = None


class LoggedOffsets:
    """Told by the job's batches, asked by the poller; each in a thread of its own. `topic`: the log; `patterns`: of the
    groups whose commits are read."""

    def __init__(
        self,
        topic: str,
        patterns: tuple[str, ...],
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.topic, self.patterns, self._now_ms = topic, patterns, now_ms
        self._lock = threading.Lock()
        self._homes: dict[int, _Home] = {}
        self._groups: dict[str, FollowedGroup] = {}
        self._read_ms: int | None = None

    # -- told by the job ---------------------------------------------------------------------------------------

    def restart(self, ends: Mapping[int, int]) -> None:
        """A query begins, at these offsets of the log's partitions: what came before counts no more."""
        with self._lock:
            lives = {number: one.life for number, one in self._homes.items()}
            self._homes = {number: _Home(end, lives.get(number, 0) + 1) for number, end in ends.items()}
            self._groups, self._read_ms = {}, None

    def take(self, read: Mapping[int, ReadOfLog]) -> None:
        """What a batch read, by partition of the log."""
        with self._lock:
            if any(number not in self._homes for number in read):
                self._groups.clear()  # where groups are at home depends on how many partitions there are
            for number, told in read.items():
                home = self._homes.setdefault(number, _Home(told.end))
                home.end = told.end
                if not told.whole:
                    self._doubt(number)
                for name, commits in told.groups.items():
                    if (group := self._groups.get(name)) is None:
                        continue
                    if self._home(name) == number:
                        _commit(group, commits)
                    else:  # not all partitions of the log are known
                        del self._groups[name]

    def read_to(self, at_ms: int) -> None:
        """All that was written until then was taken."""
        with self._lock:
            self._read_ms = at_ms

    # -- asked by the poller -----------------------------------------------------------------------------------

    def of(self, group: str) -> LoggedGroup | None:
        """The group's offsets; None where brokers are to be asked."""
        with self._lock:
            followed, read_ms = self._groups.get(group), self._read_ms
            if followed is None or read_ms is None or followed.since_ms is None or read_ms < followed.since_ms:
                return None
            if self._now_ms() - read_ms > FRESH_MS:
                return None
            number = self._home(group)
            home = self._homes[number]
            offsets = {place: at for place, at in followed.offsets.items() if at is not None and at >= 0}
            return LoggedGroup(offsets, read_ms, followed.changed_ms, number, home.end, home.life)

    def begin(self, group: str) -> FollowedGroup | None:
        """Before brokers are asked for a group: its commits are kept from now on. None where they are not."""
        with self._lock:
            home = self._homes.get(self._home(group))
            if home is None or not any(fnmatchcase(group, one) for one in self.patterns):
                return None
            if home.doubted_ms is not None and self._now_ms() - home.doubted_ms < DOUBTED_MS:
                return None
            return self._groups.setdefault(group, FollowedGroup())

    def asked(self, group: FollowedGroup, offsets: Mapping[NamedPartition, int]) -> None:
        """What brokers have just said of it: the commits since `begin` count before it."""
        with self._lock:
            if group.since_ms is None:
                group.offsets = {**offsets, **group.offsets}
                group.since_ms = self._now_ms()

    def keep(self, watched: Collection[str]) -> None:
        """Other groups are not asked for any more."""
        with self._lock:
            for name in self._groups.keys() - set(watched):
                del self._groups[name]

    def partitions(self) -> list[NamedPartition]:
        """Of the log."""
        with self._lock:
            return [(self.topic, number) for number in self._homes]

    def doubtful(
        self, told: Mapping[str, LoggedGroup], ends: Mapping[NamedPartition, int], answered_ms: int
    ) -> set[str] | None:
        """Of these groups those for which a transaction may have been in the log. `ends`: last stable offsets of its
        partitions, answered at that time. None: the log is not read so far yet."""
        with self._lock:
            for one in told.values():
                if self._lives(one) and ends.get((self.topic, one.home), -1) < one.end:
                    self._doubt(one.home)
            if self._read_ms is not None and self._read_ms >= answered_ms:
                return {name for name, one in told.items() if not self._lives(one)}
            return None if self._now_ms() - answered_ms <= FRESH_MS else set(told)

    def _lives(self, one: LoggedGroup) -> bool:
        return one.home in self._homes and self._homes[one.home].life == one.life

    def _home(self, group: str) -> int:
        return home_partition(group, max(self._homes, default=0) + 1)

    def _doubt(self, number: int) -> None:
        home = self._homes[number]
        home.life, home.doubted_ms = home.life + 1, self._now_ms()
        for name in [name for name in self._groups if self._home(name) == number]:
            del self._groups[name]


def _commit(group: FollowedGroup, commits: LoggedCommits) -> None:
    for place, told in commits.items():
        if told is None:
            if group.since_ms is None:
                group.offsets[place] = None
            else:
                group.offsets.pop(place, None)
            continue
        at, commit_ms = told
        if group.offsets.get(place, at) != at:
            group.changed_ms = max(commit_ms, group.changed_ms or 0)
        group.offsets[place] = at
