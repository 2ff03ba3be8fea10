"""Contracts of `incidents` and of the notifications about them, `outbox` and `outbox_sent`."""

from rebalance_monitor.streaming.core import tables
from rebalance_monitor.streaming.core.columns import DAY_MS
from rebalance_monitor.streaming.core.connect.rules.catalogue_across import ALL_WORKERS_GONE
from rebalance_monitor.streaming.core.model.records import POLLED
from .contract import Contract, document_fits, known_values, suite

INCIDENTS = suite(
    tables.INCIDENTS,
    Contract(
        "incident_has_evidence",
        "every incident names its evidence, and whom it is about",
        "select incident_id from rebalance_monitor.incidents"
        " where jsonb_array_length(evidence) = 0 or jsonb_array_length(subjects) = 0",
    ),
    Contract(
        "incident_evidence_was_read",
        "a record named as evidence lies below the position of its partition; one that was polled has no record",
        f"""
        select i.incident_id, e.value as record from rebalance_monitor.incidents i
        cross join lateral jsonb_array_elements(i.evidence) as e
        where e.value ? 'offset' and e.value ->> 'topic' <> '{POLLED}' and not exists (
            select from rebalance_monitor.positions p
            where p.topic = e.value ->> 'topic' and p.partition = (e.value ->> 'partition')::bigint
            and (e.value ->> 'offset')::bigint < p.next_offset)
        """,
    ),
    Contract(
        "incident_generation_stored",
        "the generation that an incident opened with is stored, unless the incident is over and the day was cut; 0 is"
        f" none: monitor_error, or none was known; {ALL_WORKERS_GONE.title} opens with a record without members, of"
        " which no generation is stored",
        "select incident_id, opened_generation from rebalance_monitor.incidents i"
        f" where opened_generation <> 0 and code <> '{ALL_WORKERS_GONE.code}' and not exists (select"
        ' from rebalance_monitor.generations g where g.cluster = i.cluster and g."group" = i."group"'
        " and g.generation = i.opened_generation) and not (resolved_at_ms is not null and exists (select"
        f" from rebalance_monitor.cuts k where k.day <= i.opened_at_ms / {DAY_MS}))",
    ),
    Contract(
        "incident_times_in_order",
        "an incident ends, and people are notified of it, at its beginning or later",
        "select incident_id from rebalance_monitor.incidents"
        " where resolved_at_ms < opened_at_ms or fired_at_ms < opened_at_ms",
    ),
    Contract(
        "incident_history_is_silent",
        "nobody is notified of what was found in history",
        "select incident_id from rebalance_monitor.incidents where historic and (firing or fired_at_ms is not null)",
    ),
    Contract(
        "incident_firing_since",
        "an incident of which people are notified has the time since when",
        "select incident_id from rebalance_monitor.incidents where firing and fired_at_ms is null",
    ),
    Contract(
        "incident_transition_fits",
        "opened and fired are not over, resolved is; people are notified of fired ones, no longer of ended ones",
        "select incident_id, transition from rebalance_monitor.incidents"
        " where (transition in ('opened', 'fired') and resolved_at_ms is not null)"
        " or (transition = 'resolved' and resolved_at_ms is null)"
        " or (transition = 'fired' and not firing) or (transition in ('opened', 'ended') and firing)"
        " or transition not in ('opened', 'updated', 'resolved', 'fired', 'ended')",
    ),
    Contract(
        "incident_leader_is_notified",
        "an incident that is part of another one's notification names a stored one of its group, which is part of none",
        "select incident_id from rebalance_monitor.incidents i where firing and led_by is not null and not exists"
        " (select from rebalance_monitor.incidents l where l.incident_id = i.led_by and l.led_by is null"
        ' and (l.cluster, l."group") = (i.cluster, i."group"))',
    ),
    Contract(
        "incident_code_has_one_title",
        "a code has one title",
        "select code, min(rule) as rule from rebalance_monitor.incidents group by code having count(distinct rule) > 1",
    ),
    document_fits("incident_document_fits", tables.INCIDENTS, "g.incident_id"),
    known_values("incident_severity_known", "incidents", "severity", "critical high medium low info", "incident_id"),
    known_values("incident_alert_known", "incidents", "alert", "critical warning info", "incident_id"),
    known_values("incident_certainty_known", "incidents", "certainty", "certain likely possible", "incident_id"),
)

INCIDENT_PARTS = suite(
    tables.INCIDENT_PARTS,
    Contract(
        "part_has_incident",
        "each finding is a part of a stored incident, and none is open in an incident that is over",
        "select p.incident_id, p.part from rebalance_monitor.incident_parts p where not exists (select"
        " from rebalance_monitor.incidents i where i.incident_id = p.incident_id"
        " and (p.resolved_at_ms is not null or i.resolved_at_ms is null))",
    ),
    Contract(
        "part_open_in_open_incident",
        "an open incident has an open part",
        "select incident_id from rebalance_monitor.incidents i where resolved_at_ms is null and not exists (select"
        " from rebalance_monitor.incident_parts p where p.incident_id = i.incident_id and p.resolved_at_ms is null)",
    ),
    Contract(
        "part_open_once",
        "one matter is open once: of a cluster and group, rule and subjects in at most one incident",
        "select min(p.incident_id) as incident_id, p.part from rebalance_monitor.incident_parts p"
        " join rebalance_monitor.incidents i using (incident_id) where p.resolved_at_ms is null"
        ' group by i.cluster, i."group", p.part having count(*) > 1',
    ),
    document_fits("part_document_fits", tables.INCIDENT_PARTS, "g.incident_id, part"),
)

OUTBOX = suite(
    tables.OUTBOX,
    Contract(
        "notification_has_incident",
        "a notification is about a stored incident that was not found in history",
        "select o.key from rebalance_monitor.outbox o where not exists (select from rebalance_monitor.incidents i"
        " where i.incident_id = o.incident_id and not i.historic)",
    ),
    Contract(
        "notification_key_fits",
        "the key is made of incident and transition, so that a repeat has the same",
        "select key from rebalance_monitor.outbox"
        " where not starts_with(key || ':', incident_id || ':' || transition || ':')"
        " or document ->> 'incident_id' is distinct from incident_id",
    ),
    Contract(
        "notification_begins_with_fired",
        "the first notification of an incident says that it fires (or is no longer muted), never that it ended",
        "select o.key from rebalance_monitor.outbox o"
        " where transition in ('updated', 'resolved', 'ended', 'muted') and not exists ("
        " select from rebalance_monitor.outbox b where b.incident_id = o.incident_id and b.sequence < o.sequence)"
        " and not exists (select from rebalance_monitor.incidents i where i.incident_id = o.incident_id"
        " and i.fired_at_ms is not null)",
    ),
    known_values(
        "notification_transition_known", "outbox", "transition", "fired updated resolved ended muted unmuted", "key"
    ),
)

OUTBOX_SENT = suite(
    tables.OUTBOX_SENT,
    Contract(
        "sent_after_written",
        "a notification was sent after it was written",
        "select s.key, s.url from rebalance_monitor.outbox_sent s join rebalance_monitor.outbox o using (key)"
        " where s.sent_at < o.created_at",
    ),
)
