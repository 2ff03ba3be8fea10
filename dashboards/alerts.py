"""Alert rules, from the same declarations as the panels: as a plain rule file and as a PrometheusRule resource.

Damping happens in the monitor, once; the rules on incidents have no `for`.

While a cluster cannot be read, the clock goes on and may open incidents that its next records would have prevented.
`RebalanceIncidentWhileBlind` marks exactly those, by their labels, so that Alertmanager can inhibit them and leaves
alone what was notified before.
"""

from typing import Any

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.incidents import own_alerts
from rebalance_monitor.streaming.core.metrics import CLUSTER
from rebalance_monitor.streaming.core.runbooks import Addresses
from .cluster_label import renamed_rules
from .incident_alerts import OF_THE_MONITOR, incident_rule, recorded, recorded_page, titles
from .monitor_alerts import Alert, monitor_alerts
from .queries import aggregated, series

WHILE_BLIND = own_alerts.WHILE_BLIND.name
_REMEMBERED = "2h"
IDENTITY = tuple(label for label in metrics.INCIDENT.labels if label not in ("severity", "path", "team"))
"""What an alert about an incident and the mark of a blind moment have in common."""


def while_blind() -> Alert:
    """The mark of what was opened while nobody could see."""
    identity = ", ".join(IDENTITY)
    now = f"max by ({identity}) ({series(metrics.INCIDENT)}) == 1"
    blind = f"{aggregated(metrics.READY, ('cluster',), how='max')} == 0"
    seeing = f"{aggregated(metrics.READY, ('cluster',), how='max')} == 1"
    before = f"max_over_time((({now}) and on (cluster) ({seeing}))[{_REMEMBERED}:30s])"
    return Alert(
        own=own_alerts.WHILE_BLIND,
        expr=f"(({now}) and on (cluster) ({blind})) unless on ({identity}) ({before} == 1)",
    )


def alerts() -> tuple[Alert, ...]:
    """The rules that are not about one title of the catalogue, in the order of the file."""
    return (while_blind(), *monitor_alerts())


def rule_file(addresses: Addresses | None = None, cluster_label: str = CLUSTER, selector: str = "") -> dict[str, Any]:
    """The rule file as Prometheus reads it. Without `addresses` links lead to the page that the monitor names."""
    where = Addresses(OF_THE_MONITOR) if addresses is None else addresses
    incidents = [incident_rule(title, where) for title in titles()]
    groups = {
        "groups": [
            {
                "name": "rebalance-incidents",
                "rules": [recorded_page(), recorded(), _rule(while_blind(), where), *incidents],
            },
            {"name": "rebalance-monitor", "rules": [_rule(alert, where) for alert in monitor_alerts()]},
        ]
    }
    return renamed_rules(groups, cluster_label, selector)


def prometheus_rule(
    addresses: Addresses | None = None, cluster_label: str = CLUSTER, selector: str = ""
) -> dict[str, Any]:
    """The same rules as a resource of the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "rebalance-monitor",
            "labels": {"app.kubernetes.io/name": "rebalance-monitor", "role": "alert-rules"},
        },
        "spec": rule_file(addresses, cluster_label, selector),
    }


def _rule(alert: Alert, addresses: Addresses) -> dict[str, Any]:
    own = alert.own
    return {
        "alert": own.name,
        "expr": alert.expr,
        **({"for": own.hold} if own.hold else {}),
        "labels": {"severity": own.severity},
        "annotations": {
            "summary": own.summary,
            "description": own.description,
            "next_step": own.advice[0].text,
            "runbook_url": addresses.runbook(own.name),
        },
    }
