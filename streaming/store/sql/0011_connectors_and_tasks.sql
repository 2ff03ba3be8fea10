-- What users read says connectors and tasks instead of jobs, notified instead of told. The release before may go on for a
-- while, beside this one: the view `jobs` is for it alone, and triggers give what it writes the present names. A document
-- of a generation has these alone, as `replay` prints it. The release after this one drops the view and the triggers.
-- They are made before rows are updated, so that none is missed.
--
--     table jobs, column job                            table connectors_and_tasks, column id
--     generations.document: moves[].job                 moves[].subject
--                           interrupted[].job           interrupted[].subject
--                           downtime[].jobs             downtime[].count
--                           wait.jobs                   wait.subjects
--     jobs.document: job                                subject
--     incidents, outbox: times_told                     times_notified (the release before does not need the old one)

-- The objects of a list, each with a field under its present name.
create function rebalance_monitor.with_present_name(list jsonb, former text, present text) returns jsonb
language sql immutable as $$
    select coalesce(
        jsonb_agg(
            (one - former) || jsonb_build_object(present, coalesce(one -> present, one -> former)) order by place
        ), '[]'
    )
    from jsonb_array_elements(list) with ordinality as each (one, place)
$$;

create function rebalance_monitor.generation_with_present_names(document jsonb) returns jsonb
language plpgsql immutable as $$
declare
    field text;
    former text;
    present text;
begin
    for field, former, present in
        values ('moves', 'job', 'subject'), ('interrupted', 'job', 'subject'), ('downtime', 'jobs', 'count')
    loop
        if jsonb_typeof(document -> field) = 'array' then
            document := document || jsonb_build_object(
                field, rebalance_monitor.with_present_name(document -> field, former, present)
            );
        end if;
    end loop;
    if jsonb_typeof(document -> 'wait') = 'object' then
        document := document || jsonb_build_object(
            'wait',
            rebalance_monitor.with_present_name(jsonb_build_array(document -> 'wait'), 'jobs', 'subjects') -> 0
        );
    end if;
    return document;
end
$$;

alter table rebalance_monitor.jobs rename to connectors_and_tasks;
alter table rebalance_monitor.connectors_and_tasks rename column job to id;
alter index rebalance_monitor.jobs_in_trouble rename to connectors_and_tasks_in_trouble;
alter index rebalance_monitor.jobs_pkey rename to connectors_and_tasks_pkey;
-- `xmin` because the page of the release before looks for rows that were written since.
create view rebalance_monitor.jobs as
select cluster, "group", type, id as job, incarnation, generation, assigned, expected, judged, state, running,
    running_generation, running_at_ms, since_ms, agreement, document, batch_id, xmin
from rebalance_monitor.connectors_and_tasks;

create function rebalance_monitor.connector_or_task_names() returns trigger language plpgsql as $$
declare
    subject jsonb := coalesce(new.document -> 'subject', new.document -> 'job');
begin
    new.document := new.document
        || jsonb_build_object('kind', 'connector_or_task', 'subject', subject, 'job', subject);
    return new;
end
$$;
create trigger both_names before insert or update on rebalance_monitor.connectors_and_tasks
    for each row execute function rebalance_monitor.connector_or_task_names();
update rebalance_monitor.connectors_and_tasks set document = document;

create function rebalance_monitor.generation_names() returns trigger language plpgsql as $$
begin
    new.document := rebalance_monitor.generation_with_present_names(new.document);
    return new;
end
$$;
create trigger present_names before insert or update on rebalance_monitor.generations
    for each row when (
        new.document #> '{moves,0}' ? 'job' or new.document #> '{interrupted,0}' ? 'job'
        or new.document #> '{downtime,0}' ? 'jobs' or new.document -> 'wait' ? 'jobs'
    ) execute function rebalance_monitor.generation_names();
update rebalance_monitor.generations set document = document where protocol_type = 'connect';

create function rebalance_monitor.incident_names() returns trigger language plpgsql as $$
begin
    new.document := (new.document - 'times_told')
        || jsonb_build_object('times_notified', new.document -> 'times_told');
    return new;
end
$$;
create trigger present_names before insert or update on rebalance_monitor.incidents
    for each row when (new.document ? 'times_told') execute function rebalance_monitor.incident_names();
create trigger present_names before insert or update on rebalance_monitor.outbox
    for each row when (new.document ? 'times_told') execute function rebalance_monitor.incident_names();
update rebalance_monitor.incidents set document = document where document ? 'times_told';
update rebalance_monitor.outbox set document = document where document ? 'times_told';
update rebalance_monitor.outbox
set previous = (previous - 'times_told') || jsonb_build_object('times_notified', previous -> 'times_told')
where previous ? 'times_told';
