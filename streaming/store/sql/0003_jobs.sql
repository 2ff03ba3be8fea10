-- Each connector and task of a Connect group, three ways: who has it by the group's records, who should have it by the
-- recomputed assignment, and what the status topic says. One row per job, as it stands; `gone`: nobody knows it any more.
create table rebalance_monitor.jobs (
    cluster text not null,
    "group" text not null,
    type text not null,
    job text not null,
    incarnation integer not null,
    generation integer not null,
    assigned jsonb not null,
    expected text,
    judged boolean not null,
    state text,
    running text,
    running_generation integer,
    running_at_ms bigint,
    since_ms bigint not null,
    agreement text not null,
    document jsonb not null,
    batch_id bigint not null,
    primary key (cluster, "group", type, job)
);
create index jobs_in_trouble on rebalance_monitor.jobs (cluster, "group") where agreement not in ('ok', 'gone');

-- Generations of one kind close behind each other, as one event for people.
create view rebalance_monitor.bursts as
select distinct on (cluster, "group", incarnation, first_generation)
    cluster, "group", incarnation, document -> 'burst' ->> 'kind' as kind, first_generation,
    (document -> 'burst' ->> 'last_generation')::integer as last_generation,
    (document -> 'burst' ->> 'first_at_ms')::bigint as first_at_ms,
    (document -> 'burst' ->> 'last_at_ms')::bigint as last_at_ms,
    (document -> 'burst' ->> 'count')::integer as count
from (
    select *, (document -> 'burst' ->> 'first_generation')::integer as first_generation
    from rebalance_monitor.generations
    where jsonb_typeof(document -> 'burst') = 'object'
) as told
order by cluster, "group", incarnation, first_generation, last_generation desc;
