"""Which jobs are configured at a config offset (connect.md part 4), as far back as a live generation can ask.

The history is a base state at some offset plus the records after it. Asking for an offset folds the records below it;
`trimmed` moves the base forward once no generation can ask for less.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar, assert_never

from rebalance_monitor.assignors.connect.eras import parse_release
from rebalance_monitor.schemas.connect_topics import (
    ConfigRecord,
    ConnectorConfigured,
    ConnectorDeleted,
    OtherConfig,
    TargetState,
    TasksCommitted,
    TaskStaged,
)
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.span import FARTHEST_MS
from rebalance_monitor.streaming.core.model.derived import Derives, derived

V = TypeVar("V")

MAX_LEFT = 256
"""Deleted connectors whose task counts are kept for their return, the newest."""
_DELETIONS_COMPLETE, _COMMITS_CHECKED = parse_release("2.5.1"), parse_release("3.7.1")

MAX_UNREAD = 16
MAX_MARKERS = 64
"""Offsets of presumed markers that are kept, the newest: workers refer to recent offsets."""
MAX_TASKS = 8192
"""As many tasks as a count is believed that names more than were staged: a commit can name any number."""


@dataclass(frozen=True, slots=True)
class ConfigState(Derives):
    """Connectors with their committed task count (None: no commit yet), who is inconsistent, and what is staged.

    `deleted` are connectors whose last word is that they are gone. `left` are task counts that outlived a connector's
    deletion in workers before 2.5.1 (KAFKA-8869; 0: it had none), and `stray` those of commits that came after it,
    which workers before 3.7.1 take (KAFKA-16838): made anew, such a connector has its tasks back before its first own
    commit. `resting` are the connectors whose target state is PAUSED or STOPPED, so that no worker runs their tasks.
    `overtaken` are those configured again since their last commit: once compaction has taken the record before it away,
    a worker since 3.7.1 that starts takes the commit for one of a deleted connector (KAFKA-17719).
    """

    counts: Mapping[str, int | None] = field(default_factory=dict)
    inconsistent: frozenset[str] = frozenset()
    staged: Mapping[str, frozenset[int]] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    left: Mapping[str, int] = field(default_factory=dict)
    stray: Mapping[str, int] = field(default_factory=dict)
    resting: frozenset[str] = frozenset()
    overtaken: frozenset[str] = frozenset()

    def connectors(self, kept: Mapping[str, int] | None = None) -> dict[str, int]:
        """Number of tasks per configured connector, as the leader's snapshot gives it; `kept` are the counts that its
        release has of connectors that were made anew and have committed nothing yet."""
        old = kept or {}
        return {
            name: 0 if name in self.inconsistent else (old.get(name, 0) if count is None else count)
            for name, count in self.counts.items()
        }

    def lost_by(self, release: str | None) -> frozenset[str]:
        """Connectors without tasks for workers of this release that start on a compacted topic; unknown releases may
        be any."""
        with suppress(ValueError):
            if release is not None and parse_release(release) < _COMMITS_CHECKED:
                return frozenset()
        return self.overtaken

    def kept_by(self, release: str | None) -> Mapping[str, int]:
        """What workers of this release keep of connectors that were deleted; unknown releases keep nothing."""
        numbers = _COMMITS_CHECKED
        with suppress(ValueError):
            numbers = parse_release(release) if release is not None else numbers
        if numbers >= _COMMITS_CHECKED:
            return {}
        return self.stray if numbers >= _DELETIONS_COMPLETE else self.left


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One record that says which jobs exist or should run; `at_ms` is when it was written (0: nobody kept it)."""

    offset: int
    record: ConfigRecord
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Hole:
    """The newest hole: no record from offset `start` up to `end` came. Compaction takes a record away when a newer one
    of its key has been written, so by `read_ms`, when the record behind the hole was read (None: with all that there
    was), what replaces the missing ones was there. `spoken` are the connectors whose number of tasks, or deletion,
    stands behind the hole and below the history's base."""

    start: int
    end: int
    read_ms: int | None = None
    spoken: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ConfigHistory(Derives):
    """State before `base_offset`, the records from there on, and the offset a worker who read all would state.

    `hole_offset` is the first offset of which no record came (None: all came): the topic was compacted before it was
    read, or begins late; `hole` is the newest such place. Where the topic is written in transactions, one offset behind
    each of them holds a marker that no reader is given: such holes are not counted, but kept in `markers`;
    `plain_offset` is the newest record that was surely written without a transaction. A worker never refers to a
    marker: if one does (`referred`), it was a record. Of each key that has a record below some offset the newest one
    survives there, but a key whose records were all replaced later on is not to be seen. `unread` are offsets of the
    newest records that were there and could not be read. `begins_ms` is the time of the first record that came,
    `newest_ms` the latest of all. `odd` and `doubted` (by connector, before `base_offset`) are the offsets of records
    that no worker writes so: `streaming.core.connect.config_sanity`.
    """

    base: ConfigState = field(default_factory=ConfigState)
    base_offset: int = 0
    entries: tuple[ConfigEntry, ...] = ()
    next_offset: int = 0
    hole_offset: int | None = None
    hole: Hole | None = None
    markers: tuple[int, ...] = ()
    marker_offset: int | None = None
    plain_offset: int | None = None
    unread: tuple[int, ...] = ()
    begins_ms: int | None = None
    newest_ms: int = 0
    odd: tuple[int, ...] = ()
    doubted: Mapping[str, int] = field(default_factory=dict)
    newest: ConfigRecord | None = None

    def extended(self, entries: list[ConfigEntry]) -> "ConfigHistory":
        """With further records, in offset order; those already seen are dropped."""
        fresh = [entry for entry in entries if entry.offset >= self.next_offset]
        if not fresh:
            return self
        kept = tuple(entry for entry in fresh if not isinstance(entry.record, OtherConfig))
        extended = replace(self, entries=self.entries + kept, next_offset=fresh[-1].offset + 1)
        return extended.with_holes(self.next_offset, self.newest, fresh)

    def with_holes(self, expected: int, before: ConfigRecord | None, fresh: Iterable[ConfigEntry]) -> "ConfigHistory":
        """With what lies between these records: `expected` is the offset after the record `before` the first."""
        hole, markers, plain = self.hole_offset, list(self.markers), self.plain_offset
        newest = self.hole
        for entry in fresh:
            if entry.offset == expected:
                plain = expected if _ends_transaction(before) else plain
            elif entry.offset == expected + 1 and before is not None:
                markers.append(expected)
            else:
                hole, newest = expected if hole is None else hole, Hole(expected, entry.offset)
            expected, before = entry.offset + 1, entry.record
        earliest = self.marker_offset if self.marker_offset is not None else next(iter(markers), None)
        if plain is not None and earliest is not None and earliest < plain:  # no transactions: something is missing
            hole = earliest if hole is None else min(hole, earliest)
            markers = [one for one in markers if one > plain]
            earliest = next(iter(markers), None)
        return replace(
            self,
            hole_offset=hole,
            hole=newest,
            markers=tuple(markers[-MAX_MARKERS:]),
            marker_offset=earliest,
            plain_offset=plain,
            newest=before,
        )

    def referred(self, offsets: Iterable[int]) -> "ConfigHistory":
        """With what members say they have read: who states an offset has read a record right before it, so it was no
        marker but a record that compaction took away."""
        proved = [one - 1 for one in offsets if one - 1 in self.markers]
        if not proved:
            return self
        first = min(proved) if self.hole_offset is None else min(*proved, self.hole_offset)
        return replace(self, hole_offset=first, markers=tuple(one for one in self.markers if one not in proved))

    def without(self, start: int, end: int) -> "ConfigHistory":
        """With the records from `start` up to `end` gone before they were read: nobody has to wait for them."""
        if end <= self.next_offset:
            return self
        hole = max(start, self.next_offset) if self.hole_offset is None else self.hole_offset
        newest = Hole(max(start, self.next_offset), end)
        return replace(self, next_offset=end, hole_offset=hole, hole=newest)

    def read_at(self, before: "ConfigHistory", at_ms: int) -> "ConfigHistory":
        """With the time (ms) at which a reader that keeps up came by the hole that is newer than those of `before`."""
        if self.hole is None or self.hole == before.hole:
            return self
        return replace(self, hole=replace(self.hole, read_ms=at_ms))

    def with_unread(self, offset: int) -> "ConfigHistory":
        """With a record at this offset of which nobody knows what it says."""
        if offset < self.next_offset:
            return self
        known = self.extended([ConfigEntry(offset, OtherConfig("unread"))])
        return replace(known, unread=(*self.unread, offset)[-MAX_UNREAD:])

    def newer_than(self, at_ms: int) -> bool:
        """Whether all that is known of the topic was written after this time."""
        return self.begins_ms is not None and self.begins_ms - FARTHEST_MS > at_ms

    def begins_after(self, at_ms: int) -> bool:
        """Whether by its time all that is known of the topic was written after this."""
        return self.begins_ms is not None and self.begins_ms > at_ms

    def seen_with(self, at_ms: int) -> "ConfigHistory":
        """With a generation of this time: once one is as new as the topic, later ones that look older were written by
        a coordinator whose clock has moved."""
        return replace(self, begins_ms=0) if self.begins_ms and not self.begins_after(at_ms) else self

    def reaches(self, offset: int) -> bool:
        """Whether every record below `offset` has been seen."""
        return self.next_offset >= offset

    def hidden(self, names: Iterable[str], offset: int) -> frozenset[str]:
        """Which of these connectors may have been configured otherwise at `offset` than the surviving records tell.

        Records are missing below it, and those that are left do not speak of the connector or of how many tasks it has.
        """
        if self.hole_offset is None or self.hole_offset >= offset:
            return frozenset()
        state = self.state_at(offset) or ConfigState()
        return frozenset(name for name in names if state.counts.get(name) is None and name not in state.deleted)

    def replaced(self, offset: int, at_ms: int) -> frozenset[str]:
        """Connectors that may have been configured otherwise at `offset`, in a generation of the time `at_ms`, than
        the records before the newest hole tell: nothing from the hole to `offset` speaks of their number of tasks, and
        what came later, or is not read yet, may have replaced what did."""
        hole = self.hole
        if hole is None or hole.start >= offset or (hole.read_ms is not None and hole.read_ms < at_ms):
            return frozenset()
        spoken = {*hole.spoken, *_spoken(one for one in self.entries if hole.end <= one.offset < offset)}
        names = self.names() - spoken
        return (
            names if hole.read_ms is not None else names & _spoken(one for one in self.entries if one.offset >= offset)
        )

    def names(self) -> frozenset[str]:
        """Every connector that this history speaks of, configured, staged or gone."""
        spoken = (one.record.name for one in self.entries if not isinstance(one.record, OtherConfig | TargetState))
        base = self.base
        return frozenset((*base.counts, *base.deleted, *base.left, *base.staged, *spoken))

    def unread_below(self, offset: int | None) -> tuple[int, ...]:
        """Offsets of records below this one that could not be read."""
        return tuple(one for one in self.unread if offset is not None and one < offset)

    def state_at(self, offset: int) -> ConfigState | None:
        """The state after all records below `offset`; None if it lies before the history."""
        if offset < self.base_offset and self.base_offset > 0:
            return None
        known = self._states()
        if offset not in known:
            state = self.base
            for entry in self.entries:
                if entry.offset >= offset:
                    break
                state = apply(state, entry.record)
            known[offset] = state
        return known[offset]

    @derived
    def _states(self) -> dict[int, ConfigState]:
        return {}

    def between(self, start: int, end: int) -> tuple[ConfigEntry, ...]:
        """Records that matter for the job set with start <= offset < end."""
        within = (entry for entry in self.entries if start <= entry.offset < end)
        return tuple(entry for entry in within if not isinstance(entry.record, TargetState))

    def trimmed(self, offset: int) -> "ConfigHistory":
        """With the base moved to `offset`; nothing below can be asked for any more."""
        if offset == self.base_offset and not (self.base.deleted or self.hole):
            return self
        state = self.state_at(min(offset, self.next_offset))
        if state is None:
            return self
        base_offset = min(offset, self.next_offset)
        if self.hole_offset is None:
            state = replace(state, deleted=frozenset())
        kept = tuple(entry for entry in self.entries if entry.offset >= base_offset)
        hole = self.hole
        if hole is not None:
            behind = (one for one in self.entries if hole.end <= one.offset < base_offset)
            hole = replace(hole, spoken=hole.spoken | _spoken(behind))
        return replace(self, hole=hole, base=state, base_offset=base_offset, entries=kept)


def _spoken(entries: Iterable[ConfigEntry]) -> frozenset[str]:
    """Connectors of whose number of tasks, or deletion, these records speak."""
    records = (one.record for one in entries)
    return frozenset(one.name for one in records if isinstance(one, TasksCommitted | ConnectorDeleted))


def _ends_transaction(record: ConfigRecord | None) -> bool:
    """Whether a worker that writes in transactions always ends one with this record."""
    return isinstance(record, ConnectorConfigured | TasksCommitted)


def apply(state: ConfigState, record: ConfigRecord) -> ConfigState:
    match record:
        case ConnectorConfigured(name=name):
            if name in state.counts:
                again = state.counts[name] is not None and name not in state.overtaken
                return replace(state, overtaken=state.overtaken | {name}) if again else state
            return replace(state, counts={**state.counts, name: None}, deleted=state.deleted - {name})
        case ConnectorDeleted(name=name):
            count = state.counts.get(name)
            return replace(
                state,
                counts=_without(state.counts, name),
                staged=_without(state.staged, name),
                deleted=state.deleted | {name},
                left=_newest(state.left, name, state.left.get(name, 0) if count is None else count),
                stray=_without(state.stray, name),
                overtaken=state.overtaken - {name},
            )
        case TaskStaged(name=name, number=number):
            numbers = state.staged.get(name, frozenset()) | {number}
            return replace(state, staged={**state.staged, name: numbers})
        case TasksCommitted(name=name, count=count):
            return _committed(state, name, count)
        case TargetState(name=name, state=target):  # a removed target state means STARTED, as for a worker
            rests = target in ("PAUSED", "STOPPED")
            return replace(state, resting=state.resting | {name} if rests else state.resting - {name})
        case OtherConfig():
            return state
        case _:
            assert_never(record)


def _committed(state: ConfigState, name: str, count: int | None) -> ConfigState:
    staged_tasks = state.staged.get(name, frozenset[int]())
    # A set of tasks is complete only if all were staged; the count itself may be any number, and is not counted to.
    complete = count is not None and count <= len(staged_tasks) and frozenset(range(count)) <= staged_tasks
    if count is not None and not complete:
        count = min(count, MAX_TASKS)
    if name not in state.counts:
        without = replace(state, staged=_without(state.staged, name))
        if count is None:
            return without
        return replace(without, left=_newest(state.left, name, count), stray=_newest(state.stray, name, count))
    if count is None:
        return state
    if name in state.left:
        state = replace(state, left=_without(state.left, name), stray=_without(state.stray, name))
    inconsistent = state.inconsistent - {name} if complete else state.inconsistent | {name}
    staged = {**state.staged, name: frozenset[int]()} if name in state.staged else state.staged
    return replace(
        state,
        counts={**state.counts, name: count},
        inconsistent=inconsistent,
        staged=staged,
        overtaken=state.overtaken - {name},
    )


def _newest(mapping: Mapping[str, int], name: str, count: int) -> dict[str, int]:
    kept = {**_without(mapping, name), name: count}
    while len(kept) > MAX_LEFT:
        del kept[next(iter(kept))]
    return kept


def _without(mapping: Mapping[str, V], name: str) -> dict[str, V]:
    return {key: value for key, value in mapping.items() if key != name}
