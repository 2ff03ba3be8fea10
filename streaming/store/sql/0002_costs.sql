-- needs 0001
-- What rebalances cost: core/costs.py says what each figure is, and of how many rebalances `…_of` is. A figure that is not
-- known is null; one that does not fit is the largest that does, as in all that is stored.
create type rebalance_monitor.cost as (
    cause text, rebalances bigint,
    moved bigint, moved_of bigint, unassigned_ms bigint, unassigned_ms_of bigint, stopped_ms bigint, stopped_ms_of bigint,
    doubled_ms bigint, doubled_ms_of bigint, held_up bigint, held_up_of bigint
);

create function rebalance_monitor.cost_of(document jsonb) returns rebalance_monitor.cost
language plpgsql immutable parallel safe as $$
declare
    whole constant boolean := not document ? 'sampled';
    connect constant boolean := document ->> 'protocol_type' = 'connect';
    emptied constant boolean := document ? 'emptied';
    uncertain constant boolean := emptied
        or jsonb_path_exists(document, '$.downtime[*].kind ? (@ == "no_stop" || @ == "not_known")');
    told rebalance_monitor.cost;
begin
    told.cause := coalesce(document -> 'cause' -> 0 ->> 'kind', 'none');
    told.moved := jsonb_array_length(jsonb_path_query_array(document, '$.diff.*.gained[*]'));
    if connect and whole and not emptied then
        told.unassigned_ms := (
            select least(coalesce(sum((one #>> '{}')::bigint), 0), 9223372036854775807)
            from jsonb_path_query(document, '$.idle_ms.*') as one
        );
    end if;
    if connect and jsonb_path_exists(document, '$.downtime[*]') then
        told.stopped_ms := (
            select case when sum(ms) > 9223372036854775807 then 9223372036854775807 else sum(ms) end from (
                select (one #>> '{}')::bigint as ms from jsonb_path_query(
                    document, '$.downtime[*] ? (@.kind != "no_stop" && @.kind != "not_known").total_ms'
                ) as one
            ) as stopped
        );
    elsif connect and not emptied and document @> '{"settled": true}' and not jsonb_path_exists(
        document, '$.moves[*].kind ? (@ == "moved_in_two_steps" || @ == "moved_at_once" || @ == "returned")'
    ) then
        told.stopped_ms := 0;
    end if;
    if not document -> 'held_up' ? 'followed' then
        told.held_up := (document -> 'held_up' ->> 'records')::bigint;
    end if;
    told.rebalances := 1;
    told.moved_of := whole::int;
    told.unassigned_ms_of := (told.unassigned_ms is not null)::int;
    told.stopped_ms_of := (told.stopped_ms is not null and not uncertain)::int;
    told.doubled_ms_of := told.stopped_ms_of;
    told.doubled_ms := nullif(told.stopped_ms_of, 0) - 1;
    told.held_up_of := (told.held_up is not null)::int;
    if document ? 'repeats' then
        told := (
            told.cause, 0, nullif(told.moved, 0), 0, nullif(told.unassigned_ms, 0), 0, nullif(told.stopped_ms, 0), 0,
            null, 0, nullif(told.held_up, 0), 0
        );
    end if;
    return told;
end
$$;

-- Computed when the document is written: a month of a large fleet is summed in a second. Null in older rows.
alter table rebalance_monitor.stored_generations add column cost rebalance_monitor.cost;

create function rebalance_monitor.with_cost() returns trigger language plpgsql as $$
begin
    new.cost := rebalance_monitor.cost_of(new.document);
    return new;
end
$$;
create trigger with_cost before insert or update of document on rebalance_monitor.stored_generations
    for each row execute function rebalance_monitor.with_cost();

-- Of a day that was cut, in the row of each cause; `doubled_ms` in that of the rule. A release that does not know the
-- columns leaves them null.
alter table rebalance_monitor.daily_summaries
    add column rebalances bigint, add column moved bigint, add column moved_of bigint,
    add column unassigned_ms bigint, add column unassigned_ms_of bigint,
    add column stopped_ms bigint, add column stopped_ms_of bigint,
    add column doubled_ms bigint, add column doubled_ms_of bigint,
    add column held_up bigint, add column held_up_of bigint;

-- Each rebalance; what findings tell; and the sums of what was cut. What is kept longer than its day is in these.
create view rebalance_monitor.costs as
select g.cluster, g."group", g.day, g.at_ms, g.generation, (told.cost).*
from rebalance_monitor.stored_generations g
cross join lateral (select coalesce(g.cost, rebalance_monitor.cost_of(g.document)) as cost offset 0) as told
where g.day not in (select day from rebalance_monitor.cuts)
union all
select i.cluster, i."group", least(i.opened_at_ms / 86400000, 2147483647)::integer, null, null, '', 0, null, 0, null, 0,
    null, 0, p.resolved_at_ms - p.opened_at_ms, 0, null, 0
from rebalance_monitor.incidents i join rebalance_monitor.incident_parts p using (incident_id)
where i.code = 'CONNECT-K2' and p.resolved_at_ms is not null and p.certainty in ('certain', 'likely')
union all
select cluster, "group", day, null, null, case kind when 'cause' then name else '' end,
    case kind when 'cause' then coalesce(rebalances, count) else 0 end, moved, coalesce(moved_of, 0), unassigned_ms,
    coalesce(unassigned_ms_of, 0), stopped_ms, coalesce(stopped_ms_of, 0), doubled_ms, coalesce(doubled_ms_of, 0),
    held_up, coalesce(held_up_of, 0)
from rebalance_monitor.daily_summaries
where kind = 'cause' or doubled_ms is not null;
