"""The longer statements of the reader, and their parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

from .rows import DocumentRow, GapRow, GenerationKey, IncidentRow, SummaryRow


@dataclass(frozen=True, slots=True)
class Listing:
    """A list that is read page by page. `select` gives the columns of an item, then those of its place in the list;
    `order`: these, with their types."""

    select: LiteralString
    order: Mapping[LiteralString, LiteralString]
    item: type[Any]
    ascending: bool = False

    @property
    def place(self) -> list[type]:
        """Of what a place is made."""
        return [int if kind.startswith("int") else str for kind in self.order.values()]


LEAST_NEWEST_DAY: LiteralString = "select min(coalesce(newest_day, -2147483648)) from rebalance_monitor.states"
"""Of some groups the day before which none has its latest generation."""
# Each group is looked for on its own days. From which day on these are, is a number, so that PostgreSQL plans over them
# alone. A group may have an incident before any generation of it could be read; once nobody is in it, nobody has its
# tasks.
LATEST: LiteralString = """
select s.cluster, s."group", coalesce(g.incarnation, 0), g.generation, coalesce(g.protocol_type, ''), g.protocol,
    case when t.state in ('Empty', 'Dead') then 0 else coalesce(g.member_count, 0) end,
    case when t.state in ('Empty', 'Dead') then (
        select count(*)::int from rebalance_monitor.connectors_and_tasks j
        where j.cluster = s.cluster and j."group" = s."group" and j.agreement <> 'gone'
    ) else coalesce(g.unassigned_count, 0) end,
    g.delay_ms, g.grade, g.at_ms, concat_ws(' ', g.version, t.state), coalesce(t.state, ''),
    p.lag, p.lag_ms, coalesce(p.at_least, false), p.trend, p.answered_ms, t.at_ms, g.lifecycle
from rebalance_monitor.states s left join lateral (
    select *, xmin::text as version from rebalance_monitor.stored_generations g
    where g.cluster = s.cluster and g."group" = s."group"
        and g.day >= %s and g.day >= coalesce(s.newest_day, -2147483648)::int8 - 1
    order by g.incarnation desc, g."offset" desc limit 1
) g on true
left join rebalance_monitor.groups t on t.cluster = s.cluster and t."group" = s."group"
left join rebalance_monitor.group_progress p on p.cluster = s.cluster and p."group" = s."group"
where (g.generation is not null or exists (
    select from rebalance_monitor.incidents i
    where i.cluster = s.cluster and i."group" = s."group" and (i.resolved_at_ms is null or i.firing)
))
"""
MEMBERS: LiteralString = """
select s.cluster, s."group", g.document is not null, case when g.document -> 'members' <> '[]' then
    g.document - array['diff', 'verdict', 'streams', 'epoch', 'moves', 'interrupted'] || jsonb_build_object(
        'members', (select jsonb_agg(
            one || '{{"assigned": null, "owned": null, "revoked": null}}'::jsonb
        ) from jsonb_array_elements(g.document -> 'members') one)
    )
end
from rebalance_monitor.states s left join lateral (
    select document from rebalance_monitor.generations g
    where g.cluster = s.cluster and g."group" = s."group" and g.at_ms < %s and {days}
    order by g.incarnation desc, g."offset" desc limit 1
) g on true left join rebalance_monitor.groups t on t.cluster = s.cluster and t."group" = s."group"
where s.cluster = %s and (%s or coalesce(t.state, '') not in ('Empty', 'Dead'))
"""
# Looked up by each id that a topic of the name had, '' where nobody knew it: the name is not part of the key. There are
# few such rows; sorted by the bare column, PostgreSQL would look through all in the order of that index.
PLACE: LiteralString = """
select topic_id, day from rebalance_monitor.stored_generations
where cluster = %s and partition = %s and "offset" = %s and %s in (topic, '')
    and topic_id = any(array(
        select topic_id from rebalance_monitor.positions where partition = %s and %s in (topic, '')
        union select ''
    ))
order by at_ms + 0 desc, topic_id limit 1
"""
GENERATIONS = Listing(
    'select cluster, topic_id, partition, "offset", day, at_ms, topic_id, partition, "offset"'
    " from rebalance_monitor.stored_generations",
    {"at_ms": "int8", "topic_id": "text", "partition": "int4", '"offset"': "int8"},
    GenerationKey,
)
# A statement for each day, which it names: contents of that day are planned over, and not those of all.
OF_DAY: LiteralString = """
select cluster, topic_id, partition, "offset", day, document, cluster, "group", judged_by
from rebalance_monitor.generations
where day = %s and (cluster, topic_id, partition, "offset") """
ONE: LiteralString = "= (%s, %s, %s, %s)"
"""Takes half as long as one of several."""
SEVERAL: LiteralString = "in (select * from unnest(%s::text[], %s::text[], %s::int4[], %s::int8[]))"
ONLY: LiteralString = '(cluster, "group") in (select * from unnest(%s::text[], %s::text[]))'
INCIDENT: LiteralString = (
    'select document, cluster, "group", historic, judged_by, xmin::text,'
    " (select l.rule from rebalance_monitor.incidents l where l.incident_id = incidents.led_by),"
    " opened_at_ms, incident_id from rebalance_monitor.incidents"
)
INCIDENTS = Listing(INCIDENT, {"opened_at_ms": "int8", "incident_id": "text"}, IncidentRow)
PARTS = Listing(
    'select document, cluster, "group", opened_at_ms, incident_id, part from (select p.document,'
    ' p.opened_at_ms, p.part, i.cluster, i."group", incident_id from rebalance_monitor.incident_parts p'
    " join rebalance_monitor.incidents i using (incident_id)) as parts",
    {"opened_at_ms": "int8", "incident_id": "text", "part": "text"},
    DocumentRow,
    ascending=True,
)
CONNECTORS_AND_TASKS = Listing(
    'select document, cluster, "group", cluster, "group", type, id from rebalance_monitor.connectors_and_tasks',
    {"cluster": "text", '"group"': "text", "type": "text", "id": "text"},
    DocumentRow,
    ascending=True,
)
SUMMARIES = Listing(
    'select cluster, "group", day, kind, name, count, day, cluster, "group", kind, name'
    " from rebalance_monitor.daily_summaries",
    {"day": "int4", "cluster": "text", '"group"': "text", "kind": "text", "name": "text"},
    SummaryRow,
)
WINDOW: LiteralString = """
select cluster, "groups", owner, reason, from_ms,
    least(until_ms, (extract(epoch from ended_at) * 1000)::int8) as until_ms, window_id::text
from rebalance_monitor.maintenance
"""
FOUND_US: LiteralString = "(extract(epoch from found_at) * 1000000)::int8"
GAPS = Listing(
    "select cluster, topic, partition, from_offset, to_offset, reason,"
    f" {FOUND_US} / 1000, (extract(epoch from acknowledged_at) * 1000)::int8, acknowledged_by, acknowledged_operator,"
    f" {FOUND_US}, cluster, topic_id, partition, from_offset from rebalance_monitor.gaps h",
    {FOUND_US: "int8", "cluster": "text", "topic_id": "text", "partition": "int4", "from_offset": "int8"},
    GapRow,
)
CONCERNED: LiteralString = """(
    (h.cluster, h.topic) in (select * from unnest(%s::text[], %s::text[])) or exists (
        select from rebalance_monitor.stored_generations g
        where (g.cluster, g."group") in (select * from unnest(%s::text[], %s::text[]))
            and g.cluster = h.cluster and g.topic = h.topic and g.partition = h.partition
    )
)"""
ACKNOWLEDGED: dict[str, LiteralString] = {
    "open": "acknowledged_at is null", "acknowledged": "acknowledged_at is not null", "all": "true",
}  # fmt: skip
OPEN: LiteralString = "(resolved_at_ms is null or firing)"
