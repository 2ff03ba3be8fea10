"""The newest generations of one group, as they were published."""

from typing import Any

from .database import Connection

_NEWEST_DAY = """
select newest_day from rebalance_monitor.states where cluster = %s and "group" = %s and newest_day is not null
"""
# The days are numbers, so that PostgreSQL plans over them alone.
_DOCUMENTS = """
select document from rebalance_monitor.generations
where cluster = %s and "group" = %s and day >= %s order by incarnation desc, "offset" desc limit %s
"""


def newest_documents(connection: Connection, cluster: str, group: str, most: int) -> list[dict[str, Any]]:
    """The newest first, of the group's last two days."""
    found = connection.execute(_NEWEST_DAY, (cluster, group)).fetchone()
    if found is None:
        return []
    rows = connection.execute(_DOCUMENTS, (cluster, group, found[0] - 1, most)).fetchall()
    return [document for (document,) in rows]
