"""Rows of records that wait for their turn: appended, read from the front, deleted from the front."""

from collections.abc import Sequence
from typing import Any

from psycopg import Connection

from .tables import Table

WAITING_ROWS = Table(
    "waiting_rows",
    (("cluster", "text"), ("group", "text"), ("position", "int8"), ("record", "bytea")),
    key=3,
    on_conflict="update",
)
AT_ONCE = 512
"""Rows that are read at once: twice what a lifecycle may look ahead, so that half of them can be judged."""
ClusterAndGroup = tuple[str, str]
"""Cluster and stored name of the group."""


def first_waiting(
    connection: Connection[Any], groups: Sequence[ClusterAndGroup]
) -> dict[ClusterAndGroup, dict[int, bytes]]:
    """The first two rows of each of these groups: the record whose turn it is, and what follows it."""
    found: dict[ClusterAndGroup, dict[int, bytes]] = {}
    if groups:
        rows = connection.execute(
            'select asked.cluster, asked."group", position, record'
            ' from unnest(%s::text[], %s::text[]) as asked (cluster, "group") cross join lateral ('
            " select position, record from rebalance_monitor.waiting_rows as one"
            ' where (one.cluster, one."group") = (asked.cluster, asked."group") order by position limit 2) as first',
            [list(column) for column in zip(*groups, strict=True)],
        ).fetchall()
        for cluster, group, position, record in rows:
            found.setdefault((cluster, group), {})[position] = bytes(record)
    return found


def next_waiting(connection: Connection[Any], group: ClusterAndGroup, position: int) -> dict[int, bytes]:
    """The next rows of a group from this position on."""
    rows = connection.execute(
        "select position, record from rebalance_monitor.waiting_rows"
        ' where cluster = %s and "group" = %s and position >= %s order by position limit %s',
        (*group, position, AT_ONCE),
    ).fetchall()
    return {at: bytes(record) for at, record in rows}


def keep_waiting(connection: Connection[Any], spans: Sequence[tuple[str, str, int, int]]) -> None:
    """Deletes what lies outside of each group's span of positions (start, end)."""
    if spans:
        connection.execute(
            "delete from rebalance_monitor.waiting_rows as old"
            ' using unnest(%s::text[], %s::text[], %s::int8[], %s::int8[]) as kept (cluster, "group", first, behind)'
            ' where (old.cluster, old."group") = (kept.cluster, kept."group")'
            " and not (position >= first and position < behind)",
            [list(column) for column in zip(*spans, strict=True)],
        )
