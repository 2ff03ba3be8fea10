-- needs 0001
-- Why coordinators began rebalances, as their brokers' logs say it (docs/coordinator-log.md). A rebalance that ended
-- `old_generation` led to the next one. `hash` is of the reason: a line that is read again is the same row.
create table rebalance_monitor.coordinator_reasons (
    cluster text not null,
    "group" text not null,
    old_generation integer not null,
    hash text not null,
    kind text not null,
    member_id text,
    instance_id text,
    client_reason text,
    text text not null,
    offsets_partition integer,
    read_day integer not null,
    primary key (cluster, "group", old_generation, hash)
);
create index coordinator_reasons_day on rebalance_monitor.coordinator_reasons (read_day);

-- How far each file of a broker's log was read. A file is known by its device, inode and first line, not by its name.
-- Of a topic with brokers' logs: a partition by its topic, the topic's id and its number, and its next offset.
create table rebalance_monitor.coordinator_log_positions (
    cluster text not null,
    file text not null,
    next_byte bigint not null,
    primary key (cluster, file)
);
