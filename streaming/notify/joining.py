"""Notifications of groups that rebalanced at once, as one: forty groups on one host are one notification.

    12:00:00  40 groups lose a member on 10.0.3.4          one event (`stories.at_once`), with its evidence
    12:01:00  the first of 40 incidents fires              it waits: its generation is one of the event's
    12:01:10  so do 37 more by now                         one notification of all 38
    12:01:14  the other two fire                           one notification of both, at 12:01:24
    12:05:00  20 of the 38 are over, then 18               a notification of the 20, and one of the 18

A row waits only if its incident opened with a rebalance of an event, at most HOLD_S. Ends are joined as they fired.
Events are looked for outside of the transaction that decides: no server ends a session that waits for them, and nobody
else waits for the lock.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rebalance_monitor.streaming.store import joining
from rebalance_monitor.streaming.store.database import Connection
from rebalance_monitor.streaming.store.joining import UndecidedRow
from rebalance_monitor.streaming.store.outbox import AT_ONCE
from rebalance_monitor.streaming.stories.at_once import SPAN_MS

log = logging.getLogger("rebalance_monitor.delivery")

HOLD_S = 10.0
MOST_GROUPS = 200
"""Of an event so many groups are named, and the number of the others."""
FoundEvent = Mapping[str, Any]
EventsOf = Callable[[str, int, int], Sequence[FoundEvent]]
"""(cluster, first, last moment in ms) -> the events between them, as `at_once_object` tells each."""


class Joining:
    """Decides what is told as one. Used by all threads of delivery: one decides at a time."""

    def __init__(self, events: EventsOf, hold_s: float = HOLD_S) -> None:
        """`events`: where it fails or takes long, rows wait for nobody."""
        self._events, self._hold_s = events, hold_s
        self._deciding = threading.Lock()
        self._held = frozenset[str]()

    def decide(self, connection: Connection, clusters: Sequence[str]) -> None:
        """Decides of all rows of these clusters that need not wait any more."""
        if not self._deciding.acquire(blocking=False):
            return
        try:
            rows = joining.undecided(connection, clusters)
            if not rows:
                return
            fired = [row for row in rows if row.transition == "fired"]
            look = any(row.key not in self._held or self._due(row) for row in fired)
            events = list(self._of_events(connection, fired)) if look else []
            with connection.transaction():
                if joining.decides(connection):
                    keys = {row.key for row in rows}
                    still = {row.key: row for row in joining.undecided(connection, clusters) if row.key in keys}
                    found = [(event, [still[row.key] for row in some if row.key in still]) for event, some in events]
                    known = [(event, some) for event, some in found if some]
                    self._decide(connection, list(still.values()), known, full=len(rows) == AT_ONCE)
        finally:
            self._deciding.release()

    def _decide(
        self,
        connection: Connection,
        rows: Sequence[UndecidedRow],
        events: Sequence[tuple[FoundEvent | None, Sequence[UndecidedRow]]],
        *,
        full: bool,
    ) -> None:
        """`full`: there may be more rows than these, which must not wait for them."""
        ends = [row for row in rows if row.fired_with and "key" in row.fired_with]
        alone = [row.key for row in rows if row.transition != "fired" and row not in ends and not row.waits]
        held = set[str]()
        for event, some in events:
            if event is None or full or any(map(self._due, some)):
                alone += self._decided(connection, some, {} if event is None else {"event": event})
            else:
                held |= {row.key for row in some}
        if events:
            self._held = frozenset(held)
        for key, some in _by(ends, lambda row: (row.fired_with or {})["key"], lambda row: row.transition):
            still = joining.still_told(connection, key[0])
            if not still or full or any(map(self._due, some)):
                event = (some[0].fired_with or {})["event"]
                alone += self._decided(connection, some, {"event": event, "open": still})
        joining.decide(connection, alone, {})

    def _due(self, row: UndecidedRow) -> bool:
        """Whether it has waited long enough; also where the server's clock was set back."""
        return not 0 <= row.age_s < self._hold_s

    def _decided(self, connection: Connection, rows: Sequence[UndecidedRow], said: Mapping[str, Any]) -> list[str]:
        """Decides of rows that may be one notification; the keys of those that are told by themselves.

        It is told at the place of its first row, so nothing of the same incidents may lie between.
        """
        first = rows[0].sequence
        together = [row for row in rows if row.before is None or row.before < first]
        if not said or len({(row.cluster, row.group) for row in together}) < 2:
            return [row.key for row in rows]
        keys = [row.key for row in together]
        digest = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:24]
        joining.decide(connection, keys, {"key": f"joined:{digest}", **said})
        return [row.key for row in rows if row.key not in keys]

    def _of_events(
        self, connection: Connection, rows: Sequence[UndecidedRow]
    ) -> Iterator[tuple[FoundEvent | None, list[UndecidedRow]]]:
        """The rows of each event, and those of none."""
        moments = {row.key: joining.rebalanced_ms(connection, row) for row in rows}
        until_s = time.monotonic() + self._hold_s
        asked = _times(rows, moments).items()
        events = {cluster: list(self._found(cluster, times, until_s)) for cluster, times in asked}
        found: dict[int, list[UndecidedRow]] = {}
        every = [event for some in events.values() for event in some]
        for row in rows:
            at_ms = moments[row.key]
            of = [place for place, event in enumerate(every) if at_ms is not None and _is_of(event, row, at_ms)]
            found.setdefault(of[0] if of else -1, []).append(row)
        for place, some in found.items():
            yield None if place < 0 else _shortened(every[place]), some

    def _found(self, cluster: str, times: Sequence[int], until_s: float) -> Iterator[FoundEvent]:
        """The events around moments, each once; moments near each other are asked about together."""
        first = last = times[0]
        for at_ms in (*times[1:], None):
            if at_ms is not None and at_ms <= last + 2 * SPAN_MS:
                last = at_ms
                continue
            yield from self._asked(cluster, first - SPAN_MS, last + SPAN_MS, until_s)
            if at_ms is not None:
                first = last = at_ms

    def _asked(self, cluster: str, from_ms: int, until_ms: int, until_s: float) -> Sequence[FoundEvent]:
        """None after `until_s` (monotonic), and where they cannot be computed: that must not hold up notifications."""
        if time.monotonic() >= until_s:
            return ()
        try:
            return self._events(cluster, from_ms, until_ms)
        except Exception:
            log.exception("groups that rebalanced at once could not be computed: each is notified of by itself")
            return ()


def _times(rows: Iterable[UndecidedRow], moments: Mapping[str, int | None]) -> dict[str, list[int]]:
    found: dict[str, set[int]] = {}
    for row in rows:
        if (at_ms := moments[row.key]) is not None:
            found.setdefault(row.cluster, set()).add(at_ms)
    return {cluster: sorted(times) for cluster, times in found.items()}


def _by(
    rows: Iterable[UndecidedRow], *keys: Callable[[UndecidedRow], Any]
) -> list[tuple[tuple[Any, ...], list[UndecidedRow]]]:
    found: dict[tuple[Any, ...], list[UndecidedRow]] = {}
    for row in rows:
        found.setdefault(tuple(key(row) for key in keys), []).append(row)
    return list(found.items())


def _is_of(event: FoundEvent, row: UndecidedRow, at_ms: int) -> bool:
    within = event["from_ms"] <= at_ms <= event["until_ms"]
    return within and event["cluster"] == row.cluster and row.group in event["groups"]


def _shortened(event: FoundEvent) -> FoundEvent:
    groups = event["groups"]
    return {**event, "groups": groups[:MOST_GROUPS], "more_groups": max(0, len(groups) - MOST_GROUPS)}
