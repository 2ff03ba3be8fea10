"""Which incidents share a notification, as the table `incidents` keeps it: `led_by`, and a leader's `also_broken`."""

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import Connection

from rebalance_monitor.streaming.core.incidents.notifying import Notifications, NotifiedIncident, also, notifications
from rebalance_monitor.streaming.core.model.results import Incident
from .stored import incident_of
from .text import json_text, name

NOTIFIED = (
    "i.led_by is null and not i.historic and (i.firing or exists"
    " (select from rebalance_monitor.incidents f where f.led_by = i.incident_id and f.firing))"
)
"""Of incidents `i`: those that people are notified of by themselves, some of them over while others go on."""

_KNOWN = f"""
select i.incident_id, i.document, i.transition, coalesce(i.led_by, '') from rebalance_monitor.incidents i
where (i.cluster, i."group") in (select * from unnest(%s::text[], %s::text[]))
    and ({NOTIFIED} or (i.led_by is not null and i.firing))
order by i.opened_at_ms, i.incident_id
"""
_WRITE = """
update rebalance_monitor.incidents i
set led_by = nullif(given.led_by, ''),
    document = i.document || jsonb_build_object('also_broken', given.also::jsonb)
from unnest(%s::text[], %s::text[], %s::text[]) as given (incident_id, led_by, also)
where i.incident_id = given.incident_id
    and (i.led_by, i.document -> 'also_broken') is distinct from (nullif(given.led_by, ''), given.also::jsonb)
"""


def notified_of(connection: Connection[Any], transitions: Iterable[Incident]) -> Notifications:
    """Who leads whom after these transitions, from what the table has of their groups."""
    live = [one for one in transitions if not one.historic]
    return notifications(_known(connection, live), live) if live else Notifications({}, [], {})


def _known(connection: Connection[Any], transitions: Iterable[Incident]) -> dict[str, NotifiedIncident]:
    groups = sorted({(one.cluster, name(one.group)) for one in transitions})
    rows = connection.execute(_KNOWN, [list(column) for column in zip(*groups, strict=True)]).fetchall()
    return {row[0]: NotifiedIncident(incident_of(row[1], row[2]), row[3]) for row in rows}


def known_rows(notified: Notifications) -> list[tuple[str, str, str]]:
    """Each incident, its leader, and what its own notification names as also broken."""
    return [
        (incident_id, one.led_by, json_text(list(also(known, incident_id))))
        for known in (notified.known, notified.followed)
        for incident_id, one in known.items()
    ]


def write_known(connection: Connection[Any], rows: Sequence[Sequence[Any]]) -> None:
    """Notes who leads whom, once the incidents themselves are written; `rows` as of `known_rows`."""
    connection.execute(_WRITE, [list(column) for column in zip(*rows, strict=True)])
