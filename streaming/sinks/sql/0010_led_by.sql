-- The incident whose notification names this one as also broken; null: people are notified of this one by itself.
alter table rebalance_monitor.incidents add column led_by text;
create index incidents_led_by on rebalance_monitor.incidents (led_by) where led_by is not null;
