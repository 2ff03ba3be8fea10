-- The findings that an incident is made of, each with its subjects in full: an incident of many lists only some.
-- `part`: rule code and subjects. One row per part as it stands; open ones have no end, and what heals and breaks again
-- is another row.
create table rebalance_monitor.incident_parts (
    incident_id text not null,
    part text not null,
    opened_at_ms bigint not null,
    severity text not null,
    certainty text not null,
    resolved_at_ms bigint,
    subjects jsonb not null,
    message text not null,
    document jsonb not null,
    batch_id bigint not null,
    primary key (incident_id, part, opened_at_ms)
);

-- Each incident so far is one finding. Its part is named as the monitor names it (`key_of`); only a name that had to
-- be shortened differs, and ends with its incident.
insert into rebalance_monitor.incident_parts
select incident_id,
    code || coalesce((
        select string_agg(
            '|' || (s.value ->> 'type') || '=' || replace(replace(s.value ->> 'id', '\', '\\'), '|', '\|'), ''
            order by s.place)
        from jsonb_array_elements(subjects) with ordinality as s (value, place)), ''),
    opened_at_ms, severity, certainty, resolved_at_ms, subjects, message,
    jsonb_build_object(
        'kind', 'incident_part', 'incident_id', incident_id, 'code', code, 'severity', severity,
        'certainty', certainty, 'opened_generation', opened_generation, 'opened_at_ms', opened_at_ms,
        'resolved_at_ms', resolved_at_ms, 'subjects', subjects, 'message', message, 'evidence', evidence),
    batch_id
from rebalance_monitor.incidents;

-- The incident whose notification names this one as also broken; null: people are notified of this one by itself.
alter table rebalance_monitor.incidents add column led_by text;
create index incidents_led_by on rebalance_monitor.incidents (led_by) where led_by is not null;
