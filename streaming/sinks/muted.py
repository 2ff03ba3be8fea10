"""Incidents that maintenance begins or ceases to mute, told once each through the outbox, in the batch's transaction.

    12:00 fired                      told
    12:10 a window begins            `muted`: the alert ends everywhere, the incident stays open
    12:20 it changes                 nothing
    13:00 the window ends            `unmuted`: the alert fires again; nothing if the incident ended meanwhile

What still waited for a receiver when the window began is not sent any more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from streaming.core.maintenance import Maintenance
from streaming.core.objects import as_object
from streaming.core.results import AlertSeverity, Incident
from streaming.sinks import tables
from streaming.sinks.database import Connection
from streaming.sinks.maintenance import Windows
from streaming.sinks.outbox import CHANNEL
from streaming.sinks.stored import incident_of
from streaming.sinks.text import json_text

MUTED, UNMUTED = "muted", "unmuted"

_TOLD = (
    "select incident_id, document, transition, muted_by from rebalance_monitor.incidents"
    " where firing and not historic order by opened_at_ms, incident_id"
)
_WITHDRAW = "update rebalance_monitor.outbox set done = true where incident_id = any(%s) and not done"
_MARK = (
    "update rebalance_monitor.incidents i set muted_by = given.window_id"
    " from unnest(%s::text[], %s::text[]) as given (incident_id, window_id) where i.incident_id = given.incident_id"
)


@dataclass(slots=True)
class Muting:
    """What one transaction needs to know: which incidents stay untold in it."""

    windows: Windows
    now_ms: int
    hushed: set[str] = field(default_factory=set)
    marks: dict[str, str | None] = field(default_factory=dict)

    def hushes(self, one: Incident) -> bool:
        """Whether this transition is told to nobody; notes the window of one that fires inside it."""
        if one.incident_id in self.hushed:
            return True
        window = self.windows.muting(one.cluster, one.group, self.now_ms) if one.firing else None
        if window is None:
            if one.transition == "fired":
                self.marks[one.incident_id] = None  # a window of long ago says nothing about this time
            return False
        self.hushed.add(one.incident_id)
        self.marks[one.incident_id] = window_name(window)
        return True


def before_transitions(
    connection: Connection, windows: Windows, now_ms: int, transitions: Iterable[Incident], batch_id: int, *, tell: bool
) -> Muting:
    """Brings every told incident in line with the windows of this moment. `tell` False writes no notification."""
    ending = {one.incident_id for one in transitions if not one.firing}
    muting, rows = Muting(windows, now_ms), []
    withdrawn: list[str] = []
    marks: dict[str, str | None] = {}
    for incident_id, document, transition, muted_by in connection.execute(_TOLD).fetchall():
        one = incident_of(document, transition)
        window = windows.muting(one.cluster, one.group, now_ms)
        if window is not None:
            muting.hushed.add(incident_id)
            if muted_by is None:
                marks[incident_id] = window_name(window)
                withdrawn.append(incident_id)
                rows += _row(replace(one, transition=MUTED, firing=False), window_name(window), batch_id)
        elif muted_by is not None and incident_id in ending:
            muting.hushed.add(incident_id)
        elif muted_by is not None:
            marks[incident_id] = None
            rows += _row(replace(one, transition=UNMUTED), muted_by, batch_id)
    if tell and withdrawn:
        connection.execute(_WITHDRAW, (withdrawn,))
    if tell and rows:
        tables.OUTBOX.write(connection, rows)
        connection.execute(f"notify {CHANNEL}")
    mark(connection, marks)
    return muting


def mark(connection: Connection, marks: Mapping[str, str | None]) -> None:
    """Notes which window mutes which incident."""
    if marks:
        connection.execute(_MARK, (list(marks), list(marks.values())))


def window_name(window: Maintenance) -> str:
    """The window as rows and keys call it; the configuration's have no number."""
    return window.window_id or f"config-{window.owner}-{window.from_ms}"


def _row(one: Incident, window: str, batch_id: int) -> list[tuple[object, ...]]:
    if one.alert is AlertSeverity.INFO:
        return []
    key = f"{one.incident_id}:{one.transition}:{window}"
    return [(key, one.incident_id, one.transition, json_text(as_object(one)), None, batch_id)]
