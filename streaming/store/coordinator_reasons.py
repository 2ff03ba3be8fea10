"""What brokers' logs say of why groups rebalance, and how far each file was read, or each partition of their topic.

Both are written in one transaction, so a job that starts again neither loses a line nor keeps one twice.
"""

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence

from rebalance_monitor.streaming.core.columns import day_of
from rebalance_monitor.streaming.core.coordinator_log.line import CoordinatorReason
from rebalance_monitor.streaming.supervision import PartFailed
from .database import Database, DatabaseUnreachable
from .text import clean, name
from .writer import check_epoch

_REASON = """
insert into rebalance_monitor.coordinator_reasons (cluster, "group", old_generation, hash, kind, member_id, instance_id,
    client_reason, text, offsets_partition, read_day)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
on conflict (cluster, "group", old_generation, hash) do update set client_reason = excluded.client_reason
    where coordinator_reasons.client_reason is null and excluded.client_reason is not null
"""
_POSITION = """
insert into rebalance_monitor.coordinator_log_positions (cluster, file, next_byte) values (%s, %s, %s)
on conflict (cluster, file) do update set next_byte = excluded.next_byte
"""


class ReasonsKeeper:
    """Safe for many threads. PartFailed where the database cannot be used, Deposed where another job is the writer."""

    def __init__(self, dsn: str) -> None:
        self._database = Database(dsn)

    def close(self) -> None:
        self._database.close()

    def positions(self, cluster: str) -> dict[str, int]:
        """The next byte of each file that was read, or the next offset of each partition."""
        try:
            with self._database.session() as connection:
                rows = connection.execute(
                    "select file, next_byte from rebalance_monitor.coordinator_log_positions where cluster = %s",
                    (cluster,),
                ).fetchall()
        except DatabaseUnreachable as why:
            raise PartFailed(str(why)) from why
        return {str(file): int(at) for file, at in rows}

    def keep(
        self,
        cluster: str,
        epoch: int,
        positions: Mapping[str, int],
        reasons: Sequence[CoordinatorReason],
        gone: Collection[str],
    ) -> None:
        """As the cluster's writer. `gone`: files or partitions that are not there any more."""
        day = day_of(time.time_ns() // 1_000_000)
        try:
            with self._database.transaction() as connection, connection.cursor() as cursor:
                check_epoch(connection, epoch, lock=True)
                cursor.executemany(_REASON, [_row(cluster, one, day) for one in reasons])
                cursor.executemany(_POSITION, [(cluster, file, at) for file, at in sorted(positions.items())])
                cursor.execute(
                    "delete from rebalance_monitor.coordinator_log_positions where cluster = %s and file = any(%s)",
                    (cluster, list(gone)),
                )
        except DatabaseUnreachable as why:
            raise PartFailed(str(why)) from why


def _row(cluster: str, one: CoordinatorReason, day: int) -> tuple[str | int | None, ...]:
    digest = hashlib.sha256(one.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    names = [None if text is None else clean(text) for text in (one.member_id, one.instance_id, one.client_reason)]
    where = (name(cluster), name(one.group), one.old_generation, digest)
    return (*where, one.kind.value, *names, clean(one.text), one.partition, day)
