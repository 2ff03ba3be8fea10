-- Records of groups that wait for their turn, each written once when it came and deleted when it was judged; a group's
-- state says which positions are there. `waits` counts them. `home` is the partition of the group's records
-- (topic-number), null where the release that wrote the state did not say it.
create table rebalance_monitor.waiting_rows (
    cluster text not null,
    "group" text not null,
    position bigint not null,
    record bytea not null,
    primary key (cluster, "group", position)
);
alter table rebalance_monitor.states add column home text, add column waits integer not null default 0;
create index states_home on rebalance_monitor.states (cluster, home);
