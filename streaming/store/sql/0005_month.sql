-- needs 0004
-- Less is written with each generation, and what is asked of it in a month takes as long as in a day.

-- Which groups lie in a partition is asked when a gap is found, and a whole table is read for that; each state that was
-- written cost an entry.
drop index rebalance_monitor.states_home;

-- Bytes of the first delta since a state was written as a whole, and how many more all later ones may have together,
-- before it is written anew (store/state_deltas.py).
alter table rebalance_monitor.states add column delta_first integer, add column delta_left integer;

-- The day of the generation that was written last. A group's newest one is of that day or a later one, or of the day
-- before, by brokers whose clocks differ: who looks for it need not look through all days.
alter table rebalance_monitor.states add column newest_day integer;
update rebalance_monitor.states as s set newest_day = g.day
from (
    select distinct on (cluster, "group") cluster, "group", day
    from rebalance_monitor.stored_generations order by cluster, "group", incarnation desc, "offset" desc
) as g
where g.cluster = s.cluster and g."group" = s."group";

-- Leader and assignor are in the content.
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
    select content from rebalance_monitor.stored_contents c where c.hash = g.content and c.day = g.day limit 1
) c on true;
