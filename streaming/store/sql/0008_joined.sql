-- needs 0005
-- Notifications of many groups that rebalanced at once are one.

alter table rebalance_monitor.outbox add column joined jsonb;
create index outbox_joined on rebalance_monitor.outbox ((joined ->> 'key')) where joined ->> 'key' is not null;
