-- needs 0004
-- What changes with each generation is stored as what changes; all of it is told as before.

-- A group's state is `state`, or what `delta` makes of it (store/state_deltas.py): then `state` stays where it is, beside
-- the row, and is not written again.
alter table rebalance_monitor.states add column delta bytea;
alter table rebalance_monitor.states alter column delta set storage main;
alter table rebalance_monitor.states set (toast_tuple_target = 128);

-- Of a generation's document its row has what tells of this rebalance; columns have numbers, `stored_contents` the rest
-- (store/shared.py). Members' bytes are in `sent`, a content as well, with zeros where the generation's number stands;
-- it is null where the bytes came by themselves: then `bytes` names them.
alter table rebalance_monitor.stored_generations add column sent text;
alter table rebalance_monitor.stored_generations alter column bytes drop not null;

-- What a member sent, of what is stored of it: the name of the bytes, or [bytes in hex, [[place, number], …]].
create function rebalance_monitor.sent_bytes(told jsonb, generation integer) returns bytea
language plpgsql immutable parallel safe as $$
declare
    whole bytea := decode(told ->> 0, 'hex');
    place jsonb;
begin
    for place in select jsonb_array_elements(told -> 1) loop
        whole := overlay(whole placing int4send(generation + (place ->> 1)::integer) from (place ->> 0)::integer + 1);
    end loop;
    return whole;
end
$$;
create function rebalance_monitor.sent_name(told jsonb, generation integer) returns text
language plpgsql immutable parallel safe as $$
begin
    if jsonb_typeof(told) = 'array' then
        return encode(sha256(rebalance_monitor.sent_bytes(told, generation)), 'hex');
    end if;
    return told #>> '{}';
end
$$;

-- A content is looked up for each row (`limit 1`): a planner that may join reads those of all days instead.
create or replace view rebalance_monitor.generations as
select g.cluster, g.topic_id, g.partition, g."offset", g.day, g.topic, g."group", g.incarnation, g.lifecycle,
    g.protocol_type, g.protocol, g.generation, g.leader, g.at_ms, g.state_ms, g.member_count, g.unassigned_count,
    g.delay_ms, g.grade, g.assignor, g.era, g.reason, g.pending_until_ms, g.historic,
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
    select content from rebalance_monitor.stored_contents c where c.hash = g.content and c.day = g.day limit 1
) c on true;

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
cross join lateral (
    select content from rebalance_monitor.stored_contents c where c.hash = g.content and c.day = g.day limit 1
) c
left join lateral (
    select content from rebalance_monitor.stored_contents s where s.hash = g.sent and s.day = g.day limit 1
) s on true
cross join lateral jsonb_array_elements(c.content -> 'members') with ordinality as m (told, number);

-- A table has the bytes that are too long for `sent`, and those that are there before their generation is. A planner
-- with statistics takes contents apart before it joins them, also those that are no members' bytes: objects.
alter table rebalance_monitor.assignments rename to stored_assignments;
do $$
declare
    part text;
begin
    for part in
        select child.relname from pg_inherits join pg_class child on child.oid = inhrelid
        where inhparent = 'rebalance_monitor.stored_assignments'::regclass
    loop
        execute format('alter table rebalance_monitor.%I rename to %I', part, 'stored_' || part);
    end loop;
end
$$;
create view rebalance_monitor.assignments as
select hash, day, blob from rebalance_monitor.stored_assignments
union
select encode(sha256(blob), 'hex'), day, blob
from (
    select distinct g.day, rebalance_monitor.sent_bytes(told.told, g.generation) as blob
    from rebalance_monitor.stored_generations g
    join rebalance_monitor.stored_contents s on s.hash = g.sent and s.day = g.day
    cross join lateral jsonb_array_elements(
        case jsonb_typeof(s.content) when 'array' then s.content else '[]' end
    ) as member
    cross join lateral jsonb_array_elements(member) as told (told)
    where jsonb_typeof(told.told) = 'array'
) as numbered;

-- Page and dashboards look for these among all of a month.
create index generations_unexplained on rebalance_monitor.stored_generations (at_ms) where grade = 'unexplained';
