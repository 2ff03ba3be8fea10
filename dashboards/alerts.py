"""Alert rules, from the same declarations as the panels.

Incidents: the monitor exports 1 while an incident is open and 0 after it was resolved. The rules look at the last
value within 15 minutes, so that a restart of the monitor neither resolves an alert nor fires it twice, and drop the
labels of the scrape (instance, job), so that a monitor that moved is not a second alert. Only incidents whose `path`
is `prometheus` count: with `alerting.path: push` the monitor itself notifies.

The monitor: a dead man's rule says when nothing watches any more - no heartbeat at all (0 means "never yet", as
in a monitor that is still starting), or one that stands still. All other rules are worth nothing while one of these
fires.
"""

from dataclasses import dataclass
from typing import Any

from dashboards.queries import SEVERITIES, age, aggregated, grew, series
from streaming.core import metrics

RUNBOOKS = "docs/alerts.md"
"""Where the runbooks lie; `build --runbooks URL` puts the address of a published copy in front of the anchors."""

_SURVIVES_RESTART = "15m"
_INCIDENT_LABELS = tuple(label for label in metrics.INCIDENT.labels if label not in ("severity", "path"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One rule. `hold` is how long the expression must be true (Prometheus duration)."""

    name: str
    expr: str
    severity: str
    summary: str
    description: str
    hold: str = "0s"


def incident_alerts() -> tuple[Alert, ...]:
    """One rule per severity that calls for action; info incidents only show on the dashboards."""
    return tuple(_incident(severity) for severity in SEVERITIES if severity != "info")


def _incident(severity: str) -> Alert:
    seen = series(metrics.INCIDENT, f'path="prometheus", severity="{severity}"')
    labels = ", ".join((*_INCIDENT_LABELS, "severity"))
    return Alert(
        name=f"RebalanceIncident{severity.capitalize()}",
        expr=f"max by ({labels}) (last_over_time({seen}[{_SURVIVES_RESTART}])) == 1",
        severity=severity,
        summary="{{ $labels.rule }} in group {{ $labels.group }} of {{ $labels.cluster }}",
        description="The monitor has an open incident of this rule"
        "{{ with $labels.worker }}, worker {{ . }}{{ end }}{{ with $labels.connector }}, connector {{ . }}{{ end }}. "
        "Its evidence is in the group's dashboard and in the table incidents.",
    )


def monitor_alerts() -> tuple[Alert, ...]:
    """Whether the monitor itself can be believed."""
    return (
        Alert(
            name="RebalanceMonitorAbsent",
            expr=f"absent({series(metrics.HEARTBEAT)} > 0)",
            hold="5m",
            severity="critical",
            summary="No rebalance monitor is scraped",
            description="Prometheus has seen no heartbeat for 5 minutes: the monitor is down, its target is gone, "
            "or it runs and has never committed anything.",
        ),
        Alert(
            name="RebalanceMonitorStale",
            expr=f"{age(metrics.HEARTBEAT)} > 120",
            hold="1m",
            severity="critical",
            summary="The rebalance monitor has stopped judging",
            description="The last heartbeat is {{ $value | humanizeDuration }} old, although one is due every 10 s.",
        ),
        Alert(
            name="RebalanceMonitorClusterNotReady",
            expr=f"{aggregated(metrics.READY, ('cluster',), how='max')} == 0",
            hold="15m",
            severity="high",
            summary="Cluster {{ $labels.cluster }} is not being watched",
            description="For 15 minutes the cluster has been unreachable or not read up to its end.",
        ),
        Alert(
            name="RebalanceMonitorDegraded",
            expr=f"{aggregated(metrics.DEGRADED, ('cluster', 'reason'), how='max')} == 1",
            hold="15m",
            severity="medium",
            summary="Cluster {{ $labels.cluster }} is only partly judged",
            description="{{ $labels.reason }}",
        ),
        Alert(
            name="RebalanceMonitorUnexplained",
            expr=grew(metrics.GENERATIONS, ("cluster", "group"), _UNEXPLAINED),
            severity="medium",
            summary="Unexplained assignment in group {{ $labels.group }} of {{ $labels.cluster }}",
            description="A generation's assignment is none that a known assignor makes of what the log shows.",
        ),
        Alert(
            name="RebalanceMonitorUndecodable",
            expr=grew(metrics.UNDECODABLE_RECORDS, ("cluster", "reason")),
            severity="low",
            summary="Undecodable records in {{ $labels.cluster }}",
            description="Records that Kafka's own reader would reject ({{ $labels.reason }}); "
            "the first ones are kept in the table undecodable.",
        ),
        Alert(
            name="RebalanceMonitorGap",
            expr=grew(metrics.GAP_RECORDS, ("cluster", "topic")),
            severity="high",
            summary="Records of {{ $labels.topic }} in {{ $labels.cluster }} were deleted before they were read",
            description="Generations in the gap are unknown; the offsets are in the table gaps.",
        ),
        Alert(
            name="RebalanceMonitorNotificationsStuck",
            expr=f"{aggregated(metrics.OUTBOX_PENDING, how='max')} > 0 "
            f"and on () ({grew(metrics.NOTIFICATIONS, (), _FAILED)})",
            hold="10m",
            severity="high",
            summary="No Alertmanager accepts the monitor's notifications",
            description="{{ $value }} notifications wait. They are kept and sent as soon as one answers.",
        ),
    )


_UNEXPLAINED = 'grade="unexplained"'
_FAILED = 'outcome="failed"'


def rule_file(runbooks: str = RUNBOOKS) -> dict[str, Any]:
    """The rule file as Prometheus reads it."""
    return {
        "groups": [
            {"name": "rebalance-incidents", "rules": [_rule(alert, runbooks) for alert in incident_alerts()]},
            {"name": "rebalance-monitor", "rules": [_rule(alert, runbooks) for alert in monitor_alerts()]},
        ]
    }


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{runbooks}#{alert.name.lower()}",
        },
    }
