-- needs 0005
-- Who asks for one day is answered from the tables of that day: PostgreSQL need not even plan over those of other days.

-- A content is looked up for each row, as before: a planner that may join reads those of all days instead. `distinct on`
-- does what `limit 1` did, and lets a day that the query names reach the table of contents, by `on c.day = g.day`.
create or replace view rebalance_monitor.generations as
select g.cluster, g.topic_id, g.partition, g."offset", g.day, g.topic, g."group", g.incarnation, g.lifecycle,
    g.protocol_type, g.protocol, g.generation, coalesce(g.leader, c.content #>> '{document,leader}') as leader, g.at_ms,
    g.state_ms, g.member_count, g.unassigned_count, g.delay_ms, g.grade,
    coalesce(g.assignor, c.content #>> '{document,verdict,assignor}') as assignor, g.era, g.reason, g.pending_until_ms,
    g.historic,
    coalesce(
        jsonb_set(
            coalesce(c.content -> 'document', '{}') || jsonb_build_object(
                'members', c.content -> 'members', 'at_ms', g.at_ms, 'state_ms', g.state_ms,
                'generation', g.generation,
                'source', (c.content #> '{document,source}') || jsonb_build_object('offset', g."offset")
            ) || g.document,
            '{verdict,expected}', c.content -> 'expected'
        ),
        g.document
    ) as document,
    g.judged_by, g.batch_id
from rebalance_monitor.stored_generations g
left join lateral (
    select distinct on (day) day, content from rebalance_monitor.stored_contents c
    where c.hash = g.content and c.day = g.day
) c on c.day = g.day;

create or replace view rebalance_monitor.members as
select g.cluster, g.topic_id, g.partition, g."offset", (m.number - 1)::integer as ordinal, g.day,
    m.told ->> 'member_id' as member_id, m.told ->> 'client_id' as client_id, m.told ->> 'client_host' as client_host,
    m.told ->> 'instance_id' as instance_id, m.told ->> 'worker' as worker,
    nullif(m.told -> 'assigned', 'null') as assigned, nullif(m.told -> 'revoked', 'null') as revoked,
    nullif(m.told -> 'owned', 'null') as owned,
    rebalance_monitor.sent_name(coalesce(s.content, g.bytes) -> (m.number - 1)::integer -> 0, g.generation)
        as subscription_hash,
    rebalance_monitor.sent_name(coalesce(s.content, g.bytes) -> (m.number - 1)::integer -> 1, g.generation)
        as assignment_hash
from rebalance_monitor.stored_generations g
join lateral (
    select distinct on (day) day, content from rebalance_monitor.stored_contents c
    where c.hash = g.content and c.day = g.day
) c on c.day = g.day
left join lateral (
    select distinct on (day) day, content from rebalance_monitor.stored_contents s
    where s.hash = g.sent and s.day = g.day
) s on s.day = g.day
cross join lateral jsonb_array_elements(c.content -> 'members') with ordinality as m (told, number);

-- A group's latest generation; none while none is known. It is looked for on the group's own days, and then told of its
-- one day: both are planned anew each time, with the days as numbers.
create function rebalance_monitor.latest_generation(of_cluster text, of_group text)
returns setof rebalance_monitor.generations language plpgsql stable rows 1 as $$
declare
    newest constant bigint := (
        select newest_day from rebalance_monitor.states s where s.cluster = of_cluster and s."group" = of_group
    );
    latest record;
begin
    execute 'select topic_id, partition, "offset", day from rebalance_monitor.stored_generations
        where cluster = $1 and "group" = $2 and day >= $3 order by incarnation desc, "offset" desc limit 1'
    into latest using of_cluster, of_group, coalesce(newest, -2147483648) - 1;
    return query execute 'select * from rebalance_monitor.generations
        where cluster = $1 and topic_id = $2 and partition = $3 and "offset" = $4 and day = $5'
    using of_cluster, latest.topic_id, latest.partition, latest."offset", latest.day;
end
$$;

-- Names of groups are compared for each list of all: they stay in the row of a state, however long its delta is.
alter table rebalance_monitor.states alter column cluster set storage main, alter column "group" set storage main;
