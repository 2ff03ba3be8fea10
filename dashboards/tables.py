"""SQL of the tables that show a fleet or one group, within the dashboard's time range."""

from rebalance_monitor.streaming.core.costs import FIGURES

SCHEMA = "rebalance_monitor"
IN_RANGE = "between $__unixEpochFrom()::bigint * 1000 and $__unixEpochTo()::bigint * 1000"
ON_DAYS = "day between $__unixEpochFrom()::bigint / 86400 and $__unixEpochTo()::bigint / 86400"
"""Each day is a partition of its own: others are not looked at."""
FLEET_SQL = "cluster in (${cluster:sqlstring})"
GROUP_SQL = 'cluster = ${cluster:sqlstring} and "group" = ${group:sqlstring}'
LOUDEST_FIRST = "case alert when 'critical' then 0 when 'warning' then 1 else 2 end"
REBALANCE_KEY = """topic_id || '/' || partition || '/' || "offset" || '/' || day"""
"""How one rebalance is named in addresses: the coordinates of its record, and its day."""

LATEST = f"{SCHEMA}.latest_generation(${{cluster:sqlstring}}, ${{group:sqlstring}})"

OPEN_INCIDENTS_SQL = f"""
select to_timestamp(opened_at_ms / 1000.0) as opened, alert, firing as notified, muted_by, rule, team, cluster, "group",
    message
from {SCHEMA}.incidents
where resolved_at_ms is null and not historic and {FLEET_SQL}
order by firing desc, {LOUDEST_FIRST}, opened_at_ms desc
limit 200
""".strip()

UNEXPLAINED_SQL = f"""
select to_timestamp(at_ms / 1000.0) as at, cluster, "group", generation, assignor, reason
from {SCHEMA}.generations
where grade = 'unexplained' and at_ms {IN_RANGE} and {ON_DAYS} and {FLEET_SQL}
order by at_ms desc
limit 200
""".strip()

_COSTS = ", ".join(f"sum({one}) as {one}" for one in ("rebalances", *(figure.name for figure in FIGURES)))
COSTS_SQL = f"""
select cluster, "group", cause, {_COSTS}
from {SCHEMA}.costs
where {ON_DAYS} and {FLEET_SQL}
group by 1, 2, 3
order by sum(stopped_ms) desc nulls last, sum(held_up) desc nulls last, sum(moved) desc nulls last, 1, 2, 3
limit 200
""".strip()

_CONNECTOR_COSTS = ", ".join(
    f"sum({one}) as {one}" for one in ("rebalances", *(one.name for one in FIGURES if one.by_connector is not None))
)
CONNECTOR_COSTS_SQL = f"""
select coalesce(connector, 'not split') as connector, {_CONNECTOR_COSTS}
from {SCHEMA}.connector_costs
where {ON_DAYS} and {GROUP_SQL}
group by 1
order by sum(stopped_ms) desc nulls last, sum(unassigned_ms) desc nulls last, sum(moved) desc nulls last, 1
limit 200
""".strip()

HELD_UP_SQL = f"""
select to_timestamp(at_ms / 1000.0) as at, cluster, "group", generation, cause, held_up as records
from {SCHEMA}.costs
where at_ms {IN_RANGE} and {ON_DAYS}
    and held_up > 0 and {FLEET_SQL}
order by held_up desc, at_ms desc
limit 200
""".strip()

GENERATIONS_SQL = f"""
select to_timestamp(at_ms / 1000.0) as at, generation, grade, reason, member_count as members,
    unassigned_count as unassigned, delay_ms as delay,
    (select string_agg(cause ->> 'kind', ', ') from jsonb_array_elements(document -> 'cause') as cause) as cause,
    {REBALANCE_KEY} as rebalance
from {SCHEMA}.generations
where at_ms {IN_RANGE} and {ON_DAYS} and {GROUP_SQL}
order by at_ms desc
limit 500
""".strip()

INCIDENT_HISTORY_SQL = f"""
select to_timestamp(opened_at_ms / 1000.0) as opened, to_timestamp(resolved_at_ms / 1000.0) as resolved, alert,
    to_timestamp(fired_at_ms / 1000.0) as notified, muted_by, certainty, rule, message
from {SCHEMA}.incidents
where (opened_at_ms {IN_RANGE} or resolved_at_ms is null) and {GROUP_SQL}
order by opened_at_ms desc
limit 200
""".strip()

MEMBERS_SQL = f"""
select coalesce(member ->> 'worker', member ->> 'instance_id', member ->> 'member_id') as member,
    member ->> 'client_host' as host, member ->> 'assigned' as assigned, member ->> 'revoked' as revoked,
    member ->> 'owned' as owned
from {LATEST}, jsonb_array_elements(document -> 'members') with ordinality as members (member, ordinal)
order by ordinal
""".strip()

DIFF_SQL = f"""
select to_timestamp(at_ms / 1000.0) as at, generation, moved.key as member,
    moved.value -> 'gained' as gained, moved.value -> 'lost' as lost
from {SCHEMA}.generations, jsonb_each(document -> 'diff') as moved
where at_ms {IN_RANGE} and {ON_DAYS} and {GROUP_SQL}
order by at_ms desc, moved.key
limit 500
""".strip()

# -- one Connect cluster ------------------------------------------------------------------------------------------

MATRIX_SQL = f"""
with seen as (
    select case type when 'connector' then id || ' (connector)' else id end as id, judged, state, at.worker,
        bool_or(at.what = 'held') as held, bool_or(at.what = 'expected') as expected,
        bool_or(at.what = 'running') as running
    from {SCHEMA}.connectors_and_tasks cross join lateral (
        select jsonb_array_elements_text(assigned) as worker, 'held' as what
        union all select expected, 'expected' where expected is not null
        union all select running, 'running' where running is not null
    ) as at
    where {GROUP_SQL} and agreement <> 'gone'
    group by 1, 2, 3, 4
)
select ' (in the group)' as id, coalesce(member ->> 'worker', member ->> 'member_id') as worker, 'member' as cell
from {LATEST}, jsonb_array_elements(document -> 'members') as member
union all
select id, worker, case
        when held and running and state <> 'RUNNING' then lower(state)
        when held and running and judged and not expected then 'runs, unexpected'
        when held and running then 'runs'
        when held then 'held'
        when running then 'runs unheld'
        else 'expected here'
    end
from seen
order by id, worker
""".strip()

CONNECTORS_AND_TASKS_SQL = f"""
select agreement, type, id, assigned::text as assigned, case when judged then coalesce(expected, '(nobody)') end
        as expected, state, running, to_timestamp(running_at_ms / 1000.0) as said,
    to_timestamp(since_ms / 1000.0) as since
from {SCHEMA}.connectors_and_tasks
where {GROUP_SQL} and agreement <> 'gone'
order by agreement in ('ok', 'unknown'), agreement, type, id
limit 2000
""".strip()

SPREAD_SQL = f"""
with held as (
    select to_timestamp(at_ms / 1000.0) as time,
        coalesce(jsonb_array_length(member -> 'owned' -> 'tasks'), 0)
        - coalesce(jsonb_array_length(member -> 'revoked' -> 'tasks'), 0)
        + coalesce(jsonb_array_length(member -> 'assigned' -> 'tasks'), 0) as tasks
    from {SCHEMA}.generations, jsonb_array_elements(document -> 'members') as member
    where at_ms {IN_RANGE} and {ON_DAYS} and {GROUP_SQL}
)
select time, max(tasks) - min(tasks) as spread, max(tasks) as most, min(tasks) as fewest
from held group by time order by time
""".strip()

# -- rebalances on the time axis of any dashboard -----------------------------------------------------------------


MOST_MARKED = 1_000
"""Generations that the marks of one time axis are made of, the newest: more marks are none."""


def annotations(scope: str = "") -> str:
    """Rebalances as marks: generations of one kind close behind each other are one, from the first to the last. The
    rows themselves have kind and cause: nothing of a whole document has to be put together."""
    where = f" and {scope}" if scope else ""
    return f"""
select min(at_ms) as time, max(at_ms) as timeend,
    "group" || ' (' || cluster || '): '
        || coalesce(max(burst ->> 'kind'), max(cause), 'rebalance')
        || ', generation ' || min(generation)
        || case when count(*) > 1 then ' to ' || max(generation) else '' end as text,
    'rebalance,' || string_agg(distinct grade, ',') as tags
from (
    select cluster, "group", incarnation, generation, at_ms, grade, document -> 'burst' as burst,
        document -> 'cause' -> 0 ->> 'kind' as cause
    from {SCHEMA}.stored_generations
    where at_ms {IN_RANGE} and {ON_DAYS}{where}
    order by at_ms desc
    limit {MOST_MARKED}
) as newest
group by cluster, "group", incarnation, coalesce((burst ->> 'first_generation')::integer, generation)
order by time
""".strip()


TABLES_SQL = {
    "open_incidents": OPEN_INCIDENTS_SQL,
    "costs": COSTS_SQL,
    "connector_costs": CONNECTOR_COSTS_SQL,
    "held_up": HELD_UP_SQL,
    "unexplained": UNEXPLAINED_SQL,
    "generations": GENERATIONS_SQL,
    "incident_history": INCIDENT_HISTORY_SQL,
    "members": MEMBERS_SQL,
    "diff": DIFF_SQL,
    "matrix": MATRIX_SQL,
    "connectors_and_tasks": CONNECTORS_AND_TASKS_SQL,
    "spread": SPREAD_SQL,
    "annotations_fleet": annotations(FLEET_SQL),
    "annotations_group": annotations(GROUP_SQL),
    "annotations": annotations(),
}
