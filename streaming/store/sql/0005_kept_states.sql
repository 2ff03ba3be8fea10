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
