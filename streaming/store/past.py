"""What a start publishes again: open incidents, each group's latest generation, state and workers, and its tasks."""

from collections.abc import Sequence
from typing import Any, LiteralString

from rebalance_monitor.streaming.core.connect.member_bytes import connect_share_of
from rebalance_monitor.streaming.core.connect.statuses.facts import word_of
from rebalance_monitor.streaming.core.model.results import Incident, Standing, Subject
from rebalance_monitor.streaming.core.streams.words import TaskCounts, counted_tasks
from .database import Database
from .gaps import TopicGaps, known
from .leaders import NOTIFIED
from .loads import Load, WorkerShares, loads
from .stored import LastGeneration, incident_of
from .text import restored

_LOADS = """
with latest as (
    select distinct on (cluster, "group") cluster, topic_id, partition, "offset", day, "group"
    from rebalance_monitor.stored_generations where cluster = %s and protocol_type = 'connect'
    order by cluster, "group", incarnation desc, "offset" desc
)
select cluster, "group", worker, assigned, revoked, owned
from latest natural join rebalance_monitor.members
where worker is not null and assigned ? 'connectors'
"""

_STREAMS = """
with latest as (
    select distinct on (cluster, "group") cluster, topic_id, partition, "offset", day, "group"
    from rebalance_monitor.stored_generations where cluster = %s
    order by cluster, "group", incarnation desc, "offset" desc
)
select cluster, "group", document
from latest natural join rebalance_monitor.stored_generations
where document ? 'streams'
"""


class StoredPast:
    """Reads what was committed of one cluster before."""

    def __init__(self, database: Database, cluster: str) -> None:
        self.database, self.cluster = database, cluster

    def _rows(self, statement: LiteralString, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self.database.session() as connection:
            return connection.execute(statement, values).fetchall()

    def open_incidents(self, resolved_since_ms: int | None = None) -> list[Incident]:
        """Every incident not yet resolved, and those resolved since then, to publish again after a start."""
        rows = self._rows(
            "select document, transition, historic from rebalance_monitor.incidents i"
            f" where cluster = %s and (resolved_at_ms is null or firing or resolved_at_ms >= %s or ({NOTIFIED}))"
            " order by opened_at_ms, incident_id",
            (self.cluster, resolved_since_ms),
        )
        return [incident_of(document, transition, historic) for document, transition, historic in rows]

    def present_groups(self, cluster: str) -> list[str]:
        rows = self._rows(
            'select "group", s.original from rebalance_monitor.groups g'
            ' join rebalance_monitor.states s using (cluster, "group")'
            " where cluster = %s and g.state <> 'Dead' order by 1",
            (cluster,),
        )
        return [restored(group, kept) for group, kept in rows]

    def troubled_groups(self, cluster: str) -> list[tuple[str, str]]:
        """Each open incident of a cluster: its group and its id."""
        rows = self._rows(
            'select "group", s.original, incident_id from rebalance_monitor.incidents i'
            ' join rebalance_monitor.states s using (cluster, "group")'
            " where cluster = %s and i.resolved_at_ms is null order by 1, 3",
            (cluster,),
        )
        return [(restored(group, kept), incident_id) for group, kept, incident_id in rows]

    def led(self) -> dict[str, str]:
        """The leader of each incident that is part of another one's notification."""
        rows = self._rows(
            "select incident_id, led_by from rebalance_monitor.incidents"
            " where cluster = %s and firing and led_by is not null",
            (self.cluster,),
        )
        return dict(rows)

    def latest_generations(self) -> list[LastGeneration]:
        """The latest generation of each group, to publish again after a start."""
        rows = self._rows(
            'select distinct on (cluster, "group") incarnation, "offset", cluster, "group", generation,'
            " member_count, at_ms, case when pending_until_ms is null then unassigned_count end, delay_ms,"
            " protocol_type = 'connect'"
            " from rebalance_monitor.stored_generations where cluster = %s"
            ' order by cluster, "group", incarnation desc, "offset" desc',
            (self.cluster,),
        )
        return [LastGeneration(*row) for row in rows]

    def latest_loads(self) -> dict[tuple[str, str], dict[str, Load]]:
        """How many connectors and tasks each worker holds after the latest generation of its group."""
        rows = self._rows(_LOADS, (self.cluster,))
        of_group: dict[tuple[str, str], list[tuple[str | None, WorkerShares]]] = {}
        for cluster, group, worker, *shares in rows:
            assigned, revoked, owned = map(connect_share_of, shares)
            of_group.setdefault((cluster, group), []).append((worker, (assigned, revoked, owned)))
        return {key: loads(members) for key, members in of_group.items()}

    def latest_tasks(self) -> dict[tuple[str, str], TaskCounts]:
        """How many tasks of each role the latest generation of each Streams group names."""
        rows = self._rows(_STREAMS, (self.cluster,))
        return {(cluster, group): counted_tasks(document["streams"]) for cluster, group, document in rows}

    def standings(self) -> list[Standing]:
        """Each group as its latest record showed it."""
        rows = self._rows(
            'select cluster, "group", state, at_ms from rebalance_monitor.groups where cluster = %s',
            (self.cluster,),
        )
        return [Standing(cluster=row[0], group=row[1], state=row[2], at_ms=row[3]) for row in rows]

    def agreements(self) -> list[tuple[tuple[str, str], Subject, str, str]]:
        """Each known connector or task: how assignment, recomputed one and status agreed, and its state in a word."""
        rows = self._rows(
            'select cluster, "group", type, id, agreement, assigned, state, running'
            " from rebalance_monitor.connectors_and_tasks where cluster = %s and agreement <> 'gone'",
            (self.cluster,),
        )
        return [((row[0], row[1]), Subject(row[2], row[3]), row[4], word_of(*row[5:])) for row in rows]

    def known_gaps(self, shown_for_s: float) -> list[TopicGaps]:
        """All gaps by topic; those older than that are not shown any more."""
        with self.database.session() as connection:
            return known(connection, shown_for_s)

    def counted_groups(self) -> list[tuple[str, str, str]]:
        """Groups of kinds that are only counted, as (cluster, group, kind)."""
        rows = self._rows(
            'select cluster, "group", kind from rebalance_monitor.other_groups where cluster = %s', (self.cluster,)
        )
        return [(cluster, group, kind) for cluster, group, kind in rows]
