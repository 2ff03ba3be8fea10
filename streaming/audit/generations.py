"""Contracts of `generations` and `bursts`: each record once, read, its document equal to its columns."""

from rebalance_monitor.streaming.core import tables
from rebalance_monitor.streaming.core.model.records import POLLED
from .contract import Contract, document_fits, known_values, suite

KEY = 'g.cluster, g.topic_id, g.partition, g."offset"'
PENDING_SLACK_MS = 600_000
"""A pending verdict may be this much late: the job may have been restarted, or its cluster away for a moment."""


def _jobs(column: str) -> str:
    """Connectors and tasks of one column of a member `m`, as (type, id)."""
    share = f"nullif(m.{column}, 'null')"
    return (
        "select 'connector', value"
        f" from jsonb_array_elements_text(coalesce({share} -> 'connectors', '[]')) union all"
        " select 'task', (value ->> 0) || '-' || (value ->> 1)"
        f" from jsonb_array_elements(coalesce({share} -> 'tasks', '[]'))"
    )


def jobs_of(jobs: str) -> str:
    """A table expression `hands`: the jobs of every member of a judged Connect generation, as the query says."""
    return f"""
    with hands as (
        select m.cluster, m.topic_id, m.partition, m."offset", m.ordinal,
            jsonb_build_object('type', type, 'id', id) as job
        from rebalance_monitor.members m
        join rebalance_monitor.generations g using (cluster, topic_id, partition, "offset")
        cross join lateral ({jobs}) as given (type, id)
        where g.protocol_type = 'connect' and g.pending_until_ms is null
    )"""


# What a member reports it was running when it joined. Under the eager protocol it has stopped that before.
_REPORTED = f"select * from ({_jobs('owned')}) as reported where g.protocol <> 'default'"
# After the round: what it reported and may keep, and what it was given.
IN_HANDS = jobs_of(f"(({_REPORTED}) except ({_jobs('revoked')})) union ({_jobs('assigned')})")
REPORTED = jobs_of(_REPORTED)


def _shared(hands: str) -> str:
    """Jobs that two members have while no incident tells of it."""
    return f"""
        {hands}
        select g.cluster, g."group", g.generation, twice.job
        from (select cluster, topic_id, partition, "offset", job from hands group by 1, 2, 3, 4, 5
              having count(distinct ordinal) > 1) as twice
        join rebalance_monitor.generations g using (cluster, topic_id, partition, "offset")
        where not exists (
            select from rebalance_monitor.incidents i
            where i.cluster = g.cluster and i."group" = g."group" and i.rule = 'duplicate_active'
            and i.opened_at_ms <= g.at_ms and coalesce(i.resolved_at_ms, g.at_ms) >= g.at_ms
            and exists (select from rebalance_monitor.incident_parts p
                where p.incident_id = i.incident_id and p.subjects @> jsonb_build_array(twice.job)))
    """


GENERATIONS = suite(
    tables.GENERATIONS,
    Contract(
        "generation_was_read",
        "the record of a generation lies below the position of its partition; one that was polled has no record",
        f"select {KEY} from rebalance_monitor.generations g where (g.topic = '{POLLED}') = (g.document -> 'sampled'"
        f" is null) or (g.topic <> '{POLLED}' and not exists (select from rebalance_monitor.positions p"
        ' where p.topic_id = g.topic_id and p.partition = g.partition and g."offset" < p.next_offset))',
    ),
    Contract(
        "generation_not_in_gap",
        "no offset is claimed twice: what a gap says was gone before it could be read is no generation's record",
        f"select {KEY} from rebalance_monitor.generations g join rebalance_monitor.gaps h"
        ' using (cluster, topic_id, partition) where g."offset" >= h.from_offset and g."offset" < h.to_offset',
    ),
    Contract(
        "generation_never_falls",
        "along the offsets a group's incarnation never falls, nor its generation inside an incarnation",
        f"select {KEY} from (select *, lag(incarnation) over history as incarnation_before,"
        " lag(generation) over history as generation_before from rebalance_monitor.generations"
        ' window history as (partition by cluster, "group", topic_id, partition order by "offset")) as g'
        " where incarnation < incarnation_before"
        " or (incarnation = incarnation_before and generation < generation_before)",
    ),
    Contract(
        "generation_members_stored",
        "member_count is the number of the generation's members, numbered from 0 without a hole",
        f"select {KEY}, g.member_count from rebalance_monitor.generations g left join (select cluster, topic_id,"
        ' partition, "offset", count(*) as stored, min(ordinal) as first, max(ordinal) as last'
        ' from rebalance_monitor.members group by 1, 2, 3, 4) as m using (cluster, topic_id, partition, "offset")'
        " where g.member_count <> coalesce(m.stored, 0) or m.first <> 0 or m.last <> m.stored - 1",
    ),
    document_fits(
        "generation_document_fits", tables.GENERATIONS, KEY,
        "or jsonb_array_length(g.document -> 'unassigned') <> g.unassigned_count",
    ),
    known_values("generation_grade_known", "generations", "grade", "match explainable unexplained not_judged",
                 'cluster, topic_id, partition, "offset"'),
    Contract(
        "generation_says_why",
        "a verdict that is not match has a reason",
        f"select {KEY}, g.grade from rebalance_monitor.generations g where grade <> 'match' and reason is null",
    ),
    Contract(
        "pending_is_not_judged",
        "only a verdict not judged yet is pending",
        f"select {KEY}, g.grade from rebalance_monitor.generations g"
        " where pending_until_ms is not null and grade <> 'not_judged'",
    ),
    Contract(
        "pending_has_timer",
        "a group with a pending verdict has a timer that is due by then",
        f"""
        select {KEY}, g.pending_until_ms from rebalance_monitor.generations g
        where g.pending_until_ms is not null and not exists (
            select from rebalance_monitor.states s
            where s.cluster = g.cluster and s."group" = g."group" and s.due_ms <= g.pending_until_ms)
        """,
    ),
    Contract(
        "pending_ends",
        f"no verdict is still pending {PENDING_SLACK_MS // 60_000} minutes after it should have become final",
        f"select {KEY}, g.pending_until_ms from rebalance_monitor.generations g where pending_until_ms is not null"
        f" and pending_until_ms + {PENDING_SLACK_MS} < extract(epoch from now()) * 1000",
    ),
    Contract(
        "one_holder_or_incident",
        "no connector or task is in two members' hands after a generation unless an incident names it",
        _shared(IN_HANDS),
    ),
    Contract(
        "one_report_or_incident",
        "no two members of a generation report the same connector or task as theirs unless an incident tells of it",
        _shared(REPORTED),
    ),
)  # fmt: skip

BURSTS = suite(
    tables.BURSTS,
    Contract(
        "burst_spans",
        "a burst has at least one generation, and ends where it began or later",
        'select cluster, "group", first_generation from rebalance_monitor.bursts'
        " where count < 1 or last_generation < first_generation or last_at_ms < first_at_ms"
        " or count > last_generation - first_generation + 1",
    ),
)
