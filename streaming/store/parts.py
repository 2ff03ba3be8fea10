"""Where the parts of incidents are kept: one row for each finding of an incident, with all its subjects."""

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import Connection

from rebalance_monitor.streaming.core.incidents.transitions import key_of
from rebalance_monitor.streaming.core.model.objects import part_object
from rebalance_monitor.streaming.core.model.results import Part
from rebalance_monitor.streaming.store.tables import Table
from rebalance_monitor.streaming.store.text import json_text, name

TableRow = tuple[Any, ...]

PARTS = Table(
    "incident_parts",
    (
        ("incident_id", "text"), ("part", "text"), ("opened_at_ms", "int8"), ("severity", "text"),
        ("certainty", "text"), ("resolved_at_ms", "int8"), ("subjects", "jsonb"), ("message", "text"),
        ("document", "jsonb"), ("batch_id", "int8"),
    ),
    key=3,
    on_conflict="update where old.document is distinct from excluded.document",
)  # fmt: skip

_END = """
update rebalance_monitor.incident_parts as old
set resolved_at_ms = given.at_ms, document = old.document || jsonb_build_object('resolved_at_ms', given.at_ms)
from unnest(%b::text[], %b::text[], %s::int8[], %s::int8[]) as given (incident_id, part, opened_at_ms, at_ms)
where (old.incident_id, old.part, old.opened_at_ms) = (given.incident_id, given.part, given.opened_at_ms)
"""
_END_ALL = """
update rebalance_monitor.incident_parts as old
set resolved_at_ms = i.resolved_at_ms, document = old.document || jsonb_build_object('resolved_at_ms', i.resolved_at_ms)
from rebalance_monitor.incidents i
where i.incident_id = old.incident_id and i.incident_id = any(%s)
    and i.resolved_at_ms is not null and old.resolved_at_ms is null
"""


def part_row(part: Part, batch_id: int) -> TableRow:
    """The row of a part."""
    document = part_object(part)
    return (
        part.incident_id, name(key_of(part.code, part.subjects)), part.opened_at_ms, part.severity.value,
        part.certainty.value, part.resolved_at_ms, json_text(document["subjects"]), part.message, json_text(document),
        batch_id,
    )  # fmt: skip


def part_end(part: Part) -> TableRow:
    """The key of a part, and the time of its end."""
    return part.incident_id, name(key_of(part.code, part.subjects)), part.opened_at_ms, part.resolved_at_ms


def end_parts(connection: Connection[Any], rows: Iterable[Sequence[Any]]) -> None:
    """Notes the ends of parts; of several of one part the last counts."""
    given = list({tuple(row[:3]): row for row in rows}.values())
    connection.execute(_END, [list(column) for column in zip(*given, strict=True)])


def end_parts_of(connection: Connection[Any], incident_ids: Sequence[str]) -> None:
    """Ends what is still open of incidents that are over: a state that was not carried on knew no more of its parts."""
    connection.execute(_END_ALL, (list(incident_ids),))
