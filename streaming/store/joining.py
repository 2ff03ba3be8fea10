"""Which rows of the outbox are told as one: what is not decided yet, and the decision, which is made once.

A decision is stored before anything is sent by it, so a repeat has the same key whoever sends it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from psycopg.types.json import Jsonb

from rebalance_monitor.streaming.core.columns import day_of
from .database import Connection
from .outbox import AT_ONCE
from .text import name

ENDS = ("resolved", "ended")
_LOCK = 7_203_518_846_551_021
"""Who decides, of all threads and jobs of a database."""


class UndecidedRow(NamedTuple):
    """`before`: the sequence of the last row of the same incident that is not done yet and comes before; `age_s`: since
    it was written; `fired_with`: of an end, what the notification was part of that the incident fires; `waits`: that
    one is not decided either."""

    key: str
    sequence: int
    before: int | None
    transition: str
    cluster: str
    group: str
    generation: int
    opened_at_ms: int
    age_s: float
    fired_with: Mapping[str, Any] | None
    waits: bool


_UNDECIDED = """
select o.key, o.sequence,
    (select max(e.sequence) from rebalance_monitor.outbox e
        where e.incident_id = o.incident_id and e.sequence < o.sequence and not e.done),
    o.transition, o.document ->> 'cluster', o.document ->> 'group', (o.document ->> 'opened_generation')::int8,
    (o.document ->> 'opened_at_ms')::int8, extract(epoch from now() - o.created_at)::float8, f.joined,
    coalesce(f.joined is null and not f.done, false)
from rebalance_monitor.outbox o left join lateral (
    select joined, done from rebalance_monitor.outbox f
    where f.incident_id = o.incident_id and f.transition = 'fired' and f.sequence < o.sequence
    order by f.sequence desc limit 1
) f on o.transition = any(%s)
where not o.done and o.joined is null and o.document ->> 'cluster' = any(%s) order by o.sequence limit %s
"""
_STILL_TOLD = """
select count(*) from (
    select distinct on (o.incident_id) o.transition from rebalance_monitor.outbox o
    where o.incident_id in (select f.incident_id from rebalance_monitor.outbox f where f.joined ->> 'key' = %s)
    order by o.incident_id, o.sequence desc
) last where transition in ('fired', 'updated', 'unmuted')
"""


def decides(connection: Connection) -> bool:
    """Whether nobody else decides until the transaction ends."""
    row = connection.execute("select pg_try_advisory_xact_lock(%s)", (_LOCK,)).fetchone()
    return row is not None and bool(row[0])


def undecided(connection: Connection, clusters: Sequence[str]) -> list[UndecidedRow]:
    """The oldest rows of these clusters, in their order."""
    rows = connection.execute(_UNDECIDED, (list(ENDS), list(clusters), AT_ONCE)).fetchall()
    return [UndecidedRow(*row) for row in rows]


def rebalanced_ms(connection: Connection, row: UndecidedRow) -> int | None:
    """When the generation came that the incident opened with; None where it did not come within a day before."""
    day = day_of(row.opened_at_ms)
    found = connection.execute(
        'select at_ms from rebalance_monitor.stored_generations where cluster = %s and "group" = %s'
        " and generation = %s and day between %s and %s and at_ms <= %s order by at_ms desc limit 1",
        (row.cluster, name(row.group), row.generation, day - 1, day, row.opened_at_ms),
    ).fetchone()
    return None if found is None else int(found[0])


def still_told(connection: Connection, key: str) -> int:
    """Of how many incidents of a notification people were not told yet that they are over or muted."""
    row = connection.execute(_STILL_TOLD, (key,)).fetchone()
    return 0 if row is None else int(row[0])


def decide(connection: Connection, keys: Collection[str], joined: Mapping[str, Any]) -> None:
    """Notes what these rows are part of; {}: each by itself."""
    connection.execute(
        "update rebalance_monitor.outbox set joined = %s where key = any(%s)", (Jsonb(dict(joined)), list(keys))
    )
