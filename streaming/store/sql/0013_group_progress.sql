-- How far the members of a group have come, by the offsets that brokers told last, between two times (ms).
create table rebalance_monitor.group_progress (
    cluster text not null,
    "group" text not null,
    generation int not null,
    asked_ms bigint not null,
    answered_ms bigint not null,
    document jsonb not null,
    batch_id bigint not null,
    primary key (cluster, "group")
);
