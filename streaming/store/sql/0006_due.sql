-- needs 0005
-- Less is written with each generation.

-- Many timers move with each generation. While the index had their moment, no update of a state could leave its index
-- entries as they were; the two minutes that a moment lies in change seldom.
create function rebalance_monitor.due_slot(due_ms bigint) returns bigint language sql immutable parallel safe
    return due_ms / 120000;
alter table rebalance_monitor.states
    add column due_slot bigint generated always as (rebalance_monitor.due_slot(due_ms)) stored;
drop index rebalance_monitor.states_due;
create index states_due on rebalance_monitor.states (cluster, due_slot) where due_slot is not null;

-- The type of the protocol has a column, and is in the content.
create function rebalance_monitor.cost_of(document jsonb, protocol_type text) returns rebalance_monitor.cost
language sql immutable parallel safe
    return rebalance_monitor.cost_of(document || jsonb_build_object('protocol_type', protocol_type));

create or replace function rebalance_monitor.with_cost() returns trigger language plpgsql as $$
begin
    new.cost := rebalance_monitor.cost_of(new.document, new.protocol_type);
    return new;
end
$$;

create or replace view rebalance_monitor.costs as
select g.cluster, g."group", g.day, g.at_ms, g.generation, (told.cost).*
from rebalance_monitor.stored_generations g
cross join lateral (select coalesce(g.cost, rebalance_monitor.cost_of(g.document, g.protocol_type)) as cost offset 0) as told
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

-- A content stays in its row while that fits on a page: each piece stored apart costs an entry of another index.
alter table rebalance_monitor.stored_contents alter column content set storage main;
