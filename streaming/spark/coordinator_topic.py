"""Follows a topic with the lines of brokers' logs: what the coordinators say of rebalances.

    the topic is not there, or refused     the part says why in one sentence, and looks again
    it is made anew                        read from its beginning: its positions are kept with the topic's id
    records went before they were read     a line of the job's log says how many; read from the first that is left
    it ends before what was read           read from its beginning: a line that is read twice is kept once
    a partition is new                     read from its beginning
    a partition has no leader              the part says so; the others are read

A step reads `STEP_BYTES` at most. What it found is kept together with how far it came.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from rebalance_monitor.streaming.core.coordinator_log.line import CoordinatorLog, CoordinatorReason
from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.polling.coordinator_log import (
    AGAIN_S,
    LONGEST_LINE_BYTES,
    MARKERS,
    STEP_BYTES,
    KeptReasons,
)
from rebalance_monitor.streaming.supervision import PartFailed
from .ends import ClusterError, ClusterView, TopicInfo, why_missing
from .offsets import SourcePartition

LOOK_EVERY_S = 10.0
"""How often brokers are asked whether the topic is the same, with the same partitions."""
BEFORE_RECORDS = 200
"""After a start, so many records before the position are read once more: a client's reason may stand there."""
log = logging.getLogger("rebalance_monitor.parts")


class LogRecord(NamedTuple):
    """One record; without a value where there is none at this offset."""

    partition: int
    offset: int
    value: bytes | None


@dataclass(frozen=True, slots=True)
class LogRecords:
    """Those that came, of each partition in their order. `lost`: the place wanted is not there any more. `problem`: why
    a partition is not read."""

    records: Sequence[LogRecord]
    lost: bool = False
    problem: str | None = None


class LogTopic(Protocol):
    """Who reads the topic."""

    def begin(self, offsets: Mapping[int, int]) -> None:
        """From these offsets of these partitions, and no others."""

    def read(self, most_bytes: int) -> LogRecords:
        """What comes within a moment, so much at most."""

    def close(self) -> None: ...


class CoordinatorTopicFollower:
    """Reads the topic of one cluster as its writer, step by step."""

    def __init__(
        self,
        cluster: str,
        topic: str,
        view: ClusterView,
        reads: LogTopic,
        kept: KeptReasons,
        epoch: int,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster, self._topic, self._view, self._reads = cluster, topic, view, reads
        self._kept, self._epoch, self._clock_s = kept, epoch, clock_s
        self._log = CoordinatorLog()
        self._info: TopicInfo | None = None
        self._look_at_s = 0.0

    def step(self) -> float | None:
        """Reads on; the pause in seconds, None where another job is the writer. PartFailed once the rest was read."""
        info, self._info = self._info, None  # whatever fails, the next step begins where the kept positions are
        try:
            if info is None or self._clock_s() >= self._look_at_s:
                info = self._looked(info)
            told = self._reads.read(STEP_BYTES)
            self._take(info, told.records)
        except Deposed:
            return None
        if told.problem is not None:
            raise PartFailed(f"topic {self._topic} cannot be read ({told.problem})", AGAIN_S)
        self._info = None if told.lost else info
        leaderless = sorted(number for number, leader in info.leaders.items() if leader is None)
        if leaderless:
            self._look_at_s = 0.0
            numbers = ", ".join(map(str, leaderless))
            raise PartFailed(f"no broker leads these partitions of topic {self._topic}: {numbers}", AGAIN_S)
        return AGAIN_S if told.lost else 0.0

    def close(self) -> None:
        self._reads.close()

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The next offset of each partition, as far as it is kept."""
        return self._kept.positions(self._cluster)

    def _looked(self, before: TopicInfo | None) -> TopicInfo:
        try:
            told = self._view.topics((self._topic,))
        except ClusterError as why:
            raise PartFailed(f"no broker describes topic {self._topic} ({why})") from why
        if self._topic in told.missing:
            raise PartFailed(f"topic {self._topic}: {why_missing(told.missing[self._topic])}", AGAIN_S)
        info = told.found[self._topic]
        if not info.leaders:
            raise PartFailed(f"no broker knows the partitions of topic {self._topic} now", AGAIN_S)
        if before is None or (before.topic_id, _led(before)) != (info.topic_id, _led(info)):
            self._begin(info)
        self._look_at_s = self._clock_s() + LOOK_EVERY_S
        return info

    def _begin(self, info: TopicInfo) -> None:
        places = tuple((self._topic, number) for number in _led(info))
        try:
            lows, ends = self._view.beginnings(places), self._view.ends(places, committed=False)
        except ClusterError as why:
            raise PartFailed(f"the brokers do not say where topic {self._topic} begins and ends ({why})") from why
        positions: dict[str, int] = {}
        offsets: dict[int, int] = {}
        for place in places:
            low, end = lows[place], ends[place]
            if low is None or end is None:
                raise PartFailed(f"the leader of partition {place[1]} of topic {self._topic} does not answer", AGAIN_S)
            key = self._key(info, place[1])
            at = self._positions.get(key, low)
            if at < low:
                fields = {"cluster": self._cluster, "topic": self._topic, "partition": place[1], "records": low - at}
                log.warning("coordinator_log_deleted_before_read", extra={"fields": fields})
            positions[key] = at = at if low <= at <= end else low
            offsets[place[1]] = max(low, at - BEFORE_RECORDS)
        self._keep(positions, (), self._positions.keys() - {self._key(info, number) for number in info.leaders})
        self._reads.begin(offsets)

    def _take(self, info: TopicInfo, records: Sequence[LogRecord]) -> None:
        positions = dict(self._positions)
        reasons: list[CoordinatorReason] = []
        for one in records:
            key, line = self._key(info, one.partition), line_of(one.value)
            reason = None if line is None else self._log.read(line)
            if one.offset >= positions[key]:
                positions[key] = one.offset + 1
                if reason is not None:
                    reasons.append(reason)
        self._keep(positions, reasons, ())

    def _keep(self, positions: Mapping[str, int], reasons: Sequence[CoordinatorReason], gone: Collection[str]) -> None:
        changed = {key: at for key, at in positions.items() if self._positions.get(key) != at}
        if changed or gone:
            self._kept.keep(self._cluster, self._epoch, changed, reasons, gone)
        self._positions.update(changed)
        for key in gone:
            del self._positions[key]

    def _key(self, info: TopicInfo, partition: int) -> str:
        return SourcePartition(self._topic, info.topic_id, partition).text


def line_of(value: bytes | None) -> str | None:
    """The line in a record's value; None where nothing in it can be the coordinator's. What follows a line break may be
    a client's words, so text of several lines says nothing unless it is JSON."""
    if value is None or len(value) > LONGEST_LINE_BYTES or not any(marker in value for marker in MARKERS):
        return None
    try:
        line = value.decode().strip()
    except UnicodeDecodeError:
        return None
    return line if line.startswith("{") or "\n" not in line else None


def _led(info: TopicInfo) -> list[int]:
    return sorted(number for number, leader in info.leaders.items() if leader is not None)
