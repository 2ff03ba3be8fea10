"""SQL about one rebalance, named by the coordinates of its record, and about the monitor's own tables."""

from .tables import GROUP_SQL, IN_RANGE, ON_DAYS, REBALANCE_KEY, SCHEMA

_PART = "split_part(${rebalance:sqlstring}, '/', %d)"
CHOSEN = (
    f"{GROUP_SQL} and topic_id = {_PART % 1} and partition = nullif({_PART % 2}, '')::integer "
    f"and \"offset\" = nullif({_PART % 3}, '')::bigint and day = nullif({_PART % 4}, '')::integer"
)
"""The rebalance that the variable names; nothing while it names none."""

CLUSTERS_SQL = f"select distinct cluster from {SCHEMA}.states order by cluster"
GROUPS_SQL = f'select "group" from {SCHEMA}.states where cluster = ${{cluster:sqlstring}} order by 1 limit 5000'
REBALANCES_SQL = f"""
select {REBALANCE_KEY} as __value, to_char(to_timestamp(at_ms / 1000.0), 'YYYY-MM-DD HH24:MI:SS') || ' generation '
    || generation || coalesce(' ' || (document -> 'cause' -> 0 ->> 'kind'), '') as __text
from {SCHEMA}.generations
where at_ms {IN_RANGE} and {ON_DAYS} and {GROUP_SQL}
order by at_ms desc
limit 500
""".strip()

SUMMARY_SQL = f"""
select to_timestamp(at_ms / 1000.0) as at, generation, protocol, leader, member_count as members,
    unassigned_count as unassigned, delay_ms as delay, grade, assignor,
    coalesce((select string_agg(family, ' or ')
        from jsonb_array_elements_text(document -> 'verdict' -> 'eras') as family), era) as era, reason,
    (document ->> 'stayed')::integer as stayed, document -> 'burst' ->> 'kind' as part_of,
    (document -> 'burst' ->> 'first_generation')::integer as first,
    (document -> 'burst' ->> 'last_generation')::integer as last,
    coalesce((document ->> 'settled')::boolean, false) as final, judged_by
from {SCHEMA}.generations
where {CHOSEN}
""".strip()

CAUSES_SQL = f"""
select cause ->> 'kind' as cause, cause ->> 'certainty' as certainty,
    (select string_agg(subject ->> 'type' || ' ' || (subject ->> 'id'), ', ')
     from jsonb_array_elements(cause -> 'subjects') as subject) as concerns,
    (select string_agg(coalesce(one ->> 'text',
        (one ->> 'topic') || '-' || (one ->> 'partition') || ' offset ' || (one ->> 'offset')), '; ')
     from jsonb_array_elements(cause -> 'evidence') as one) as evidence
from {SCHEMA}.generations, jsonb_array_elements(document -> 'cause') as cause
where {CHOSEN}
""".strip()

MOVES_SQL = f"""
select move ->> 'kind' as what, move -> 'subject' ->> 'type' as type, move -> 'subject' ->> 'id' as id,
    move ->> 'from' as "from", move ->> 'to' as "to"
from {SCHEMA}.generations, jsonb_array_elements(document -> 'moves') as move
where {CHOSEN}
order by 1, 2, 3
limit 2000
""".strip()

WHO_SQL = f"""
with chosen as (select cluster, topic_id, partition, "offset", day from {SCHEMA}.generations where {CHOSEN})
select coalesce(member.worker, member.instance_id, member.member_id) as member, member.client_host as host,
    member.owned::text as before, member.revoked::text as revoked, member.assigned::text as assigned
from {SCHEMA}.members as member join chosen using (cluster, topic_id, partition, "offset", day)
order by member.ordinal
""".strip()

EXPECTED_SQL = f"""
select one.key as member, one.value -> 'assigned' as should_have, one.value -> 'revoked' as should_give_up,
    (select member -> 'assigned' from jsonb_array_elements(document -> 'members') as member
     where member ->> 'member_id' = one.key limit 1) as has
from {SCHEMA}.generations, jsonb_each(nullif(document -> 'verdict' -> 'expected', 'null'::jsonb)) as one
where {CHOSEN}
order by 1
""".strip()

WAIT_SQL = f"""
select to_timestamp((document -> 'wait' ->> 'since_ms')::bigint / 1000.0) as since,
    to_timestamp((document -> 'wait' ->> 'until_ms')::bigint / 1000.0) as until,
    to_timestamp((document -> 'wait' ->> 'ended_ms')::bigint / 1000.0) as ended,
    jsonb_array_length(document -> 'wait' -> 'subjects') as waiting, document -> 'wait' -> 'because' as because,
    document -> 'wait' -> 'returned' as returned, (document -> 'wait' ->> 'only_delay')::boolean as only_delay
from {SCHEMA}.generations
where {CHOSEN} and jsonb_typeof(document -> 'wait') = 'object'
""".strip()

OTHER_DELAYS_SQL = f"""
select (other ->> 'max_delay_ms')::bigint as max_delay, (other ->> 'idle_ms')::bigint as idle,
    (other ->> 'moved')::integer as moved
from {SCHEMA}.generations,
    jsonb_array_elements(coalesce(nullif(document -> 'wait', 'null'::jsonb) -> 'other_delays', '[]')) as other
where {CHOSEN}
order by 1
""".strip()

IDLE_SQL = f"""
select idle.key as because, idle.value::bigint as idle
from {SCHEMA}.generations, jsonb_each_text(document -> 'idle_ms') as idle
where {CHOSEN}
order by 2 desc
""".strip()

DOWNTIME_SQL = f"""
select one -> 'subject' ->> 'type' as type, one -> 'subject' ->> 'id' as id, one ->> 'kind' as kind,
    one ->> 'from' as "from", one ->> 'to' as "to",
    (one ->> 'lowest_ms')::bigint as at_least, (one ->> 'best_ms')::bigint as likely,
    (one ->> 'highest_ms')::bigint as at_most
from {SCHEMA}.generations, jsonb_array_elements(document -> 'interrupted') as one
where {CHOSEN}
order by likely desc nulls last
limit 2000
""".strip()

AROUND_SQL = f"""
with chosen as (select at_ms from {SCHEMA}.generations where {CHOSEN})
select to_timestamp(opened_at_ms / 1000.0) as opened, to_timestamp(resolved_at_ms / 1000.0) as resolved, alert,
    certainty, rule, opened_generation as generation, message
from {SCHEMA}.incidents, chosen
where {GROUP_SQL} and opened_at_ms <= chosen.at_ms + 600000 and coalesce(resolved_at_ms, chosen.at_ms) >= chosen.at_ms
order by opened_at_ms
limit 200
""".strip()

# -- the monitor itself -------------------------------------------------------------------------------------------

UNDECODABLE_SQL = f"""
select cluster, topic, partition, "offset", size_bytes as size, reason
from {SCHEMA}.undecodable
where cluster in (${{cluster:sqlstring}})
order by batch_id desc
limit 200
""".strip()

GAPS_SQL = f"""
select cluster, topic, partition, from_offset, to_offset, to_offset - from_offset as records, reason
from {SCHEMA}.gaps
where cluster in (${{cluster:sqlstring}})
order by batch_id desc
limit 200
""".strip()

POSITIONS_SQL = f"""
select cluster_id, topic, count(*) as partitions, sum(next_offset)::bigint as records, max(updated_at) as last_read
from {SCHEMA}.positions
group by cluster_id, topic
order by cluster_id, topic
""".strip()

OUTBOX_SQL = f"""
select created_at as since, transition, document ->> 'rule' as rule, document ->> 'cluster' as cluster,
    document ->> 'group' as "group", document ->> 'alert' as alert
from {SCHEMA}.outbox
where not done
order by sequence
limit 200
""".strip()

MAINTENANCE_SQL = f"""
select cluster, "groups", owner, reason, to_timestamp(from_ms / 1000.0) as "from",
    coalesce(ended_at, to_timestamp(until_ms / 1000.0)) as "until", added_by, operator
from {SCHEMA}.maintenance
order by from_ms desc
limit 100
""".strip()
