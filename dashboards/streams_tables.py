"""SQL of the tables about one Streams application's latest generation."""

from .tables import LATEST


def _tasks(role: str) -> str:
    """The tasks that a process's threads have in this role, as one text."""
    return (
        "(select string_agg(task, ' ' order by task) from jsonb_array_elements(process -> 'threads') as thread,"
        f" jsonb_array_elements_text(thread -> '{role}') as task)"
    )


PROCESSES_SQL = f"""
select coalesce(nullif(process ->> 'end_point', ''), process ->> 'host') as process,
    left(process ->> 'process_id', 8) as id, process ->> 'rack' as rack,
    jsonb_array_length(process -> 'threads') as threads, (process ->> 'leads')::boolean as leads,
    {_tasks("active")} as active, {_tasks("standby")} as copies, {_tasks("warm_up")} as warm_ups,
    {_tasks("withheld")} as is_to_get,
    (select max(lag.value::bigint) from jsonb_each_text(process -> 'lags') as lag) as behind
from {LATEST}, jsonb_array_elements(document -> 'streams' -> 'processes') as process
order by 1, 2
limit 500
""".strip()

SUBTOPOLOGIES_SQL = f"""
select part ->> 'name' as name,
    (select string_agg(topic || ' (' || partitions || ')', ', ' order by topic)
        from jsonb_each_text(part -> 'topics') as reads (topic, partitions)) as reads,
    (part ->> 'tasks')::integer as tasks, (part ->> 'stateful')::boolean as stateful,
    (part ->> 'least')::integer as fewest, (part ->> 'most')::integer as most,
    jsonb_array_length(part -> 'waiting') as waiting, (part ->> 'missing_standbys')::integer as missing_standbys
from {LATEST}, jsonb_array_elements(document -> 'streams' -> 'subtopologies') as part
order by 1
limit 500
""".strip()
