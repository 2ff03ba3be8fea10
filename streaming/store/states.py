"""States of groups: read, and written over the revision that they were made from, as a delta where that is small."""

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Cursor

from rebalance_monitor.streaming.core.ports import GroupKey, StoredState
from .database import Connection
from .refused import Writing
from .state_deltas import DeltaCost, applied, delta
from .tables import CHUNK, STATES, TableRow
from .text import clean, fitting, name, original
from .waiting_rows import first_waiting

KNOWN_BYTES = 8_000_000
"""How much of what is stored one process remembers: of the groups that it wrote or read last."""

DUE = """
select "group", original from rebalance_monitor.states
where cluster = %(cluster)s and due_slot <= rebalance_monitor.due_slot(%(now_ms)s) and due_ms <= %(now_ms)s
order by due_ms, "group"
"""
EARLIEST_DUE = """
select min(due_ms) from rebalance_monitor.states where cluster = %(cluster)s and due_slot = (
    select min(due_slot) from rebalance_monitor.states where cluster = %(cluster)s and due_slot is not null
)
"""
"""`due_slot`: the two minutes that `due_ms` lies in, which have the index."""
_READ = """
select cluster, "group", version, state, delta, delta_first, delta_left, due_ms, home, has_topics, revision, waits
from rebalance_monitor.states
where (cluster, "group") in (select * from unnest(%s::text[], %s::text[]))
"""
_CHANGE = """
update rebalance_monitor.states as old set version = given.version, delta = given.delta,
    delta_first = given.delta_first, delta_left = given.delta_left, due_ms = given.due_ms, home = given.home,
    has_topics = given.has_topics, waits = given.waits, revision = given.revision,
    newest_day = coalesce(given.newest_day, old.newest_day)
from unnest(
    %b::text[], %b::text[], %s::int4[], %b::bytea[], %s::int4[], %s::int4[], %s::int8[], %b::text[], %s::bool[],
    %s::int4[], %s::int8[], %s::int4[]
) as given (
    cluster, "group", version, delta, delta_first, delta_left, due_ms, home, has_topics, waits, revision, newest_day
)
where old.cluster = given.cluster and old."group" = given."group" and old.revision = given.revision - 1
"""
_KINDS = ("text", "text", "int4", "bytea", "int4", "int4", "int8", "text", "bool", "int4", "int8", "int4")

Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class KnownState:
    """What is stored of a group: its revision, the bytes in the column `state`, and what deltas of them have cost."""

    revision: int
    base: bytes
    cost: DeltaCost | None = None

    def after(self, packed: bytes) -> DeltaCost | None:
        """The cost with this delta; None where the new state is to be written as a whole."""
        return DeltaCost.beginning(packed, self.base) if self.cost is None else self.cost.after(packed)


UNKNOWN = KnownState(-1, b"")


class StoredStates:
    """Reads and writes states, and remembers what a delta starts from."""

    def __init__(self) -> None:
        self._known: OrderedDict[Name, KnownState] = OrderedDict()
        self._written: dict[Name, KnownState] = {}
        self._bytes = 0

    def load(self, connection: Connection, keys: Collection[GroupKey]) -> dict[GroupKey, StoredState]:
        """StoredStates of these groups, where stored, each with the first two rows of waiting records."""
        by_name = {(key.cluster, name(key.group)): key for key in keys}
        rows = connection.execute(_READ, [list(column) for column in zip(*by_name, strict=True)]).fetchall()
        first = first_waiting(connection, [row[:2] for row in rows if row[-1]])
        found = {}
        for cluster, group, version, state, changes, delta_first, left, due_ms, home, has_topics, revision, _ in rows:
            base = bytes(state)
            cost = None if delta_first is None else DeltaCost(delta_first, left)
            self._remember((cluster, group), KnownState(revision, base, cost))
            found[by_name[cluster, group]] = StoredState(
                version=version,
                state=base if changes is None else applied(base, bytes(changes)),
                due_ms=due_ms,
                home=home,
                has_topics=has_topics,
                revision=revision,
                waiting=first.get((cluster, group), {}),
            )
        return found

    def write(
        self, writing: Writing, states: Mapping[GroupKey, StoredState], newest_days: Mapping[Name, int]
    ) -> list[Cursor[Any]]:
        """Writes them; each statement's cursor knows how many rows it wrote, once the answer is there. `newest_days`:
        of groups of which generations are written, the day of the newest one."""
        whole: list[TableRow] = []
        changed: list[TableRow] = []
        self._written = {}
        for key, one in states.items():
            of = (key.cluster, name(key.group))
            known = self._known.get(of, UNKNOWN)
            packed = delta(known.base, one.state) if known.revision == one.revision else None
            cost = None if packed is None else known.after(packed)
            home = None if one.home is None else clean(one.home)
            waits = 0 if one.waits is None else one.waits[1] - one.waits[0]
            told = (one.due_ms, home, one.has_topics, waits, one.revision + 1, newest_days.get(of))
            if packed is None or cost is None:
                self._written[of] = KnownState(one.revision + 1, one.state)
                whole.append((*of, original(key.group), one.version, one.state, None, None, None, *told))
            else:
                self._written[of] = KnownState(one.revision + 1, known.base, cost)
                changed.append((*of, one.version, packed, cost.first, cost.left, *told))
        cursors = writing.table(STATES, whole)
        writing.rows(STATES.name, STATES.key, changed, lambda some: cursors.extend(_change(writing, some)))
        return cursors

    def committed(self) -> None:
        """The transaction of the last `write` has ended well, with all its rows."""
        for of, known in self._written.items():
            self._remember(of, known)
        self._written = {}

    def _remember(self, of: Name, known: KnownState) -> None:
        before = self._known.pop(of, UNKNOWN)
        self._known[of] = known
        self._bytes += len(known.base) - len(before.base)
        while self._bytes > KNOWN_BYTES:
            _, oldest = self._known.popitem(last=False)
            self._bytes -= len(oldest.base)


def _change(writing: Writing, rows: Sequence[TableRow]) -> list[Cursor[Any]]:
    cursors = []
    for start in range(0, len(rows), CHUNK):
        columns = zip(*rows[start : start + CHUNK], strict=True)
        values = [fitting(column, kind) for column, kind in zip(columns, _KINDS, strict=True)]
        cursors.append(writing.connection.execute(_CHANGE, values))
    return cursors
