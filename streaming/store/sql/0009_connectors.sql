-- needs 0005
-- What rebalances cost, by connector of Kafka Connect. A document says it of its own generation (`by_connector`); the
-- rest of what a rebalance cost is not split. Sums of a connector are an array: rebalances, then the figures in the
-- order of the type `cost`.

-- Of days that were cut, and of findings that are gone: sums by connector, those of what is not split under "". A
-- release that does not know the column leaves it null or as it is, and what it adds is not split.
alter table rebalance_monitor.daily_summaries add column connectors jsonb;

-- By connector, of the document of a generation and of what this cost; null: no connector is named. A figure of which
-- connectors would have more than there is belongs to none.
create function rebalance_monitor.connectors_of(document jsonb, whole rebalance_monitor.cost) returns jsonb
language sql immutable parallel safe as $$
    with each as (
        select one ->> 'key' as connector, (one -> 'value' ->> 'moved')::numeric as moved,
            (one -> 'value' ->> 'idle_ms')::numeric as unassigned_ms, 0::numeric as stopped_ms
        from jsonb_path_query(document, '$.by_connector.keyvalue()', silent => true) as one
        union all
        select one ->> 'key', 0, 0, (one ->> 'value')::numeric
        from jsonb_path_query(document, '$.downtime[*].by_connector.keyvalue()', silent => true) as one
    ), own as (
        select connector, coalesce(sum(moved), 0) as moved, coalesce(sum(unassigned_ms), 0) as unassigned_ms,
            coalesce(sum(stopped_ms), 0) as stopped_ms
        from each group by connector
    ), fits as (
        select sum(moved) <= whole.moved as moved, sum(unassigned_ms) <= whole.unassigned_ms as unassigned_ms,
            sum(stopped_ms) <= whole.stopped_ms as stopped_ms
        from own
    )
    select jsonb_object_agg(own.connector, jsonb_build_array(
        whole.rebalances,
        case when fits.moved then own.moved end, case when fits.moved then whole.moved_of else 0 end,
        case when fits.unassigned_ms then own.unassigned_ms end,
        case when fits.unassigned_ms then whole.unassigned_ms_of else 0 end,
        case when fits.stopped_ms then own.stopped_ms end,
        case when fits.stopped_ms then whole.stopped_ms_of else 0 end,
        whole.doubled_ms - whole.doubled_ms, whole.doubled_ms_of, null, 0
    ))
    from own, fits
$$;

-- What has this cost, of which connectors have so much: each of them, and what is left (null), if anything is.
create function rebalance_monitor.split(whole rebalance_monitor.cost, connectors jsonb)
returns table (connector text, cost rebalance_monitor.cost) language sql immutable parallel safe as $$
    select one.key, row(
        whole.cause, (one.value ->> 0)::bigint, (one.value ->> 1)::bigint, (one.value ->> 2)::bigint,
        (one.value ->> 3)::bigint, (one.value ->> 4)::bigint, (one.value ->> 5)::bigint, (one.value ->> 6)::bigint,
        (one.value ->> 7)::bigint, (one.value ->> 8)::bigint, (one.value ->> 9)::bigint, (one.value ->> 10)::bigint
    )::rebalance_monitor.cost
    from jsonb_each(connectors) as one where one.key <> ''
    union all
    select null, row(
        whole.cause, coalesce((connectors -> '' ->> 0)::bigint, whole.rebalances),
        rest.moved, coalesce((connectors -> '' ->> 2)::bigint, whole.moved_of),
        rest.unassigned_ms, coalesce((connectors -> '' ->> 4)::bigint, whole.unassigned_ms_of),
        rest.stopped_ms, coalesce((connectors -> '' ->> 6)::bigint, whole.stopped_ms_of),
        rest.doubled_ms, coalesce((connectors -> '' ->> 8)::bigint, whole.doubled_ms_of),
        whole.held_up, coalesce((connectors -> '' ->> 10)::bigint, whole.held_up_of)
    )::rebalance_monitor.cost
    from (
        select whole.moved - coalesce(sum((value ->> 1)::numeric), 0) as moved,
            whole.unassigned_ms - coalesce(sum((value ->> 3)::numeric), 0) as unassigned_ms,
            whole.stopped_ms - coalesce(sum((value ->> 5)::numeric), 0) as stopped_ms,
            whole.doubled_ms - coalesce(sum((value ->> 7)::numeric), 0) as doubled_ms
        from jsonb_each(connectors) where key <> ''
    ) as rest
    where greatest(rest.moved, rest.unassigned_ms, rest.stopped_ms, rest.doubled_ms, whole.held_up) > 0
$$;

-- Sums by connector of two parts of a day together: what neither knows stays null.
create function rebalance_monitor.connectors_together(one jsonb, other jsonb) returns jsonb
language sql immutable parallel safe as $$
    select case when one is null then other when other is null then one else (
        select jsonb_object_agg(key, sums) from (
            select key, jsonb_agg(case when total > most then most else total end order by place) as sums from (
                select part.key, number.place, sum(nullif(number.value, 'null')::numeric) as total,
                    9223372036854775807 as most
                from (select * from jsonb_each(one) union all select * from jsonb_each(other)) as part
                cross join jsonb_array_elements(part.value) with ordinality as number (value, place)
                group by 1, 2
            ) as each group by key
        ) as each
    ) end
$$;

-- The connector that a finding is about: it, or its task `connector-number`; null where it is none, or several.
create function rebalance_monitor.connector_of(subjects jsonb) returns text
language sql immutable parallel safe as $$
    select nullif(min(name), '') from (
        select case one ->> 'type' when 'connector' then one ->> 'id'
            when 'task' then substring(one ->> 'id' from '^(.*)-[^-]*$') end as name
        from jsonb_array_elements(subjects) as one
    ) as named having min(name) = max(name)
$$;

create view rebalance_monitor.connector_costs as
select g.cluster, g."group", g.day, g.at_ms, g.generation, (one.cost).cause, one.connector,
    (one.cost).rebalances, (one.cost).moved, (one.cost).moved_of, (one.cost).unassigned_ms, (one.cost).unassigned_ms_of,
    (one.cost).stopped_ms, (one.cost).stopped_ms_of, (one.cost).doubled_ms, (one.cost).doubled_ms_of,
    (one.cost).held_up, (one.cost).held_up_of
from rebalance_monitor.stored_generations g
cross join lateral (
    select coalesce(g.cost, rebalance_monitor.cost_of(g.document, g.protocol_type)) as cost offset 0
) as told
cross join lateral (select rebalance_monitor.connectors_of(g.document, told.cost) as connectors offset 0) as named
cross join lateral rebalance_monitor.split(told.cost, named.connectors) as one
where g.day not in (select day from rebalance_monitor.cuts)
union all
select i.cluster, i."group", least(i.opened_at_ms / 86400000, 2147483647)::integer, null, null, '',
    rebalance_monitor.connector_of(p.subjects), 0, null, 0, null, 0, null, 0, p.resolved_at_ms - p.opened_at_ms, 0,
    null, 0
from rebalance_monitor.incidents i join rebalance_monitor.incident_parts p using (incident_id)
where i.code = 'CONNECT-K2' and p.resolved_at_ms is not null and p.certainty in ('certain', 'likely')
union all
select s.cluster, s."group", s.day, null, null, (one.cost).cause, one.connector,
    (one.cost).rebalances, (one.cost).moved, (one.cost).moved_of, (one.cost).unassigned_ms, (one.cost).unassigned_ms_of,
    (one.cost).stopped_ms, (one.cost).stopped_ms_of, (one.cost).doubled_ms, (one.cost).doubled_ms_of,
    (one.cost).held_up, (one.cost).held_up_of
from rebalance_monitor.daily_summaries s
cross join lateral (
    select row(
        case s.kind when 'cause' then s.name else '' end,
        case s.kind when 'cause' then coalesce(s.rebalances, s.count) else 0 end, s.moved, coalesce(s.moved_of, 0),
        s.unassigned_ms, coalesce(s.unassigned_ms_of, 0), s.stopped_ms, coalesce(s.stopped_ms_of, 0),
        s.doubled_ms, coalesce(s.doubled_ms_of, 0), s.held_up, coalesce(s.held_up_of, 0)
    )::rebalance_monitor.cost as cost offset 0
) as told
cross join lateral rebalance_monitor.split(told.cost, s.connectors) as one
where s.kind = 'cause' or s.doubled_ms is not null;
