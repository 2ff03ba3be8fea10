"""Incidents that maintenance begins or ceases to mute, told once each through the outbox, in the batch's transaction.

    12:00 fired                      told
    12:10 a window begins            `muted`: the alert ends everywhere, the incident stays open
    12:20 it changes                 nothing
    13:00 the window ends            `unmuted`: the alert fires again; nothing if the incident ended meanwhile

What still waited for a receiver when the window began is not sent any more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident
from . import tables
from .contents import outbox_row
from .database import Connection
from .leaders import NOTIFIED
from .maintenance import Windows
from .outbox import CHANNEL
from .stored import incident_of

MUTED, UNMUTED = "muted", "unmuted"

_TOLD = f"select incident_id, document, transition, muted_by from rebalance_monitor.incidents i where {NOTIFIED}"
_OF_CLUSTER = " and cluster = %s"
_OF_GROUPS = ' and (cluster, "group") in (select * from unnest(%s::text[], %s::text[]))'
_ORDER = " order by opened_at_ms, incident_id"
_WITHDRAW = (
    "update rebalance_monitor.outbox set done = true where incident_id = any(%s) and not done"
    " returning sequence, incident_id, previous"
)
_TAKEN = "select from rebalance_monitor.outbox where key = %s"
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

    def hushes(self, incident: Incident) -> bool:
        """Whether this transition is told to nobody; notes the window of one that fires inside it."""
        if incident.incident_id in self.hushed:
            return True
        window = self.windows.muting(incident.cluster, incident.group, self.now_ms) if incident.firing else None
        if window is None:
            if incident.transition == "fired":
                self.marks[incident.incident_id] = None  # a window of long ago says nothing about this time
            return False
        self.hushed.add(incident.incident_id)
        self.marks[incident.incident_id] = window_name(window)
        return True


def before_transitions(
    connection: Connection,
    windows: Windows,
    now_ms: int,
    transitions: Iterable[Incident],
    batch_id: int,
    of: str | Sequence[tuple[str, str]],
    *,
    tell: bool,
) -> Muting:
    """Brings told incidents in line with the windows of this moment: all `of` a cluster, or those of these groups
    (cluster, stored name). `tell` False writes no notification."""
    ending = {one.incident_id for one in transitions if not one.firing}
    muting = Muting(windows, now_ms)
    begun: list[tuple[Incident, str]] = []
    over: list[tuple[Incident, str]] = []
    marks: dict[str, str | None] = {}
    for incident_id, document, transition, muted_by in _notified(connection, of):
        incident = replace(incident_of(document, transition), firing=True)
        window = windows.muting(incident.cluster, incident.group, now_ms)
        if window is not None:
            muting.hushed.add(incident_id)
            if muted_by is None:
                marks[incident_id] = window_name(window)
                begun.append((replace(incident, transition=MUTED, firing=False), window_name(window)))
        elif muted_by is not None and incident_id in ending:
            muting.hushed.add(incident_id)
        elif muted_by is not None:
            marks[incident_id] = None
            over.append((replace(incident, transition=UNMUTED), muted_by))
    if tell:
        _tell(connection, begun, over, batch_id)
    mark(connection, marks)
    return muting


def _notified(connection: Connection, of: str | Sequence[tuple[str, str]]) -> list[tuple[Any, ...]]:
    if isinstance(of, str):
        return connection.execute(_TOLD + _OF_CLUSTER + _ORDER, (of,)).fetchall()
    if not of:
        return []
    return connection.execute(
        _TOLD + _OF_GROUPS + _ORDER, [list(column) for column in zip(*of, strict=True)]
    ).fetchall()


def mark(connection: Connection, marks: Mapping[str, str | None]) -> None:
    """Notes which window mutes which incident."""
    if marks:
        connection.execute(_MARK, (list(marks), list(marks.values())))


def window_name(window: Maintenance) -> str:
    """The window as rows and keys call it; the configuration's have no number."""
    return window.window_id or f"config-{window.owner}-{window.from_ms}"


def _tell(
    connection: Connection, begun: Sequence[tuple[Incident, str]], over: Sequence[tuple[Incident, str]], batch_id: int
) -> None:
    """Withdraws what waits of the incidents that are muted from now on, and writes the notifications of both kinds."""
    withdrawn = [one.incident_id for one, _ in begun]
    before: dict[str, Any] = {}
    if withdrawn:
        # An update that never went out would have ended the labels before it; now the `muted` does.
        for _, incident_id, previous in sorted(connection.execute(_WITHDRAW, (withdrawn,)), key=lambda row: row[0]):
            if previous is not None:
                before.setdefault(incident_id, previous)
    rows = []
    for incident, window in (*begun, *over):
        # A report that was never told has labels before it only if it was louder once.
        if incident.alert is not AlertSeverity.INFO or incident.incident_id in before:
            previous = before.get(incident.incident_id) if incident.transition == MUTED else None
            key = _free(connection, f"{incident.incident_id}:{incident.transition}:{window}")
            rows.append(outbox_row(key, incident, previous, batch_id))
    if rows:
        tables.OUTBOX.write(connection, rows)
        connection.execute(f"notify {CHANNEL}")


def _free(connection: Connection, key: str) -> str:
    """The key, numbered when the window has muted before: it was made longer after its end, or a clock was set back."""
    free, number = key, 1
    while connection.execute(_TAKEN, (free,)).fetchone() is not None:
        number += 1
        free = f"{key}:{number}"
    return free
