"""States that a fold failed from, beside the live ones: bounded, and read by people only."""

from collections.abc import Sequence
from typing import Any

from psycopg import Connection

from rebalance_monitor.streaming.core.ports import KeptState
from .tables import Table
from .text import clean, name, original

OF_A_GROUP, OF_ALL = 3, 100

KEPT_STATES = Table(
    "kept_states",
    (
        ("cluster", "text"), ("group", "text"), ("fingerprint", "text"), ("original", "bytea"), ("record", "text"),
        ("version", "int4"), ("state", "bytea"), ("records", "bytea"), ("batch_id", "int8"),
    ),
    key=3,
    on_conflict="update",
    moved_at="kept_at",
)  # fmt: skip
_PRUNE = """
delete from rebalance_monitor.kept_states as old using (
    select cluster, "group", fingerprint, row_number() over (order by kept_at desc, batch_id desc) as of_all,
        row_number() over (partition by cluster, "group" order by kept_at desc, batch_id desc) as of_group
    from rebalance_monitor.kept_states
) as counted
where (old.cluster, old."group", old.fingerprint) = (counted.cluster, counted."group", counted.fingerprint)
  and (of_group > %s or of_all > %s)
"""


def kept_rows(kept: Sequence[KeptState], batch_id: int) -> list[tuple[Any, ...]]:
    return [
        (
            one.cluster, name(one.group), name(one.fingerprint), original(one.group), clean(one.record), one.version,
            one.state, one.rows, batch_id,
        )
        for one in kept
    ]  # fmt: skip


def prune(connection: Connection[Any]) -> None:
    """Only the newest stay."""
    connection.execute(_PRUNE, (OF_A_GROUP, OF_ALL))
