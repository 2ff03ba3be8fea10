"""Alert rules, from the same declarations as the panels: as a plain rule file and as a PrometheusRule resource.

Incidents: the monitor exports 1 while people are told of an incident and 0 after it. The rules look at the last value
within 15 minutes, so that a restart of the monitor neither resolves an alert nor fires it twice, and only an explicit
0 resolves at once. While the monitor is gone (`queries.gone`) an alert that fires goes on to fire. They drop the labels
of the scrape (instance, job), so that a monitor that moved is not a second alert. Only incidents whose `path` is
`prometheus` count: with `alerting.path: push` the monitor itself notifies. Damping happens in the monitor, once; the
rules on incidents have no `for`.

While a cluster cannot be read, the clock goes on and may open incidents that its next records would have prevented.
`RebalanceIncidentWhileBlind` marks exactly those, by their labels, so that Alertmanager can hold them back without
touching what was told before.
"""

from typing import Any

from dashboards.alert import Alert
from dashboards.cluster_label import renamed_rules
from dashboards.monitor_alerts import monitor_alerts
from dashboards.queries import SEVERITIES, aggregated, kept, series
from streaming.core import metrics
from streaming.core.catalogue import RULES
from streaming.core.incidents.runbooks import next_step, runbook_url
from streaming.core.metrics import CLUSTER
from streaming.core.model.settings import RUNBOOKS

WHILE_BLIND = "RebalanceIncidentWhileBlind"
_SURVIVES_RESTART = "15m"
_REMEMBERED = "2h"
_INCIDENT_LABELS = tuple(label for label in metrics.INCIDENT.labels if label not in ("severity", "path"))
IDENTITY = tuple(label for label in _INCIDENT_LABELS if label != "team")
"""What an alert about an incident and the mark of a blind moment have in common."""


def incident_alerts() -> tuple[Alert, ...]:
    """One rule per severity, after the rule that marks what came up while nobody could see."""
    return (_while_blind(), *(_incident(severity) for severity in SEVERITIES))


def _incident(severity: str) -> Alert:
    seen = series(metrics.INCIDENT, f'path="prometheus", severity="{severity}"')
    labels = (*_INCIDENT_LABELS, "severity", "path")
    name = f"RebalanceIncident{severity.capitalize()}"
    told = f"max by ({', '.join(labels)}) (last_over_time({seen}[{_SURVIVES_RESTART}])) == 1"
    return Alert(
        name=name,
        expr=kept(told, name, labels),
        severity=severity,
        summary="{{ $labels.rule }} in group {{ $labels.group }} of {{ $labels.cluster }}",
        description="The monitor has an open incident of this rule"
        "{{ with $labels.worker }}, worker {{ . }}{{ end }}{{ with $labels.connector }}, connector {{ . }}{{ end }}. "
        "Its evidence is in the group's dashboard and in the table incidents.",
        advice=(_next_step(),),
        runbook="{{ $labels.rule }}",
    )


def _next_step() -> str:
    """A template that says of each rule what to do first: the label is all that the gauge tells."""
    titles: dict[str, list[str]] = {}
    for rule in RULES:
        titles.setdefault(next_step(rule.title), []).append(rule.title)
    cases = [
        f"{{{{ {'else ' if number else ''}if eq $labels.rule {' '.join(map(_quoted, dict.fromkeys(some)))} }}}}{step}"
        for number, (step, some) in enumerate(titles.items())
    ]
    return "".join(cases) + "{{ end }}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _while_blind() -> Alert:
    identity = ", ".join(IDENTITY)
    now = f"max by ({identity}) ({series(metrics.INCIDENT)}) == 1"
    blind = f"{aggregated(metrics.READY, ('cluster',), how='max')} == 0"
    seeing = f"{aggregated(metrics.READY, ('cluster',), how='max')} == 1"
    before = f"max_over_time((({now}) and on (cluster) ({seeing}))[{_REMEMBERED}:30s])"
    return Alert(
        name=WHILE_BLIND,
        expr=f"(({now}) and on (cluster) ({blind})) unless on ({identity}) ({before} == 1)",
        severity="info",
        summary="{{ $labels.rule }} in group {{ $labels.group }} came up while {{ $labels.cluster }} was not read",
        description="A mark for Alertmanager, not for people: this incident was opened by the clock alone, while the "
        "cluster could not be read. It is told when the cluster is read again and still shows it.",
        advice=("Look after the cluster first: `RebalanceMonitorClusterNotReady`.",),
        resolves="When the cluster is read to its end again: then the incident is either resolved or told.",
    )


def alerts() -> tuple[Alert, ...]:
    """All rules, in the order of the file."""
    return (*incident_alerts(), *monitor_alerts())


def rule_file(runbooks: str = RUNBOOKS, cluster_label: str = CLUSTER) -> dict[str, Any]:
    """The rule file as Prometheus reads it."""
    groups = {
        "groups": [
            {"name": "rebalance-incidents", "rules": [_rule(alert, runbooks) for alert in incident_alerts()]},
            {"name": "rebalance-monitor", "rules": [_rule(alert, runbooks) for alert in monitor_alerts()]},
        ]
    }
    return renamed_rules(groups, cluster_label)


def prometheus_rule(runbooks: str = RUNBOOKS, cluster_label: str = CLUSTER) -> dict[str, Any]:
    """The same rules as a resource of the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "rebalance-monitor",
            "labels": {"app.kubernetes.io/name": "rebalance-monitor", "role": "alert-rules"},
        },
        "spec": rule_file(runbooks, cluster_label),
    }


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expr,
        **({"for": alert.hold} if alert.hold else {}),
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "next_step": alert.advice[0],
            "runbook_url": runbook_url(alert.runbook or alert.name, runbooks),
        },
    }
