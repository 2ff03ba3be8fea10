"""The last known ends of partitions that are not read to their end, kept where a killed job cannot take them along.

A deleted topic tells nobody how much it held. Only the reader that saw it knows, so the database keeps the reader's
last word: the job that begins next compares it with its positions, and what lies between is a gap.
"""

import threading
from collections.abc import Mapping

from rebalance_monitor.streaming.core.ports import Deposed
from rebalance_monitor.streaming.supervision import Answerable, Supervised
from .database import Connection, Database, DatabaseUnreachable
from .text import json_text
from .writer import check_epoch

PART = "known ends"
KEEP_EVERY_S = 2.0

Ends = Mapping[str, tuple[int, int]]
"""Partition, as the text of its key -> first offset and last known end."""

_KEEP = """
insert into rebalance_monitor.known_ends as old (cluster_id, ends) values (%s, %s)
on conflict (cluster_id) do update set ends = excluded.ends where old.ends is distinct from excluded.ends
"""


def known_ends(connection: Connection, cluster_id: str) -> dict[str, tuple[int, int]]:
    """What was kept of a cluster last; nothing before that."""
    row = connection.execute(
        "select ends from rebalance_monitor.known_ends where cluster_id = %s", (cluster_id,)
    ).fetchone()
    return {} if row is None else {str(key): (int(low), int(end)) for key, (low, end) in row[0].items()}


class EndsKeeper:
    """Writes what was noted last every few seconds, from `start` to `stop`, of each cluster as its writer.

    A thread of its own: a database that stands still must not hold up whoever notes.
    """

    def __init__(self, dsn: str, answerable: Answerable | None = None) -> None:
        self._database = Database(dsn)
        self._lock = threading.Lock()
        self._noted: dict[str, Ends] = {}
        self._written: dict[str, Ends] = {}
        self._epochs: dict[str, int] = {}
        self._thread = Supervised(PART, self._keep, answerable, at_end=self._database.close)

    def stored(self, cluster_id: str) -> dict[str, tuple[int, int]]:
        """What the job before this one has left. DatabaseUnreachable."""
        with self._database.session() as connection:
            return known_ends(connection, cluster_id)

    def note(self, cluster_id: str, ends: Ends) -> None:
        """What the reader says now. Returns at once."""
        with self._lock:
            self._noted[cluster_id] = dict(ends)

    def start(self, cluster_id: str, epoch: int) -> None:
        """Begins to write what is noted of this cluster. Returns at once."""
        with self._lock:
            begins = not self._epochs
            self._epochs[cluster_id] = epoch
        if begins:
            self._thread.start()

    def stop(self) -> None:
        """Ends; what was noted last is written."""
        if self._epochs:
            self._thread.stop()
            self._keep()
        self._database.close()

    def _keep(self) -> float:
        with self._lock:
            noted = [
                (cluster_id, self._epochs[cluster_id], ends)
                for cluster_id, ends in self._noted.items()
                if cluster_id in self._epochs and ends != self._written.get(cluster_id)
            ]
        for cluster_id, epoch, ends in noted:
            try:
                with self._database.transaction() as connection:
                    check_epoch(connection, epoch, lock=True)
                    connection.execute(_KEEP, (cluster_id, json_text({key: list(at) for key, at in ends.items()})))
            except Deposed:
                continue  # the next writer's word counts
            except DatabaseUnreachable:
                break  # the job itself says so
            self._written[cluster_id] = ends
        return KEEP_EVERY_S
