"""PromQL and SQL, made from the metric declarations: no panel and no rule spells a series name itself."""

from collections.abc import Sequence

from streaming.core.metrics import INCIDENT, Metric
from streaming.core.results import AlertSeverity

# The dashboards' variables; `fleet` lets several clusters be chosen, `group` one of each.
FLEET = 'cluster=~"$cluster"'
ONE_GROUP = 'cluster="$cluster", group="$group"'

SEVERITIES = tuple(severity.value for severity in AlertSeverity)
"""How loudly people are told, loudest first: the label `severity` of incidents."""


def series(metric: Metric, scope: str = "") -> str:
    """The metric's series within a scope (label matchers, comma-separated)."""
    return f"{metric.name}{{{scope}}}" if scope else metric.name


def aggregated(metric: Metric, by: Sequence[str] = (), scope: str = "", how: str = "sum") -> str:
    """Current values, aggregated by labels that the metric declares."""
    return f"{how}{_by(metric, by)} ({series(metric, scope)})"


def rate(metric: Metric, by: Sequence[str] = (), scope: str = "", window: str = "$__rate_interval") -> str:
    """Per-second rate of a counter."""
    return f"sum{_by(metric, by)} (rate({series(metric, scope)}[{window}]))"


def increase(metric: Metric, by: Sequence[str] = (), scope: str = "", window: str = "$__range") -> str:
    """What a counter grew by within a window."""
    return f"sum{_by(metric, by)} (increase({series(metric, scope)}[{window}]))"


def grew(metric: Metric, by: Sequence[str], scope: str = "", window: str = "15m") -> str:
    """True (above 0) when a counter grew within a window, its very first value included.

    `increase` alone is blind to the sample that creates a series, and such counters are created by their first event.
    """
    appeared = (
        f"sum{_by(metric, by)} ({series(metric, scope)}) unless sum{_by(metric, by)} ({series(metric, scope)} "
        f"offset {window})"
    )
    return f"({increase(metric, by, scope, window)} > 0) or (({appeared}) > 0)"


def age(metric: Metric, by: Sequence[str] = (), scope: str = "") -> str:
    """Seconds since a moment that the metric exports; nothing while it is 0, which stands for "never yet"."""
    return f"time() - max{_by(metric, by)} ({series(metric, scope)} > 0)"


def remaining(metric: Metric, by: Sequence[str] = (), scope: str = "") -> str:
    """Seconds until a moment that the metric exports, never below zero."""
    return f"clamp_min({aggregated(metric, by, scope, how='max')} - time(), 0)"


def open_incidents(by: Sequence[str] = (), scope: str = "") -> str:
    """Number of open incidents; 0 instead of nothing when no incident was ever seen."""
    counted = f"count{_by(INCIDENT, by)} ({series(INCIDENT, scope)} == 1)"
    return counted if by else f"{counted} or vector(0)"


def _by(metric: Metric, labels: Sequence[str]) -> str:
    unknown = set(labels) - set(metric.labels)
    if unknown:
        raise ValueError(f"{metric.name} has no label {', '.join(sorted(unknown))}")
    return f" by ({', '.join(labels)})" if labels else ""


# -- tables of the database, within the dashboard's time range ------------------------------------------------------

_SCHEMA = "rebalance_monitor"
_IN_RANGE = "between $__unixEpochFrom()::bigint * 1000 and $__unixEpochTo()::bigint * 1000"
_FLEET_SQL = "cluster in (${cluster:sqlstring})"
_GROUP_SQL = 'cluster = ${cluster:sqlstring} and "group" = ${group:sqlstring}'

OPEN_INCIDENTS_SQL = f"""
select to_timestamp(opened_at_ms / 1000.0) as opened, severity, rule, cluster, "group", message
from {_SCHEMA}.incidents
where resolved_at_ms is null and not historic and {_FLEET_SQL}
order by case severity when 'critical' then 0 when 'high' then 1 when 'medium' then 2 when 'low' then 3 else 4 end,
    opened_at_ms desc
limit 200
""".strip()

UNEXPLAINED_SQL = f"""
select to_timestamp(at_ms / 1000.0) as at, cluster, "group", generation, assignor, reason
from {_SCHEMA}.generations
where grade = 'unexplained' and at_ms {_IN_RANGE} and {_FLEET_SQL}
order by at_ms desc
limit 200
""".strip()

GENERATIONS_SQL = f"""
select to_timestamp(at_ms / 1000.0) as at, generation, grade, reason, member_count as members,
    unassigned_count as unassigned, delay_ms as delay,
    (select string_agg(cause ->> 'kind', ', ') from jsonb_array_elements(document -> 'cause') as cause) as cause
from {_SCHEMA}.generations
where at_ms {_IN_RANGE} and {_GROUP_SQL}
order by at_ms desc
limit 500
""".strip()

INCIDENT_HISTORY_SQL = f"""
select to_timestamp(opened_at_ms / 1000.0) as opened, to_timestamp(resolved_at_ms / 1000.0) as resolved, severity,
    certainty, rule, message
from {_SCHEMA}.incidents
where opened_at_ms {_IN_RANGE} and {_GROUP_SQL}
order by opened_at_ms desc
limit 200
""".strip()

MEMBERS_SQL = f"""
with latest as (
    select cluster, topic_id, partition, "offset" from {_SCHEMA}.generations
    where {_GROUP_SQL}
    order by incarnation desc, at_ms desc, generation desc
    limit 1
)
select coalesce(member.worker, member.instance_id, member.member_id) as member, member.client_host as host,
    member.assigned::text as assigned, member.revoked::text as revoked, member.owned::text as owned
from {_SCHEMA}.members as member join latest using (cluster, topic_id, partition, "offset")
order by member.ordinal
""".strip()

DIFF_SQL = f"""
select to_timestamp(at_ms / 1000.0) as at, generation, moved.key as member,
    moved.value -> 'gained' as gained, moved.value -> 'lost' as lost
from {_SCHEMA}.generations, jsonb_each(document -> 'diff') as moved
where at_ms {_IN_RANGE} and {_GROUP_SQL}
order by at_ms desc, moved.key
limit 500
""".strip()

TABLES_SQL = {
    "open_incidents": OPEN_INCIDENTS_SQL,
    "unexplained": UNEXPLAINED_SQL,
    "generations": GENERATIONS_SQL,
    "incident_history": INCIDENT_HISTORY_SQL,
    "members": MEMBERS_SQL,
    "diff": DIFF_SQL,
}
