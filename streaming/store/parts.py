"""Where the parts of incidents are kept: one row for each finding of an incident, with all its subjects."""

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import Connection

from rebalance_monitor.streaming.core.incidents import grouping
from rebalance_monitor.streaming.core.model.published import as_object, from_object
from rebalance_monitor.streaming.core.model.results import Incident, Part
from .stored import incident_of
from .text import clean, json_text

_END = """
update rebalance_monitor.incident_parts as old
set resolved_at_ms = given.at_ms, severity = given.severity, certainty = given.certainty,
    document = old.document || jsonb_build_object(
        'resolved_at_ms', given.at_ms, 'severity', given.severity, 'certainty', given.certainty)
from unnest(%b::text[], %b::text[], %s::int8[], %s::int8[], %s::text[], %s::text[])
    as given (incident_id, part, opened_at_ms, at_ms, severity, certainty)
where (old.incident_id, old.part, old.opened_at_ms) = (given.incident_id, given.part, given.opened_at_ms)
"""
_ALL = """
select i.document, i.transition, i.historic, p.document
from rebalance_monitor.incident_parts p join rebalance_monitor.incidents i using (incident_id)
where incident_id = any(%s) order by incident_id, p.opened_at_ms, p.part
"""
_WHOLE = """
update rebalance_monitor.incidents i
set severity = given.severity, certainty = given.certainty, subjects = given.document -> 'subjects',
    message = given.message, evidence = given.document -> 'evidence', document = given.document
from unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::jsonb[])
    as given (incident_id, severity, certainty, message, document)
where i.incident_id = given.incident_id and i.document is distinct from given.document
"""
_END_ALL = """
update rebalance_monitor.incident_parts as old
set resolved_at_ms = i.resolved_at_ms, document = old.document || jsonb_build_object('resolved_at_ms', i.resolved_at_ms)
from rebalance_monitor.incidents i
where i.incident_id = old.incident_id and i.incident_id = any(%s)
    and i.resolved_at_ms is not null and old.resolved_at_ms is null
"""


def end_parts(connection: Connection[Any], rows: Iterable[Sequence[Any]]) -> None:
    """Notes the ends of parts; of several of one part the last counts."""
    given = list({tuple(row[:3]): row for row in rows}.values())
    connection.execute(_END, [list(column) for column in zip(*given, strict=True)])


def end_parts_of(connection: Connection[Any], incident_ids: Sequence[str]) -> None:
    """Ends what is still open of incidents that are over: a state that was not carried on knew no more of its parts."""
    connection.execute(_END_ALL, (list(incident_ids),))


def write_whole(connection: Connection[Any], rows: Sequence[Sequence[Any]]) -> None:
    """What incidents that are over, of which nobody is notified any more, were about: all their parts.

    Until then a row says what its alert says, or the alert's end would be told under other labels. `rows`: their ids.
    """
    found: dict[str, tuple[Incident, list[Part]]] = {}
    for document, transition, historic, part in connection.execute(_ALL, ([row[0] for row in rows],)).fetchall():
        incident = incident_of(document, transition, historic)
        found.setdefault(incident.incident_id, (incident, []))[1].append(from_object(Part, part))
    whole = [grouping.whole(incident, parts) for incident, parts in found.values()]
    if whole:
        columns = [
            [one.incident_id for one in whole],
            [one.severity.value for one in whole],
            [one.certainty.value for one in whole],
            [clean(one.message) for one in whole],
            [json_text(as_object(one)) for one in whole],
        ]
        connection.execute(_WHOLE, columns)
