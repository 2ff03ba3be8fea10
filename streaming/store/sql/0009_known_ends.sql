-- What the reader of a Kafka cluster knew of and had not read: partition, as `topic|topic id|number` -> [first offset,
-- last known end]. A job that begins after its topic was deleted states the rest as a gap.
create table rebalance_monitor.known_ends (
    cluster_id text primary key,
    ends jsonb not null
);
