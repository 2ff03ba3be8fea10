"""What a whole input, which nobody read as it came, tells of its records: whose clocks they have, and which life of the
config topic they are of.

Workers saw the time pass as well: their statuses carry clocks of their own.

The coordinator alone stamps a group's records, and it may be another broker from one record to the next
(`streaming.core.clocks.others`). No clock is right by itself: a worker's may be off, and as far as the next
broker's. But a worker's clock goes on as it is. Where its first word in two generations, or its last stop before them,
lies equally far from the two records, as much time has passed between these by its clock as by theirs: **one clock has
stamped both**, or one that says the same. Records that are so connected, by this worker or by others in turn, count as
one coordinator's.

    record 6    10:00:00, A and B start at +0.2 s, C at +1200.3 s
    record 7    10:05:00, A stops at -0.1 s           as far as before: 6 and 7 have one clock
    record 8    10:26:00, C starts at +0.2 s          not as far: nobody knows; the broker may be 20 minutes ahead
    record 8    10:26:00, B starts at +0.3 s          as far as in 6: 6, 7 and 8 have one clock, 21 minutes have passed

Hosts all of whose words lie right at their records count as one clock. So a host that is heard for the first time and
is off exactly as far as the broker that has just taken over is believed; one that was heard before is not.

When the input ends, it has ended at the latest time that two clocks have reached, workers' by what they are off from
the group's last records; what one alone shows is only possible.

A config topic may have been deleted and made anew. Offsets begin anew with it, and a capture does not say so. The
certain sign is a record that stands where another one stood before, or below it, and is newer than everything read
until then. A record that is only read twice has its old time again, and a writer whose clock is ahead moves no offset
back.

    offset 7   10:00:00 commit-orders        first life
    offset 0   10:20:00 connector-orders     read after 7, and newer: the second life begins
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.others import OtherClocks, Trail
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.connect.statuses.facts import STARTED, UNASSIGNED
from rebalance_monitor.streaming.core.model.records import GroupDeleted, GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Source
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .topics import ConfigChange, StatusChange

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
        return max((self._configs_ms, *self._hosts_ms.values(), *(one.newest_ms for one in self._trails.values())))

    def end_ms(self, place: tuple[str, int] | None, at_ms: int, off_ms: Mapping[str, int]) -> int:
        """The latest time that two clocks have reached, for a group whose last record lies in this partition of the
        coordinator's log and has this time. `off_ms`: by how much hosts are ahead of the group's coordinator; a host
        that is not known is no clock, and who wrote the configuration is one of those that are. Brokers lead many
        partitions each, so these count as two clocks only where most of the lively ones have come so far; the group's
        own counts where one other is lively. No input ends before the group's last record."""
        brokers_ms = max((one.newest_ms for one in self._trails.values()), default=0)
        hosts_ms = [newest_ms - off_ms[host] for host, newest_ms in self._hosts_ms.items() if host in off_ms]
        clocks = sorted((one for one in (brokers_ms, *hosts_ms) if one), reverse=True)
        if not self._configs_ms and len(clocks) < 2 and len(self._trails) < 2:
            return self.newest_ms()
        configs_ms = self._configs_ms - max(off_ms.values()) if self._configs_ms and off_ms else 0
        reached = [clocks[1] if len(clocks) > 1 else 0, min(brokers_ms, configs_ms)]
        others = sorted(one.newest_ms for where, one in self._trails.items() if where != place)
        lively = [one for one in others if one >= at_ms - LIVELY_MS]
        if len(lively) > 1:
            reached.append(lively[(len(lively) - 1) // 2])
        elif lively and place in self._trails:
            reached.append(min(*lively, self._trails[place].newest_ms))
        return max(at_ms, *reached)


def host_of(worker: str) -> str:
    """Whose clock a worker writes with: its host's."""
    return worker.rpartition(":")[0].lower() or worker.lower()


RecordPlace = tuple[str, int, int]
"""Topic, partition and offset of a record."""


@dataclass(frozen=True, slots=True)
class _Word:
    """What a host's clock shows near a record of the group: how far ahead of the record's time. `start`: its first
    start in the generation, which comes after the record; else its last stop before it."""

    host: str
    record: int
    ahead_ms: int
    start: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnesses(OtherClocks):
    """What speaks for the times of one group's records: which of them have one clock (`clock_of`, by place, the places
    of one clock under one number), how far the clock of a record is behind that of earlier ones (`slow_of`), the newest
    one that somebody speaks for, by how much hosts are ahead of its clock, and the stamps of the whole input."""

    whole: ClassVar[bool] = True
    stamps: Stamps
    clock_of: Mapping[RecordPlace, int]
    slow_of: Mapping[RecordPlace, int]
    spoken_for: RecordPlace | None
    off_ms: Mapping[str, int]
    place: tuple[str, int] | None
    at_ms: int

    @classmethod
    def of(cls, stamps: Stamps, rows: Iterable[Row]) -> "Witnesses":
        own = list(rows)
        records = [row for row in own if isinstance(row.body, GroupGeneration | GroupDeleted)]
        records.sort(key=lambda row: row.offset)
        words = list(_words(records, (row for row in own if row.topic not in stamps.appended)))
        clocks = _clocks(words)
        base = _newest_known(words, clocks)
        off_ms = {} if base is None else _off_ms(words, base, clocks)
        if base is not None and _moved_since(base, records, words, off_ms):
            base, off_ms = None, {}
        last = records[-1] if records else None
        return cls(
            stamps=stamps,
            clock_of={_place(records[number]): clock for number, clock in clocks.items()},
            slow_of={_place(records[number]): ms for number, ms in _slow(words)},
            spoken_for=None if base is None else _place(records[base]),
            off_ms=off_ms,
            place=None if last is None else (last.topic, last.partition),
            at_ms=0 if last is None else last.timestamp_ms,
        )

    def end_ms(self) -> int:
        """When the input has ended for sure."""
        return self.stamps.end_ms(self.place, self.at_ms, self.off_ms)

    def passed_ms(self, last: LastRecord | None, row: Row) -> int | None:
        if last is None:
            return None
        source = last.source
        clock = self.clock_of.get((source.topic, source.partition, source.offset))
        if clock is not None and clock == self.clock_of.get(_place(row)):  # it has stamped both records
            return max(row.timestamp_ms - last.at_ms, 0)
        return self.stamps.between((row.topic, row.partition), source.offset, row.offset) or None

    def slow_ms(self, row: Row) -> int:
        return self.slow_of.get(_place(row), 0)

    def until_ms(self, newest: tuple[Source, int] | None, end_ms: int) -> int:
        if newest is None:
            return end_ms
        source, at_ms = newest
        own_ms = at_ms + self.stamps.between((source.topic, source.partition), source.offset, None)
        known = self.spoken_for  # somebody has spoken for the clock of this record, or of one before it
        told = known is not None and known <= (source.topic, source.partition, source.offset)
        return max(own_ms, end_ms) if told else own_ms

    def newest_ms(self) -> int:
        return self.stamps.newest_ms()


def _place(row: Row) -> RecordPlace:
    return row.topic, row.partition, row.offset


def _words(records: Sequence[Row], rows: Iterable[Row]) -> Iterator[_Word]:
    """What hosts' clocks show near these records: each host's first start in the generation, and its last stop in the
    one before. Who wrote a configuration is not known for sure, so it speaks for no record."""
    first_ms: dict[int, dict[str, int]] = {}
    stopped_ms: dict[int, dict[str, int]] = {}
    for row in rows:
        match row.body:
            case StatusChange(record=record) if record.generation is not None and record.worker_id:
                host, at_ms = host_of(record.worker_id), row.timestamp_ms
                if record.state in STARTED:
                    of = first_ms.setdefault(record.generation, {})
                    of[host] = min(of.get(host, at_ms), at_ms)
                if record.state == UNASSIGNED:
                    of = stopped_ms.setdefault(record.generation, {})
                    of[host] = max(of.get(host, at_ms), at_ms)
            case _:
                pass
    for number, row in enumerate(records):
        body = row.body
        if not isinstance(body, GroupGeneration):
            continue
        for host, at_ms in first_ms.get(body.generation, {}).items():
            yield _Word(host, number, at_ms - row.timestamp_ms, start=True)
        for host, at_ms in stopped_ms.get(body.generation - 1, {}).items():
            yield _Word(host, number, at_ms - row.timestamp_ms)


def _alike(words: Iterable[_Word]) -> Iterator[list[_Word]]:
    """A host's words in sets that lie equally far from their records, SKEW_MS at most between the first and the last:
    what it took them lies within."""
    together: list[_Word] = []
    for word in sorted(words, key=lambda one: (one.ahead_ms, one.record)):
        if together and word.ahead_ms > together[0].ahead_ms + SKEW_MS:
            yield together
            together = []
        together.append(word)
    if together:
        yield together


def _clocks(words: Iterable[_Word]) -> dict[int, int]:
    """By record, the first of all that have its clock; for those alone that have one in common with another."""
    by_host: dict[str, list[_Word]] = {}
    for word in words:
        by_host.setdefault(word.host, []).append(word)
    right = [own for own in by_host.values() if all(abs(one.ahead_ms) <= SKEW_MS for one in own)]
    first: dict[int, int] = {}

    def root(record: int) -> int:
        while first.setdefault(record, record) != record:
            first[record] = first[first[record]]
            record = first[record]
        return record

    for said in (*by_host.values(), [one for own in right for one in own]):
        for together in _alike(said):
            roots = {root(one.record) for one in together}
            if len({one.record for one in together}) > 1:
                first.update(dict.fromkeys(roots, min(roots)))
    found = {record: root(record) for record in list(first)}
    shared = Counter(found.values())
    return {record: clock for record, clock in found.items() if shared[clock] > 1}


def _slow(words: Iterable[_Word]) -> Iterator[tuple[int, int]]:
    """Records that all hosts take up later by their own clocks than those before, and by how much at least: the clock
    that stamped them is that much behind, or all of them were slow."""
    starts: dict[int, dict[str, int]] = {}
    for word in words:
        if word.start:
            starts.setdefault(word.record, {})[word.host] = word.ahead_ms
    before: dict[str, int] = {}
    for record, own in sorted(starts.items()):
        later_ms = [ahead_ms - before[host] for host, ahead_ms in own.items() if host in before]
        if later_ms and min(later_ms) > SKEW_MS:
            yield record, min(later_ms)
        before |= own


def _newest_known(words: Sequence[_Word], clocks: Mapping[int, int]) -> int | None:
    """The newest record that has its clock in common with another; where none has, the newest that some host speaks
    for at once."""
    prompt = (one.record for one in words if abs(one.ahead_ms) <= SKEW_MS)
    return max(clocks, default=None) if clocks else max(prompt, default=None)


def _off_ms(words: Sequence[_Word], base: int, clocks: Mapping[int, int]) -> dict[str, int]:
    """By how much each host that has spoken near the record `base`, or near one with its clock, is ahead of it at most:
    by its quickest start, or by all else that it has said."""
    said: dict[str, list[_Word]] = {}
    for word in words:
        if word.record == base or (base in clocks and clocks.get(word.record) == clocks[base]):
            said.setdefault(word.host, []).append(word)
    starts = {host: [one.ahead_ms for one in own if one.start] for host, own in said.items()}
    return {host: min(starts[host]) if starts[host] else max(one.ahead_ms for one in own) for host, own in said.items()}


def _moved_since(base: int, records: Sequence[Row], words: Iterable[_Word], off_ms: Mapping[str, int]) -> bool:
    """Whether something says that another clock, or this one set anew, has stamped a record after `base`: its time goes
    back, a status of it is earlier, a stop before it later, or all that it asks to start starts too late."""
    if any(
        after.timestamp_ms < before.timestamp_ms - SKEW_MS
        for before, after in zip(records[base:], records[base + 1 :], strict=False)
    ):
        return True
    late: dict[int, list[bool]] = {}
    for word in words:
        if word.record > base and word.host in off_ms:
            apart_ms = word.ahead_ms - off_ms[word.host]
            if apart_ms < -SKEW_MS if word.start else apart_ms > SKEW_MS:
                return True
            if word.start and _asks_to_start(records[word.record]):
                late.setdefault(word.record, []).append(apart_ms > SKEW_MS)
    return any(all(each) for each in late.values())


def _asks_to_start(row: Row) -> bool:
    """Whether the record hands anything out; else a worker's first start in it may come at any time."""
    members = row.body.members if isinstance(row.body, GroupGeneration) else ()
    answers = (one.assignment for one in members if isinstance(one.assignment, ConnectAssignment))
    return any(one.connectors or one.tasks for one in answers)


def lives_of(rows: Sequence[Row], topic: str | None) -> list[list[Row]]:
    """One group's rows, life by life of its config topic, in the order given. Group records go with the life in whose
    time they were written, and never back; statuses, which refer to no configuration, with the last."""
    starts_ms = _starts_ms(row for row in rows if row.topic == topic and isinstance(row.body, ConfigChange))
    if not starts_ms:
        return [list(rows)]
    last = len(starts_ms)
    phases: list[list[Row]] = [[] for _ in range(last + 1)]
    at = 0
    for row in sorted(rows, key=lambda one: (one.partition, one.offset)):
        if isinstance(row.body, GroupGeneration | GroupDeleted):
            at = max(at, _life(starts_ms, row.timestamp_ms))
            phases[at].append(row)
    for row in rows:
        if row.topic == topic:
            life = _life(starts_ms, row.timestamp_ms)
            phases[life].append(replace(row, topic_id=str(life)))
        elif not isinstance(row.body, GroupGeneration | GroupDeleted):
            phases[last].append(row)
    return phases


def _life(starts_ms: Sequence[int], at_ms: int) -> int:
    return sum(at_ms >= one for one in starts_ms)


def _starts_ms(records: Iterable[Row]) -> list[int]:
    """When the second life and those after it began, by the first record that shows each. A capture that is sorted by
    offset has the records of all lives side by side: there the first offset with several tells."""
    places = [(row.offset, row.timestamp_ms) for row in records]
    if all(one[0] <= two[0] for one, two in pairwise(places)):
        times: dict[int, set[int]] = {}
        for offset, at_ms in places:
            times.setdefault(offset, set()).add(at_ms)
        return next((sorted(one)[1:] for one in times.values() if len(one) > 1), [])
    found: list[int] = []
    next_offset, newest_ms = 0, 0
    for offset, at_ms in places:
        if offset < next_offset and at_ms > newest_ms > 0:
            found.append(at_ms)
            next_offset = 0
        next_offset, newest_ms = max(next_offset, offset + 1), max(newest_ms, at_ms)
    return found
