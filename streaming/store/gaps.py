"""Gaps as the database knows them: what the monitor still says of them, and who has taken note.

A gap is found once. It is shown until somebody acknowledges it or `gap.shown_for` is over, whenever the monitor was
started, so what is published of gaps is read from the database and not remembered.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rebalance_monitor.streaming.supervision import Answerable, Supervised
from .database import Connection, Database, DatabaseUnreachable, set_up
from .text import clean

LOOK_EVERY_S = 2.0

_SUMS = """
select cluster, topic, sum(to_offset - from_offset)::int8,
    count(*) filter (where acknowledged_at is null and found_at > now() - %s * interval '1 second')::int4
from rebalance_monitor.gaps group by cluster, topic order by cluster, topic
"""
_LIST = """
select cluster, topic, topic_id, partition, from_offset, to_offset, reason, found_at, acknowledged_at, acknowledged_by,
    acknowledged_operator
from rebalance_monitor.gaps where %s or acknowledged_at is null
order by found_at, cluster, topic, partition, from_offset
"""
_ACKNOWLEDGE = """
update rebalance_monitor.gaps
set acknowledged_at = now(), acknowledged_by = session_user, acknowledged_operator = %s
where acknowledged_at is null and (%s::text is null or cluster = %s) and (%s::text is null or topic = %s)
"""


@dataclass(frozen=True, slots=True)
class TopicGaps:
    """The gaps of one topic: offsets lost so far, and how many gaps are still shown."""

    cluster: str
    topic: str
    offsets: int
    shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGap:
    """One gap: offsets [from, to) of a partition, when it was found, and who has acknowledged it when."""

    cluster: str
    topic: str
    topic_id: str
    partition: int
    from_offset: int
    to_offset: int
    reason: str
    found_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    acknowledged_operator: str | None


class Shows(Protocol):
    """Who publishes gaps; the exporter does."""

    def gaps(self, known: Sequence[TopicGaps]) -> None:
        """All gaps there are, by topic."""


def known(connection: Connection, shown_for_s: float) -> list[TopicGaps]:
    """All gaps by topic; those older than `shown_for_s` are not shown any more."""
    return [TopicGaps(*row) for row in connection.execute(_SUMS, (shown_for_s,)).fetchall()]


def listed(connection: Connection, *, everything: bool = False) -> list[StoredGap]:
    """Gaps that nobody has acknowledged, the oldest first; with `everything` the others too. NotSetUp."""
    with set_up():
        rows = connection.execute(_LIST, (everything,)).fetchall()
    names = StoredGap.__slots__
    return [StoredGap(**dict(zip(names, row, strict=True))) for row in rows]


def acknowledge(connection: Connection, operator: str, cluster: str | None = None, topic: str | None = None) -> int:
    """Take note of every gap, or those of one cluster or topic; returns how many were open. NotSetUp."""
    with set_up():
        return connection.execute(_ACKNOWLEDGE, (clean(operator), cluster, cluster, topic, topic)).rowcount


class GapWatch:
    """Looks the gaps up every few seconds, from `start` to `stop`: another process may acknowledge them."""

    def __init__(self, dsn: str, shown_for_s: float, shows: Shows, answerable: Answerable | None = None) -> None:
        self._database, self._shown_for_s, self._shows = Database(dsn), shown_for_s, shows
        self._thread = Supervised("gaps", self._look, answerable, at_end=self._database.close)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop()

    def _look(self) -> float:
        try:
            with self._database.session() as connection:
                self._shows.gaps(known(connection, self._shown_for_s))
        except DatabaseUnreachable:
            pass  # the job itself says so
        return LOOK_EVERY_S
