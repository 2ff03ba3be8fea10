"""Tables as data: one statement writes any number of rows, and writing them again changes nothing.

Rows travel as one array per column, so a statement costs one round trip whatever the number of rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from rebalance_monitor.streaming.store.text import fitting

# Rows in one statement; bounds the memory of arrays on both sides.
CHUNK = 5_000
# Texts go as binary arrays (%b): quoting long texts for a textual array takes longer than the insert.
_ARRAYS = {"text": "%b::text[]", "jsonb": "%b::text[]", "bytea": "%b::bytea[]"}


@dataclass(frozen=True, slots=True)
class Table:
    """Columns with their types in order, the key's columns first; `on_conflict` says what a known key does.

    `moved_at`: a column that an update sets to the moment of its transaction (an insert has it by default).
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    key: int
    on_conflict: str = "nothing"
    moved_at: str = ""

    def statement(self) -> str:
        """Insert from arrays; `update` replaces every column outside the key."""
        names = ", ".join(f'"{name}"' for name, _ in self.columns)
        arrays = ", ".join(_ARRAYS.get(kind, f"%s::{kind}[]") for _, kind in self.columns)
        picks = ", ".join(f'"{name}"::{kind}' for name, kind in self.columns)
        key = ", ".join(f'"{name}"' for name, _ in self.columns[: self.key])
        return (
            f"insert into rebalance_monitor.{self.name} as old ({names}) "
            f"select {picks} from unnest({arrays}) as given ({names}) on conflict ({key}) do {self._action()}"
        )

    def _action(self) -> str:
        if self.on_conflict == "nothing":
            return "nothing"
        changes = ", ".join(f'"{name}" = excluded."{name}"' for name, _ in self.columns[self.key :])
        if self.moved_at:
            changes += f', "{self.moved_at}" = now()'
        condition = self.on_conflict.removeprefix("update").strip()
        return f"update set {changes} {condition}"

    def write(self, connection: Connection[Any], rows: Iterable[Sequence[Any]]) -> None:
        """Writes the rows; of several with one key the last counts."""
        last = {tuple(row[: self.key]): row for row in rows}
        given = list(last.values())
        for start in range(0, len(given), CHUNK):
            columns = zip(*given[start : start + CHUNK], strict=True)
            kinds = (kind for _, kind in self.columns)
            values = [fitting(column, kind) for column, kind in zip(columns, kinds, strict=True)]
            connection.execute(self.statement(), values)


_PLACE = (("cluster", "text"), ("topic_id", "text"), ("partition", "int4"), ("offset", "int8"))

POSITIONS = Table(
    "positions",
    (
        ("cluster_id", "text"), ("topic_id", "text"), ("partition", "int4"),
        ("topic", "text"), ("next_offset", "int8"), ("batch_id", "int8"),
    ),
    key=3,
    on_conflict="update where old.next_offset < excluded.next_offset",
    moved_at="updated_at",
)  # fmt: skip
STATES = Table(
    "states",
    (
        ("cluster", "text"), ("group", "text"),
        ("original", "bytea"), ("version", "int4"), ("state", "bytea"), ("due_ms", "int8"),
        ("home", "text"), ("waits", "int4"),
    ),
    key=2,
    on_conflict="update",
)  # fmt: skip
GENERATIONS = Table(
    "generations",
    (
        *_PLACE, ("topic", "text"), ("group", "text"), ("incarnation", "int4"), ("lifecycle", "text"),
        ("protocol_type", "text"), ("protocol", "text"), ("generation", "int4"), ("leader", "text"),
        ("at_ms", "int8"), ("state_ms", "int8"), ("member_count", "int4"), ("unassigned_count", "int4"),
        ("delay_ms", "int8"), ("grade", "text"), ("assignor", "text"), ("era", "text"), ("reason", "text"),
        ("pending_until_ms", "int8"), ("historic", "bool"), ("document", "jsonb"), ("judged_by", "text"),
        ("batch_id", "int8"),
    ),
    key=4,
    # A pending verdict gives way to its final one, a final verdict never to a pending one.
    on_conflict="update where old.document is distinct from excluded.document"
    " and (excluded.pending_until_ms is null or old.pending_until_ms is not null)",
)  # fmt: skip
MEMBERS = Table(
    "members",
    (
        *_PLACE, ("ordinal", "int4"), ("member_id", "text"), ("client_id", "text"), ("client_host", "text"),
        ("instance_id", "text"), ("worker", "text"), ("assigned", "jsonb"), ("revoked", "jsonb"), ("owned", "jsonb"),
        ("subscription_hash", "text"), ("assignment_hash", "text"),
    ),
    key=5,
)  # fmt: skip
ASSIGNMENTS = Table("assignments", (("hash", "text"), ("blob", "bytea")), key=1)
INCIDENTS = Table(
    "incidents",
    (
        ("incident_id", "text"), ("cluster", "text"), ("group", "text"), ("rule", "text"), ("code", "text"),
        ("severity", "text"), ("certainty", "text"), ("transition", "text"), ("opened_generation", "int4"),
        ("opened_at_ms", "int8"), ("resolved_at_ms", "int8"), ("subjects", "jsonb"), ("message", "text"),
        ("evidence", "jsonb"), ("historic", "bool"), ("document", "jsonb"), ("alert", "text"), ("firing", "bool"),
        ("fired_at_ms", "int8"), ("team", "text"), ("judged_by", "text"), ("batch_id", "int8"),
    ),
    key=1,
    on_conflict="update where old.document is distinct from excluded.document",
)  # fmt: skip
OUTBOX = Table(
    "outbox",
    (
        ("key", "text"), ("incident_id", "text"), ("transition", "text"), ("document", "jsonb"),
        ("previous", "jsonb"), ("batch_id", "int8"),
    ),
    key=1,
)  # fmt: skip
GROUPS = Table(
    "groups",
    (("cluster", "text"), ("group", "text"), ("state", "text"), ("at_ms", "int8"), ("batch_id", "int8")),
    key=2,
    on_conflict="update",
)
GROUP_PROGRESS = Table(
    "group_progress",
    (
        ("cluster", "text"), ("group", "text"), ("generation", "int4"), ("asked_ms", "int8"), ("answered_ms", "int8"),
        ("document", "jsonb"), ("batch_id", "int8"),
    ),
    key=2,
    on_conflict="update",
)  # fmt: skip
UNDECODABLE = Table(
    "undecodable",
    (
        *_PLACE, ("topic", "text"), ("reason", "text"), ("size_bytes", "int8"), ("sample", "text"),
        ("batch_id", "int8"),
    ),
    key=4,
)  # fmt: skip
GAPS = Table(
    "gaps",
    (
        ("cluster", "text"), ("topic_id", "text"), ("partition", "int4"), ("from_offset", "int8"),
        ("topic", "text"), ("to_offset", "int8"), ("reason", "text"), ("batch_id", "int8"),
    ),
    key=4,
)  # fmt: skip
