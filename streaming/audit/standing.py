"""Contracts of `connectors_and_tasks`, `groups`, `group_progress` and `other_groups`: how things stand now."""

from rebalance_monitor.streaming.core import tables
from .contract import Contract, document_fits, known_values, suite
from .generations import IN_HANDS

ITS_KEY = 'j.cluster, j."group", j.type, j.id'

CONNECTORS_AND_TASKS = suite(
    tables.CONNECTORS_AND_TASKS,
    known_values(
        "connector_or_task_agreement_known", "connectors_and_tasks", "agreement",
        "ok failed unexpected elsewhere held_twice not_started unassigned unknown gone", 'cluster, "group", type, id',
    ),
    known_values(
        "connector_or_task_type_known", "connectors_and_tasks", "type", "connector task", 'cluster, "group", type, id'
    ),
    Contract(
        "connector_or_task_agreement_fits",
        "in order means one holder, held twice several, unassigned or gone none, unexpected another than expected",
        f"select {ITS_KEY}, j.agreement from rebalance_monitor.connectors_and_tasks j"
        " cross join lateral (select jsonb_array_length(j.assigned) as holders) as h"
        " where (j.agreement in ('ok', 'failed', 'not_started', 'unknown') and h.holders <> 1)"
        " or (j.agreement = 'held_twice' and h.holders < 2)"
        " or (j.agreement in ('unassigned', 'gone') and h.holders > 0)"
        " or (j.agreement = 'unexpected' and (not j.judged or j.assigned = jsonb_build_array(j.expected)))",
    ),
    Contract(
        "connector_or_task_has_generation",
        "each stands at a stored generation of its group; only a group without members is beyond its latest, and what"
        " is gone may have gone on a day that was cut",
        f"select {ITS_KEY}, j.generation from rebalance_monitor.connectors_and_tasks j where not exists (select"
        ' from rebalance_monitor.generations g where g.cluster = j.cluster and g."group" = j."group"'
        " and g.generation = j.generation and g.incarnation = j.incarnation) and not exists (select"
        ' from rebalance_monitor.groups s where s.cluster = j.cluster and s."group" = j."group"'
        " and s.state <> 'Stable') and not (j.agreement = 'gone' and exists (select from rebalance_monitor.cuts))",
    ),
    Contract(
        "connector_or_task_holders_fit_members",
        "who has a connector or task is who has it by the latest generation of a group with members",
        f"""
        {IN_HANDS}, latest as (
            select distinct on (g.cluster, g."group") g.cluster, g."group", g.topic_id, g.partition, g."offset",
                g.pending_until_ms
            from rebalance_monitor.generations g
            join rebalance_monitor.groups s on s.cluster = g.cluster and s."group" = g."group" and s.state = 'Stable'
            order by g.cluster, g."group", g.incarnation desc, g."offset" desc
        ), holders as (
            select l.cluster, l."group", h.job, jsonb_agg(distinct m.worker) as workers
            from latest l
            join hands h using (cluster, topic_id, partition, "offset")
            join rebalance_monitor.members m using (cluster, topic_id, partition, "offset", ordinal)
            group by 1, 2, 3
        )
        select {ITS_KEY}, j.assigned, coalesce(h.workers, '[]') as by_record
        from rebalance_monitor.connectors_and_tasks j
        join latest l on l.cluster = j.cluster and l."group" = j."group" and l.pending_until_ms is null
        left join holders h on h.cluster = j.cluster and h."group" = j."group"
            and h.job = jsonb_build_object('type', j.type, 'id', j.id)
        where not (j.assigned @> coalesce(h.workers, '[]') and j.assigned <@ coalesce(h.workers, '[]'))
        """,
    ),
    Contract(
        "connector_or_task_running_whole",
        "what the status topic says comes whole: state, worker and time",
        f"select {ITS_KEY} from rebalance_monitor.connectors_and_tasks j"
        " where num_nonnulls(state, running, running_at_ms) not in (0, 3)",
    ),
    document_fits("connector_or_task_document_fits", tables.CONNECTORS_AND_TASKS, 'g.cluster, g."group", g.type, g.id'),
)  # fmt: skip

GROUPS = suite(
    tables.GROUPS,
    known_values(
        "group_state_known",
        "groups",
        "state",
        "Stable Empty Dead Unknown Assigning Reconciling NotReady",
        'cluster, "group"',
    ),
    Contract(
        "group_stands_on_generation",
        "a group with members has a generation, and stands no earlier than its latest",
        'select s.cluster, s."group" from rebalance_monitor.groups s left join (select cluster, "group",'
        ' max(at_ms) as latest_ms from rebalance_monitor.generations where pending_until_ms is null group by 1, 2)'
        ' as g using (cluster, "group") where s.state = \'Stable\' and (g.latest_ms is null or s.at_ms < g.latest_ms)',
    ),
    Contract(
        "group_has_state",
        "what the fold remembers of a judged group is kept",
        'select distinct g.cluster, g."group" from rebalance_monitor.generations g where not exists (select'
        ' from rebalance_monitor.states s where s.cluster = g.cluster and s."group" = g."group")',
    ),
)  # fmt: skip

GROUP_PROGRESS = suite(
    tables.GROUP_PROGRESS,
    Contract(
        "progress_was_asked_for",
        "no answer is older than its question",
        'select cluster, "group", asked_ms, answered_ms from rebalance_monitor.group_progress'
        " where answered_ms < asked_ms",
    ),
    Contract(
        "progress_counts_each_partition_once",
        "each partition of a member advances, is caught up, stands or is unknown",
        """
        select p.cluster, p."group", m->>'member' from rebalance_monitor.group_progress p
        cross join lateral jsonb_array_elements(p.document->'members') as m
        where (m->>'partitions')::int <> (m->>'advancing')::int + (m->>'caught_up')::int + (m->>'standing')::int
            + (m->>'unknown')::int
        """,
    ),
)
OTHER_GROUPS = suite(
    tables.OTHER_GROUPS,
    known_values(
        "other_group_kind_known", "other_groups", "kind", "consumer share streams unknown", 'cluster, "group"'
    ),
    Contract(
        "other_group_counted",
        "a group that is only counted has been seen",
        'select cluster, "group", kind from rebalance_monitor.other_groups where records < 1',
    ),
)
