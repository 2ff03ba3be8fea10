"""Maintenance windows in the database, and what all windows together mute at a moment.

Both ways of telling ask the same `Windows`: the published gauge shows 0, the outbox gets nothing. The rows are their
own audit (see the migration): who added and who ended a window is written by the server.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.errors import RaiseException

from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance, muting
from .database import Connection, set_up
from .text import clean

# A window given on the command line is seen by the job after this time at the latest, while it commits.
LOOK_EVERY_MS = 1_000

_RUNNING = (
    'select window_id, cluster, "groups", owner, reason, from_ms, until_ms from rebalance_monitor.maintenance'
    " where ended_at is null and until_ms > %s order by window_id"
)
_LIST = (
    'select window_id, cluster, "groups", owner, reason, from_ms, until_ms, operator, added_at, added_by,'
    " ended_at, ended_by, ended_operator from rebalance_monitor.maintenance"
    " where %s or (ended_at is null and until_ms > %s) order by from_ms, window_id"
)


class NoSuchWindow(Exception):
    """The window can't be ended; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A window given on the command line, with its audit. Moments of the audit are the server's."""

    window: Maintenance
    operator: str
    added_at: datetime
    added_by: str
    ended_at: datetime | None
    ended_by: str | None
    ended_operator: str | None

    def state(self, now_ms: int) -> str:
        """planned, running, over or ended (before its time)."""
        return self.window.state(now_ms) if self.ended_at is None else "ended"


class Windows:
    """The windows known now, the configuration's and the database's; shared by the store and the exporter."""

    def __init__(self, configured: Iterable[Maintenance] = ()) -> None:
        self._configured = tuple(configured)
        self._stored: tuple[Maintenance, ...] = ()
        self._looked_ms: int | None = None
        self._lock = threading.Lock()

    def refresh(self, connection: Connection, now_ms: int) -> None:
        """Looks into the database, unless it just did."""
        if self._looked_ms is not None and 0 <= now_ms - self._looked_ms < LOOK_EVERY_MS:
            return
        found = tuple(_window(row) for row in connection.execute(_RUNNING, (now_ms,)).fetchall())
        with self._lock:
            self._stored, self._looked_ms = found, now_ms

    def running(self, now_ms: int) -> tuple[Maintenance, ...]:
        with self._lock:
            known = (*self._configured, *self._stored)
        return tuple(one for one in known if one.from_ms <= now_ms < one.until_ms)

    def muting(self, cluster: str, group: str, now_ms: int) -> Maintenance | None:
        return muting(self.running(now_ms), cluster, group, now_ms)


def add(connection: Connection, window: Maintenance, operator: str) -> str:
    """Stores a window; returns its id. NotSetUp before the job's first start."""
    with set_up():
        row = connection.execute(
            'insert into rebalance_monitor.maintenance (cluster, "groups", owner, reason, from_ms, until_ms, operator)'
            " values (%s, %s, %s, %s, %s, %s, %s) returning window_id",
            (
                clean(window.cluster), clean(window.groups), clean(window.owner), clean(window.reason),
                window.from_ms, window.until_ms, clean(operator),
            ),
        ).fetchone()  # fmt: skip
    assert row is not None
    return str(row[0])


def listed(connection: Connection, now_ms: int, *, everything: bool = False) -> list[Stored]:
    """Windows that run or are planned; with `everything` those of the past too."""
    with set_up():
        rows = connection.execute(_LIST, (everything, now_ms)).fetchall()
    return [
        Stored(
            window=_window(row[:7]),
            operator=row[7],
            added_at=row[8],
            added_by=row[9],
            ended_at=row[10],
            ended_by=row[11],
            ended_operator=row[12],
        )
        for row in rows
    ]


def end(connection: Connection, window_id: str, operator: str) -> None:
    """Ends a window now. NoSuchWindow when there is none of this id, or it is over."""
    if not (window_id.isdecimal() and len(window_id) <= 18):
        raise NoSuchWindow(f"{window_id!r} is no window's id; `maintenance list` shows them")
    try:
        with set_up():
            row = connection.execute(
                "update rebalance_monitor.maintenance set ended_operator = %s where window_id = %s returning window_id",
                (clean(operator), int(window_id)),
            ).fetchone()
    except RaiseException as why:
        raise NoSuchWindow(f"window {window_id} is already ended") from why
    if row is None:
        raise NoSuchWindow(f"there is no window {window_id}; `maintenance list` shows them")


def _window(row: tuple[Any, ...]) -> Maintenance:
    window_id, cluster, groups, owner, reason, from_ms, until_ms = row
    return Maintenance(
        window_id=str(window_id), cluster=cluster, groups=groups, owner=owner, reason=reason,
        from_ms=from_ms, until_ms=until_ms,
    )  # fmt: skip
