-- Expand, then contract: a migration only adds (tables, nullable columns, indexes), so that the version before it
-- still works on the new schema; what nobody reads any more is dropped one release later, in a file of its own.

-- The one writer. Every transaction locks this row and compares its epoch: a deposed job can never interleave.
create table rebalance_monitor.writer (
    only_row boolean primary key default true check (only_row),
    epoch bigint not null,
    claimed_at timestamptz not null default now()
);

-- Next offset to read. This table, not Spark's checkpoint, says how far the job has come.
create table rebalance_monitor.positions (
    cluster_id text not null,
    topic_id text not null,
    partition integer not null,
    topic text not null,
    next_offset bigint not null,
    batch_id bigint not null,
    updated_at timestamptz not null default now(),
    primary key (cluster_id, topic_id, partition)
);

-- The fold's state of each group. `original` holds the group id's bytes where "group" had to be shortened.
create table rebalance_monitor.states (
    cluster text not null,
    "group" text not null,
    original bytea,
    version integer not null,
    state bytea not null,
    due_ms bigint,
    primary key (cluster, "group")
);
create index states_due on rebalance_monitor.states (cluster, due_ms) where due_ms is not null;

-- One row per record of a classic group with members; a re-created topic has another topic_id.
create table rebalance_monitor.generations (
    cluster text not null,
    topic_id text not null,
    topic text not null,
    partition integer not null,
    "offset" bigint not null,
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
    primary key (cluster, topic_id, partition, "offset")
);
create index generations_group on rebalance_monitor.generations (cluster, "group", incarnation, generation);
create index generations_time on rebalance_monitor.generations (at_ms);

-- The members of a generation, in the record's order.
create table rebalance_monitor.members (
    cluster text not null,
    topic_id text not null,
    partition integer not null,
    "offset" bigint not null,
    ordinal integer not null,
    member_id text not null,
    client_id text not null,
    client_host text not null,
    instance_id text,
    worker text,
    assigned jsonb,
    revoked jsonb,
    owned jsonb,
    subscription_hash text, -- names a row of assignments
    assignment_hash text,
    primary key (cluster, topic_id, partition, "offset", ordinal)
);

-- Subscription and assignment bytes as the members sent them, each content once.
create table rebalance_monitor.assignments (
    hash text primary key,
    blob bytea not null
);

-- The state of each incident after its last transition.
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
    batch_id bigint not null
);
create index incidents_open on rebalance_monitor.incidents (cluster, "group") where resolved_at_ms is null;
create index incidents_resolved on rebalance_monitor.incidents (resolved_at_ms);
create index incidents_time on rebalance_monitor.incidents (opened_at_ms);

-- Notifications, written in the same transaction as the transition they tell of. `done`: every receiver has it.
create table rebalance_monitor.outbox (
    key text primary key,
    sequence bigint generated always as identity,
    incident_id text not null,
    transition text not null,
    document jsonb not null,
    previous jsonb, -- the incident before an update: its labels end when the new ones begin
    batch_id bigint not null,
    created_at timestamptz not null default now(),
    done boolean not null default false
);
create index outbox_waiting on rebalance_monitor.outbox (sequence) where not done;

create table rebalance_monitor.outbox_sent (
    key text not null references rebalance_monitor.outbox (key) on delete cascade,
    url text not null,
    sent_at timestamptz not null default now(),
    refused text, -- what the receiver said when it will never accept this one (null: accepted)
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

-- Offsets that were gone before they could be read.
create table rebalance_monitor.gaps (
    cluster text not null,
    topic_id text not null,
    topic text not null,
    partition integer not null,
    from_offset bigint not null,
    to_offset bigint not null,
    reason text not null,
    batch_id bigint not null,
    primary key (cluster, topic_id, partition, from_offset)
);

-- Groups of kinds that are only counted so far.
create table rebalance_monitor.other_groups (
    cluster text not null,
    "group" text not null,
    kind text not null,
    records bigint not null,
    primary key (cluster, "group", kind)
);
