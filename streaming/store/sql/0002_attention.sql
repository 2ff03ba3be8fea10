-- Whether people are being told of an incident (after damping), how loudly, since when, whose it is, and which version
-- of the monitor judged.
alter table rebalance_monitor.incidents
    add column alert text not null default 'info',
    add column firing boolean not null default false,
    add column fired_at_ms bigint,
    add column team text not null default '',
    add column judged_by text not null default '';
alter table rebalance_monitor.generations add column judged_by text not null default '';
create index incidents_firing on rebalance_monitor.incidents (cluster, "group") where firing;
