"""Who else saw the time pass in a whole input: workers, whose statuses and configuration carry their own clocks.

The coordinator alone stamps a group's records, and it may be another broker from one record to the next
(`streaming.core.fold.other_clocks`). When the input ends, it has ended at the latest time that two clocks have reached;
what one alone shows is only possible.

    record 7    10:00:00, UNASSIGNED of generation 6 at 09:59:59     a worker's clock agrees: vouched for
    record 8    10:21:00, first RUNNING of generation 8 at 10:21:02  vouched for: 21 minutes have passed
    record 8    10:21:00, first RUNNING of generation 8 at 10:01:02  nobody knows; the broker may be 20 minutes ahead
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schemas.connect_protocol import ConnectAssignment
from streaming.core.connect.records import ConfigChange, StatusChange
from streaming.core.connect.statuses.facts import UNASSIGNED
from streaming.core.fold.clocks import SKEW_MS
from streaming.core.fold.other_clocks import Trail
from streaming.core.fold.published import body_of
from streaming.core.fold.state import LastRecord
from streaming.core.model.records import GroupDeleted, GroupGeneration, Row

LIVELY_MS = 300_000
"""A partition without a record for longer says nothing about when the input ended."""


class Stamps:
    """The times of a whole input, source by source."""

    def __init__(self) -> None:
        self._trails: dict[tuple[str, int], Trail] = {}
        self._hosts_ms: dict[str, int] = {}
        self._configs_ms = 0
        self.appended: set[str] = set()
        """Topics whose times are those of the append: brokers' clocks, not their writers'."""

    def logged(self, topic: str, partition: int, offset: int, at_ms: int, *, exact: bool) -> None:
        """A record of the coordinator's log, of any kind; `exact` for those of classic groups."""
        self._trails.setdefault((topic, partition), Trail()).note(offset, at_ms, exact=exact)

    def written(self, row: Row) -> None:
        """A worker's record. Who wrote a configuration is not known: its clock may be any worker's."""
        if row.topic in self.appended:
            return
        if isinstance(row.body, ConfigChange):
            self._configs_ms = max(self._configs_ms, row.timestamp_ms)
        elif isinstance(row.body, StatusChange):
            host = host_of(row.body.record.worker_id or "")
            self._hosts_ms[host] = max(self._hosts_ms.get(host, 0), row.timestamp_ms)

    def between(self, place: tuple[str, int], start: int, end: int | None) -> int:
        """See `Trail.between`."""
        trail = self._trails.get(place)
        return 0 if trail is None else trail.between(start, end)

    def newest_ms(self) -> int:
        """The latest time of all."""
        return max((self._configs_ms, *self._hosts_ms.values(), *(one.newest_ms for one in self._trails.values())))

    def end_ms(self, place: tuple[str, int] | None, at_ms: int) -> int:
        """The latest time that two clocks have reached, for a group whose last record lies in this partition of the
        coordinator's log and has this time. Brokers lead many partitions each, so these count as two clocks only where
        most of the lively ones have come so far."""
        brokers_ms = max((one.newest_ms for one in self._trails.values()), default=0)
        clocks = sorted((one for one in (brokers_ms, *self._hosts_ms.values()) if one), reverse=True)
        if not self._configs_ms and len(clocks) < 2 and len(self._trails) < 2:
            return self.newest_ms()
        reached = [clocks[1] if len(clocks) > 1 else 0, min(brokers_ms, self._configs_ms)]
        others = sorted(one.newest_ms for where, one in self._trails.items() if where != place)
        lively = [one for one in others if one >= at_ms - LIVELY_MS]
        if len(lively) > 1:
            reached.append(lively[(len(lively) - 1) // 2])
        return max(reached)


def host_of(worker: str) -> str:
    """Whose clock a worker writes with: its host's."""
    return worker.rpartition(":")[0].lower() or worker.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnesses:
    """What speaks for the times of one group's records: by generation the earliest status that states it and the last
    UNASSIGNED, the times of its config records by offset, and the stamps of the whole input."""

    stamps: Stamps
    first_ms: Mapping[int, int]
    stopped_ms: Mapping[int, int]
    configs_ms: Mapping[int, int]
    place: tuple[str, int] | None
    at_ms: int

    @classmethod
    def of(cls, stamps: Stamps, rows: Iterable[Row]) -> "Witnesses":
        """Of a group with these rows."""
        first_ms: dict[int, int] = {}
        stopped_ms: dict[int, int] = {}
        configs_ms: dict[int, int] = {}
        place, at_ms, offset = None, 0, -1
        for row in rows:
            match row.body:
                case StatusChange() | ConfigChange() if row.topic in stamps.appended:
                    pass
                case StatusChange(record=record) if record.generation is not None:
                    known_ms = first_ms.get(record.generation, row.timestamp_ms)
                    first_ms[record.generation] = min(known_ms, row.timestamp_ms)
                    if record.state == UNASSIGNED:
                        known_ms = stopped_ms.get(record.generation, row.timestamp_ms)
                        stopped_ms[record.generation] = max(known_ms, row.timestamp_ms)
                case ConfigChange():
                    configs_ms[row.offset] = row.timestamp_ms
                case GroupGeneration() | GroupDeleted() if row.offset > offset:
                    place, at_ms, offset = (row.topic, row.partition), row.timestamp_ms, row.offset
                case _:
                    pass
        return cls(
            stamps=stamps, first_ms=first_ms, stopped_ms=stopped_ms, configs_ms=configs_ms, place=place, at_ms=at_ms
        )

    def end_ms(self) -> int:
        """When the input has ended for sure."""
        return self.stamps.end_ms(self.place, self.at_ms)

    def vouch_for(self, row: Row, last: LastRecord | None) -> bool:
        """Whether a worker's clock agrees with the time of this record: with its first status of the generation, with
        the last stop in the one before, or with a configuration that the generation is the first to know."""
        body = body_of(row)
        first_ms = self.first_ms.get(body.generation)
        if first_ms is not None and first_ms < row.timestamp_ms - SKEW_MS:
            return False
        near = [first_ms, self.stopped_ms.get(body.generation - 1)]
        answers = (one.assignment for one in body.members if isinstance(one.assignment, ConnectAssignment))
        offset = max((one.config_offset for one in answers), default=0)
        if last is not None and last.refers_to is not None and last.refers_to < offset:
            near.append(self.configs_ms.get(offset - 1))
        return any(one is not None and abs(one - row.timestamp_ms) <= SKEW_MS for one in near)

    def against(self, row: Row, last: LastRecord | None) -> bool:
        """Whether something speaks against the time of this record: the one before it is later, or a worker's clock
        tells another time of its generation."""
        generation, at_ms = body_of(row).generation, row.timestamp_ms
        if last is not None and at_ms < last.at_ms - SKEW_MS:
            return True
        answers = [one.assignment for one in body_of(row).members if isinstance(one.assignment, ConnectAssignment)]
        starts = any(one.connectors or one.tasks for one in answers)  # else the first word may come at any time
        apart_ms = self.first_ms.get(generation, at_ms) - at_ms
        if apart_ms < -SKEW_MS or (starts and apart_ms > SKEW_MS):
            return True
        return self.stopped_ms.get(generation - 1, at_ms) > at_ms + SKEW_MS

    def between(self, place: tuple[str, int], start: int, end: int | None) -> int:
        """See `Trail.between`."""
        return self.stamps.between(place, start, end)

    def newest_ms(self) -> int:
        """The latest time of all clocks."""
        return self.stamps.newest_ms()
