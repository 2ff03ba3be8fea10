-- `undecodable_member` of consumer groups has the code CONSUMER-C12: C-10 is another law of the protocol.
update rebalance_monitor.incidents
set code = 'CONSUMER-C12', document = jsonb_set(document, '{code}', '"CONSUMER-C12"')
where code = 'CONSUMER-C10';
update rebalance_monitor.outbox
set document = jsonb_set(document, '{code}', '"CONSUMER-C12"')
where document ->> 'code' = 'CONSUMER-C10';
update rebalance_monitor.outbox
set previous = jsonb_set(previous, '{code}', '"CONSUMER-C12"')
where previous ->> 'code' = 'CONSUMER-C10';
