"""The outbox as one receiver sees it: what waits for this URL, and the mark that it was sent.

The column `joined` says which notification a row is part of, once that is decided (`joining`): {} by itself, else the
key and the event of the notification that tells several as one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident
from .database import Connection
from .leaders import NOTIFIED
from .stored import incident_of

CHANNEL = "rebalance_monitor_outbox"
AT_ONCE = 200
_ALERTS = [one.value for one in AlertSeverity]


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification; `previous` is the incident before an update. `parts`: where it tells several as one, each of
    them, in order; `joined`: then what the rows have of it, and `document` is that of the loudest."""

    key: str
    transition: str
    document: Mapping[str, Any]
    previous: Mapping[str, Any] | None
    parts: tuple["Notification", ...] = ()
    joined: Mapping[str, Any] | None = None

    @property
    def keys(self) -> list[str]:
        """Of the rows that it tells."""
        return [one.key for one in self.parts] or [self.key]

    def only(self, keys: Collection[str]) -> "Notification":
        """Without the parts of other rows, under the same key."""
        if self.joined is None or len(keys) == len(self.parts):
            return self
        return _as_one([one for one in self.parts if one.key in keys], self.joined)


def _as_one(parts: Sequence[Notification], joined: Mapping[str, Any]) -> Notification:
    loudest = min(parts, key=lambda one: _ALERTS.index(one.document["alert"]))
    return Notification(joined["key"], loudest.transition, loudest.document, None, tuple(parts), joined)


def notified_before(
    connection: Connection, incident_ids: Sequence[str]
) -> tuple[dict[str, Mapping[str, Any]], dict[str, int]]:
    """The stored documents of these incidents, and the last of the times each began to fire that a notification was
    written of."""
    rows = connection.execute(
        "select i.incident_id, i.document, max((o.document->>'times_notified')::int) from rebalance_monitor.incidents i"
        " left join rebalance_monitor.outbox o using (incident_id) where i.incident_id = any(%s)"
        " group by i.incident_id, i.document",
        (list(incident_ids),),
    ).fetchall()
    return {row[0]: row[1] for row in rows}, {row[0]: row[2] for row in rows if row[2] is not None}


_UNSENT = (
    " from rebalance_monitor.outbox o where not done and document->>'cluster' = any(%s) and not exists"
    " (select from rebalance_monitor.outbox_sent s where s.key = o.key and s.url = %s)"
)
_DECIDED = (
    " and joined is not null and not exists (select from rebalance_monitor.outbox e where not e.done"
    " and e.joined is null and e.incident_id = o.incident_id and e.sequence < o.sequence)"
)


def waiting(connection: Connection, url: str, clusters: Sequence[str], *, joined: bool = False) -> list[Notification]:
    """The oldest notifications of these clusters that this URL has not got yet, in the order of their transitions.
    `joined`: several that are to be one are one, at the place of the first; what is not decided yet is not there."""
    rows = connection.execute(
        f"select key, transition, document, previous, joined{_UNSENT}{_DECIDED if joined else ''}"
        " order by sequence limit %s",
        (list(clusters), url, AT_ONCE),
    ).fetchall()
    if not joined:
        return [Notification(*row[:4]) for row in rows]
    found: dict[str, Notification] = {}
    for *own, told in rows:
        one = Notification(*own)
        if "key" not in told:
            found[one.key] = one
        elif told["key"] not in found:
            parts = connection.execute(
                f"select key, transition, document, previous{_UNSENT} and joined->>'key' = %s order by sequence",
                (list(clusters), url, told["key"]),
            ).fetchall()
            found[told["key"]] = _as_one([Notification(*part) for part in parts] or [one], told)
    return list(found.values())


def still_waits(connection: Connection, key: str, url: str, clusters: Sequence[str]) -> bool:
    """Whether it is of one of these clusters, this URL has not got it yet, and nobody withdrew it."""
    row = connection.execute(
        "select from rebalance_monitor.outbox o where key = %s and not done"
        " and document->>'cluster' = any(%s) and not exists"
        " (select from rebalance_monitor.outbox_sent s where s.key = o.key and s.url = %s)",
        (key, list(clusters), url),
    ).fetchone()
    return row is not None


def waiting_count(connection: Connection, clusters: Sequence[str]) -> int:
    """Notifications of these clusters that at least one receiver has not got."""
    row = connection.execute(
        "select count(*) from rebalance_monitor.outbox where not done and document->>'cluster' = any(%s)",
        (list(clusters),),
    ).fetchone()
    return 0 if row is None else int(row[0])


def mark_sent(connection: Connection, key: str, url: str, urls: Sequence[str], refused: str | None = None) -> None:
    """Notes that this URL has it; with the last of `urls` the notification is done."""
    with connection.transaction():
        # Two receivers may finish at once: the row lock makes the second one see the first one's mark.
        connection.execute("select from rebalance_monitor.outbox where key = %s for update", (key,))
        connection.execute(
            "insert into rebalance_monitor.outbox_sent (key, url, refused) values (%s, %s, %s) on conflict do nothing",
            (key, url, refused),
        )
        connection.execute(
            "update rebalance_monitor.outbox set done = true where key = %s and"
            " (select count(*) from rebalance_monitor.outbox_sent where key = %s and url = any(%s)) = %s",
            (key, key, list(urls), len(set(urls))),
        )


def settle(connection: Connection, names: Sequence[str], clusters: Sequence[str]) -> None:
    """What all of today's receivers have of these clusters is done, whoever else was to have it when it was written."""
    connection.execute(
        "update rebalance_monitor.outbox o set done = true where not done and document->>'cluster' = any(%s) and"
        " (select count(*) from rebalance_monitor.outbox_sent s where s.key = o.key and s.url = any(%s)) = %s",
        (list(clusters), list(names), len(set(names))),
    )


def firing(connection: Connection, url: str, clusters: Sequence[str]) -> list[Incident]:
    """Incidents of these clusters that people are told of, whose notification this URL has got (or that fired while
    nothing was pushed)."""
    rows = connection.execute(
        "select document, transition from rebalance_monitor.incidents i"
        f" where cluster = any(%s) and {NOTIFIED} and muted_by is null and alert <> 'info' and not exists"
        " (select from rebalance_monitor.outbox o where o.incident_id = i.incident_id and not done and not exists"
        " (select from rebalance_monitor.outbox_sent s where s.key = o.key and s.url = %s))"
        " order by opened_at_ms, incident_id",
        (list(clusters), url),
    ).fetchall()
    return [replace(incident_of(document, transition), firing=True) for document, transition in rows]
