-- The schema of release 0.1.0. What changes after it is a file of its own (see CONTRIBUTING: migrations expand, then
-- contract). What published tables and their columns mean, core/tables.py says.

-- Each cluster's one writer. Every transaction locks the row with its epoch: a deposed job can never interleave.
create table rebalance_monitor.writer (
    cluster text primary key,
    epoch bigint not null unique,
    claimed_at timestamptz not null default now(),
    cluster_id text  -- of the Kafka cluster that has this name; null before its brokers said it
);

-- Which job judges each cluster, and how long it may without saying so again; '-infinity': given up. A table of its own:
-- a renewal must not wait for the transactions that share the writer's row.
create table rebalance_monitor.leases (
    cluster text primary key,
    epoch bigint not null,
    holder text not null,
    session_pid integer not null,
    session_start timestamptz not null,
    until timestamptz not null
);

-- Next offset to read. This table, not Spark's checkpoint, says how far the job has come.
create table rebalance_monitor.positions (
    cluster_id text not null,
    topic_id text not null,
    partition integer not null,
    topic text not null,
    next_offset bigint not null,
    hole bigint,
    markers boolean not null default false,
    batch_id bigint not null,
    updated_at timestamptz not null default now(),
    primary key (cluster_id, topic_id, partition)
);

-- The fold's state of each group. `original` holds the group id's bytes where "group" had to be shortened. `home` is the
-- partition of the group's records (topic-number), null where it is not known. `waits` counts the rows of waiting_rows.
-- `has_topics`: topics of its own are read for it. `revision` counts the writes: who has loaded another one writes nothing.
create table rebalance_monitor.states (
    cluster text not null,
    "group" text not null,
    original bytea,
    version integer not null,
    state bytea not null,
    due_ms bigint,
    home text,
    has_topics boolean not null default false,
    waits integer not null default 0,
    revision bigint not null,
    primary key (cluster, "group")
);
create index states_due on rebalance_monitor.states (cluster, due_ms) where due_ms is not null;
create index states_home on rebalance_monitor.states (cluster, home);

-- Records of groups that wait for their turn, each written once when it came and deleted when it was judged; a group's
-- state says which positions are there.
create table rebalance_monitor.waiting_rows (
    cluster text not null,
    "group" text not null,
    position bigint not null,
    record bytea not null,
    primary key (cluster, "group", position)
);

-- States that a fold failed from, put aside for whoever mends the error: the newest of each error, three of a group,
-- a hundred of all. `original` holds the group id's bytes where "group" had to be shortened; `records` are those of the
-- failed fold, one JSON text a line.
create table rebalance_monitor.kept_states (
    cluster text not null,
    "group" text not null,
    fingerprint text not null,
    original bytea,
    record text not null,
    version integer not null,
    state bytea not null,
    records bytea not null,
    batch_id bigint not null,
    kept_at timestamptz not null default now(),
    primary key (cluster, "group", fingerprint)
);
create index kept_states_time on rebalance_monitor.kept_states (kept_at);

-- What happened is kept by days: each day has a partition of its own of these three tables, which is dropped as a whole
-- (store/days.py). What is of no such day, or kept longer, lies in the partitions named `…_other`.
create table rebalance_monitor.stored_generations (
    cluster text not null,
    topic_id text not null,
    topic text not null,
    partition integer not null,
    "offset" bigint not null,
    day integer not null,
    "group" text not null,
    incarnation integer not null,
    lifecycle text not null default 'classic',
    protocol_type text not null,
    protocol text,
    generation integer not null,
    leader text,
    at_ms bigint not null,
    state_ms bigint,
    member_count integer not null,
    unassigned_count integer not null,
    delay_ms bigint,
    grade text not null,
    assignor text,
    era text,
    reason text,
    pending_until_ms bigint,
    historic boolean not null,
    document jsonb not null,
    batch_id bigint not null,
    judged_by text not null default '',
    content text not null,
    bytes jsonb not null,
    primary key (cluster, topic_id, partition, "offset", day)
) partition by range (day);
create table rebalance_monitor.stored_generations_other partition of rebalance_monitor.stored_generations default;
create index generations_group on rebalance_monitor.stored_generations (cluster, "group", incarnation, "offset");
create index generations_time on rebalance_monitor.stored_generations (at_ms);

-- Members of generations and what they should have had: each content once a day, for most rebalances change nothing of
-- it. The bytes that members sent change nearly always (they hold the generation), so their names stand with the row.
create table rebalance_monitor.stored_contents (
    hash text not null,
    day integer not null,
    content jsonb not null,
    primary key (hash, day)
) partition by range (day);
create table rebalance_monitor.stored_contents_other partition of rebalance_monitor.stored_contents default;

create view rebalance_monitor.generations as
select g.cluster, g.topic_id, g.partition, g."offset", g.day, g.topic, g."group", g.incarnation, g.lifecycle,
    g.protocol_type, g.protocol, g.generation, g.leader, g.at_ms, g.state_ms, g.member_count, g.unassigned_count,
    g.delay_ms, g.grade, g.assignor, g.era, g.reason, g.pending_until_ms, g.historic,
    coalesce(
        jsonb_set(
            g.document || jsonb_build_object('members', c.content -> 'members'),
            '{verdict,expected}', c.content -> 'expected'
        ),
        g.document
    ) as document,
    g.judged_by, g.batch_id
from rebalance_monitor.stored_generations g
left join rebalance_monitor.stored_contents c on c.hash = g.content and c.day = g.day;

create view rebalance_monitor.members as
select g.cluster, g.topic_id, g.partition, g."offset", (m.number - 1)::integer as ordinal, g.day,
    m.told ->> 'member_id' as member_id, m.told ->> 'client_id' as client_id, m.told ->> 'client_host' as client_host,
    m.told ->> 'instance_id' as instance_id, m.told ->> 'worker' as worker,
    nullif(m.told -> 'assigned', 'null') as assigned, nullif(m.told -> 'revoked', 'null') as revoked,
    nullif(m.told -> 'owned', 'null') as owned, b.named ->> 0 as subscription_hash, b.named ->> 1 as assignment_hash
from rebalance_monitor.stored_generations g
join rebalance_monitor.stored_contents c on c.hash = g.content and c.day = g.day
cross join lateral jsonb_array_elements(c.content -> 'members') with ordinality as m (told, number)
cross join lateral (select g.bytes -> (m.number - 1)::integer) as b (named);

create view rebalance_monitor.bursts as
select distinct on (cluster, "group", incarnation, first_generation)
    cluster, "group", incarnation, document -> 'burst' ->> 'kind' as kind, first_generation,
    (document -> 'burst' ->> 'last_generation')::integer as last_generation,
    (document -> 'burst' ->> 'first_at_ms')::bigint as first_at_ms,
    (document -> 'burst' ->> 'last_at_ms')::bigint as last_at_ms,
    (document -> 'burst' ->> 'count')::integer as count
from (
    select *, (document -> 'burst' ->> 'first_generation')::integer as first_generation
    from rebalance_monitor.stored_generations
    where jsonb_typeof(document -> 'burst') = 'object'
) as told
order by cluster, "group", incarnation, first_generation, last_generation desc;

create table rebalance_monitor.assignments (
    hash text not null,
    day integer not null,
    blob bytea not null,
    primary key (hash, day)
) partition by range (day);
create table rebalance_monitor.assignments_other partition of rebalance_monitor.assignments default;

-- Days of which only summaries are left: why they were cut, and when nothing of them was left (store/retention.py).
create table rebalance_monitor.cuts (
    day integer primary key,
    reason text not null,
    cut_at timestamptz not null default now(),
    dropped_at timestamptz
);

-- What is left of a day that was cut: counts by group. `kind` says of what, `name` which one.
create table rebalance_monitor.daily_summaries (
    cluster text not null,
    "group" text not null,
    day integer not null,
    kind text not null,
    name text not null,
    count bigint not null,
    primary key (cluster, "group", day, kind, name)
);
create index daily_summaries_day on rebalance_monitor.daily_summaries (day);

create table rebalance_monitor.incidents (
    incident_id text primary key,
    cluster text not null,
    "group" text not null,
    rule text not null,
    code text not null,
    severity text not null,
    certainty text not null,
    transition text not null,
    opened_generation integer not null,
    opened_at_ms bigint not null,
    resolved_at_ms bigint,
    subjects jsonb not null,
    message text not null,
    evidence jsonb not null,
    historic boolean not null,
    document jsonb not null,
    batch_id bigint not null,
    alert text not null default 'info',
    firing boolean not null default false,
    fired_at_ms bigint,
    team text not null default '',
    judged_by text not null default '',
    muted_by text,
    led_by text
);
create index incidents_open on rebalance_monitor.incidents (cluster, "group") where resolved_at_ms is null;
create index incidents_resolved on rebalance_monitor.incidents (resolved_at_ms);
create index incidents_time on rebalance_monitor.incidents (opened_at_ms);
create index incidents_firing on rebalance_monitor.incidents (cluster, "group") where firing;
create index incidents_led_by on rebalance_monitor.incidents (led_by) where led_by is not null;

create table rebalance_monitor.incident_parts (
    incident_id text not null,
    part text not null,
    opened_at_ms bigint not null,
    severity text not null,
    certainty text not null,
    resolved_at_ms bigint,
    subjects jsonb not null,
    message text not null,
    document jsonb not null,
    batch_id bigint not null,
    primary key (incident_id, part, opened_at_ms)
);

create table rebalance_monitor.outbox (
    key text primary key,
    sequence bigint generated always as identity,
    incident_id text not null,
    transition text not null,
    document jsonb not null,
    previous jsonb,
    batch_id bigint not null,
    created_at timestamptz not null default now(),
    done boolean not null default false
);
create index outbox_waiting on rebalance_monitor.outbox (sequence) where not done;
create index outbox_incident on rebalance_monitor.outbox (incident_id);

create table rebalance_monitor.outbox_sent (
    key text not null references rebalance_monitor.outbox (key) on delete cascade,
    url text not null,
    sent_at timestamptz not null default now(),
    refused text,
    primary key (key, url)
);

-- The first undecodable records of each reason; `undecodable_counts` has all.
create table rebalance_monitor.undecodable (
    cluster text not null,
    topic_id text not null,
    topic text not null,
    partition integer not null,
    "offset" bigint not null,
    reason text not null,
    size_bytes bigint not null,
    sample text not null,
    batch_id bigint not null,
    primary key (cluster, topic_id, partition, "offset")
);
create table rebalance_monitor.undecodable_counts (
    cluster text not null,
    reason text not null,
    records bigint not null,
    primary key (cluster, reason)
);

-- Offsets that were gone before they could be read, and who has taken note of it: until then, or for `gap.shown_for`,
-- the monitor goes on to say so.
create table rebalance_monitor.gaps (
    cluster text not null,
    topic_id text not null,
    topic text not null,
    partition integer not null,
    from_offset bigint not null,
    to_offset bigint not null,
    reason text not null,
    batch_id bigint not null,
    found_at timestamptz not null default now(),
    acknowledged_at timestamptz,
    acknowledged_by text,
    acknowledged_operator text, -- the account on the machine the command ran on, as it said
    primary key (cluster, topic_id, partition, from_offset)
);

-- What the reader of a Kafka cluster knew of and had not read: partition, as `topic|topic id|number` -> [first offset,
-- last known end]. A job that begins after its topic was deleted states the rest as a gap.
create table rebalance_monitor.known_ends (
    cluster_id text primary key,
    ends jsonb not null
);

-- What brokers said of their topics, by topic: its changes as a list of [after_ms, at_ms, replicas by partition, or null
-- while the topic is not there]. The row with topic '' holds the racks of brokers and the time of the last sample.
create table rebalance_monitor.topic_samples (
    cluster_id text not null,
    topic text not null,
    content text not null,
    primary key (cluster_id, topic)
);

create table rebalance_monitor.other_groups (
    cluster text not null,
    "group" text not null,
    kind text not null,
    records bigint not null,
    primary key (cluster, "group", kind)
);

create table rebalance_monitor.groups (
    cluster text not null,
    "group" text not null,
    state text not null,
    at_ms bigint not null,
    batch_id bigint not null,
    primary key (cluster, "group")
);

create table rebalance_monitor.group_progress (
    cluster text not null,
    "group" text not null,
    generation int not null,
    asked_ms bigint not null,
    answered_ms bigint not null,
    lag bigint,
    lag_ms bigint,
    at_least boolean not null,
    trend text,
    document jsonb not null,
    batch_id bigint not null,
    primary key (cluster, "group")
);

create table rebalance_monitor.connectors_and_tasks (
    cluster text not null,
    "group" text not null,
    type text not null,
    id text not null,
    incarnation integer not null,
    generation integer not null,
    assigned jsonb not null,
    expected text,
    judged boolean not null,
    state text,
    running text,
    running_generation integer,
    running_at_ms bigint,
    since_ms bigint,
    agreement text not null,
    document jsonb not null,
    batch_id bigint not null,
    primary key (cluster, "group", type, id)
);
create index connectors_and_tasks_in_trouble on rebalance_monitor.connectors_and_tasks (cluster, "group")
    where agreement not in ('ok', 'gone');

-- Maintenance windows given on the command line; the configuration's own windows are not stored. A row is its own audit:
-- who added it and who ended it is what the server knows of the session, and neither can be written by hand.
create table rebalance_monitor.maintenance (
    window_id bigint generated always as identity primary key,
    cluster text not null,
    "groups" text not null,
    owner text not null check (owner <> ''),
    reason text not null check (reason <> ''),
    from_ms bigint not null,
    until_ms bigint not null,
    operator text not null, -- the account on the machine the command ran on, as it said
    added_at timestamptz not null default now(),
    added_by text not null default session_user,
    ended_at timestamptz,
    ended_by text,
    ended_operator text,
    check (until_ms > from_ms and until_ms - from_ms <= 604800000)
);
create index maintenance_until on rebalance_monitor.maintenance (until_ms) where ended_at is null;

create function rebalance_monitor.maintenance_audit() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        new.added_at := now();
        new.added_by := session_user;
        new.ended_at := null;
        new.ended_by := null;
        new.ended_operator := null;
        return new;
    end if;
    if old.ended_at is not null then
        raise exception 'maintenance window % is already ended', old.window_id;
    end if;
    if (new.window_id, new.cluster, new."groups", new.owner, new.reason, new.from_ms, new.until_ms, new.operator,
            new.added_at, new.added_by)
        is distinct from
        (old.window_id, old.cluster, old."groups", old.owner, old.reason, old.from_ms, old.until_ms, old.operator,
            old.added_at, old.added_by) then
        raise exception 'a maintenance window can only be ended, not changed';
    end if;
    new.ended_at := now();
    new.ended_by := session_user;
    return new;
end
$$;
create trigger maintenance_audit before insert or update on rebalance_monitor.maintenance
    for each row execute function rebalance_monitor.maintenance_audit();
