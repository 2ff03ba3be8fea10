"""Connectors and tasks, a row each; and the last word on a generation, by which its document is completed."""

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import Connection

from rebalance_monitor.streaming.core.model.objects import aftermath_patch, as_object
from rebalance_monitor.streaming.core.model.results import Aftermath, JobState
from rebalance_monitor.streaming.store.tables import CHUNK, Table
from rebalance_monitor.streaming.store.text import LONGEST_ID, clean, json_text, name

TableRow = tuple[Any, ...]

CONNECTORS_AND_TASKS = Table(
    "connectors_and_tasks",
    (
        ("cluster", "text"), ("group", "text"), ("type", "text"), ("id", "text"), ("incarnation", "int4"),
        ("generation", "int4"), ("assigned", "jsonb"), ("expected", "text"), ("judged", "bool"), ("state", "text"),
        ("running", "text"), ("running_generation", "int4"), ("running_at_ms", "int8"), ("since_ms", "int8"),
        ("agreement", "text"), ("document", "jsonb"), ("batch_id", "int8"),
    ),
    key=4,
    on_conflict="update where old.document is distinct from excluded.document",
)  # fmt: skip

_COMPLETE = """
update rebalance_monitor.generations as old set document = old.document || given.patch
from unnest(%b::text[], %b::text[], %s::int4[], %s::int8[], %b::jsonb[])
    as given (cluster, topic_id, partition, "offset", patch)
where (old.cluster, old.topic_id, old.partition, old."offset")
    = (given.cluster, given.topic_id, given.partition, given."offset")
  and not old.document @> given.patch
"""


def row_of(state: JobState, batch_id: int) -> TableRow:
    """The row of a connector or task."""
    document = as_object(state)
    return (
        state.cluster, name(state.group), state.job.type, name(state.job.id, LONGEST_ID), state.incarnation,
        state.generation, json_text(document["assigned"]), _clean(state.expected), state.judged, _clean(state.state),
        _clean(state.running),
        state.running_generation, state.running_at_ms, state.since_ms, state.agreement, json_text(document), batch_id,
    )  # fmt: skip


def aftermath_row(aftermath: Aftermath, place: tuple[str, str, int, int]) -> TableRow:
    """What the generation's document is completed with."""
    return (*place, json_text(aftermath_patch(aftermath)))


def complete(connection: Connection[Any], rows: Iterable[Sequence[Any]]) -> None:
    """The last words, into the documents of their generations; written again they change nothing."""
    given = list({tuple(row[:4]): row for row in rows}.values())
    for start in range(0, len(given), CHUNK):
        columns = zip(*given[start : start + CHUNK], strict=True)
        connection.execute(_COMPLETE, [list(column) for column in columns])


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)
