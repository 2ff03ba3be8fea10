"""The last word on a generation, by which its document is completed."""

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import Connection

from .tables import CHUNK

_COMPLETE = """
update rebalance_monitor.stored_generations as old set document = old.document || given.patch
from unnest(%b::text[], %b::text[], %s::int4[], %s::int8[], %b::jsonb[])
    as given (cluster, topic_id, partition, "offset", patch)
where (old.cluster, old.topic_id, old.partition, old."offset")
    = (given.cluster, given.topic_id, given.partition, given."offset")
  and not old.document @> given.patch
"""


def complete(connection: Connection[Any], rows: Iterable[Sequence[Any]]) -> None:
    """The last words, into the documents of their generations; written again they change nothing."""
    given = list({tuple(row[:4]): row for row in rows}.values())
    for start in range(0, len(given), CHUNK):
        columns = zip(*given[start : start + CHUNK], strict=True)
        connection.execute(_COMPLETE, [list(column) for column in columns])
