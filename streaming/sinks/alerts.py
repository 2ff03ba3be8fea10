"""Incidents as Alertmanager's v2 alerts. Pure: the moment of sending comes as an argument.

An alert is known by its labels alone, so firing and resolved carry equal ones. `endsAt` says when Alertmanager may
resolve by itself: well ahead while firing (and moved on by every push), the moment of resolution after it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from streaming.core.incidents.runbooks import next_step, runbook_url
from streaming.core.metrics import CLUSTER
from streaming.core.model.results import AlertSeverity, Incident
from streaming.core.model.settings import RUNBOOKS
from streaming.sinks.labels import incident_labels
from streaming.sinks.limits import as_it_is
from streaming.sinks.stored import incident_of
from streaming.sinks.text import clean

Alert = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertStyle:
    """What all alerts share."""

    generator_url: str
    ends_ahead_ms: int = 1_200_000
    path: str = "push"
    worker: Callable[[str], str] = as_it_is
    runbooks: str = RUNBOOKS
    cluster_label: str = CLUSTER


def notification(
    document: Mapping[str, Any], transition: str, previous: Mapping[str, Any] | None, now_ms: int, style: AlertStyle
) -> list[Alert]:
    """The alerts of one outbox row. A change of labels ends the old set and fires the new one in one push.

    What has become a report fires no more: the end of the set before is all that is told.
    """
    incident = incident_of(document, transition)
    now = alert(incident, now_ms, style)
    alerts = [] if incident.firing and incident.alert is AlertSeverity.INFO else [now]
    if previous is not None:
        before = incident_of(previous, transition)
        if alert_labels(before, style) != now["labels"]:
            alerts.insert(0, alert(before, now_ms, style, ended_ms=now_ms))
    return alerts


def alert(incident: Incident, now_ms: int, style: AlertStyle, ended_ms: int | None = None) -> Alert:
    """One alert, firing or resolved. Times ahead of the sender's clock are cut to it, or Alertmanager would wait."""
    if ended_ms is None and not incident.firing:
        ended_ms = now_ms if incident.resolved_at_ms is None else incident.resolved_at_ms
    ends_ms = now_ms + style.ends_ahead_ms if ended_ms is None else min(ended_ms, now_ms)
    return {
        "labels": alert_labels(incident, style),
        "annotations": {
            "summary": clean(f"{incident.rule} in group {incident.group} of {incident.cluster}"),
            "description": clean(incident.message),
            "certainty": incident.certainty.value,
            "transition": incident.transition,
            "next_step": next_step(incident.rule),
            "runbook_url": runbook_url(incident.rule, style.runbooks),
        },
        "startsAt": rfc3339(min(incident.fired_at_ms or incident.opened_at_ms, ends_ms, now_ms)),
        "endsAt": rfc3339(ends_ms),
        "generatorURL": style.generator_url,
    }


def alert_labels(incident: Incident, style: AlertStyle) -> dict[str, str]:
    """The incident's labels, its id, and the name that the rules on the published gauge also use."""
    labels = incident_labels(incident, style.path, style.worker)
    return {
        "alertname": f"RebalanceIncident{incident.alert.value.capitalize()}",
        "incident_id": incident.incident_id,
        **{style.cluster_label if label == CLUSTER else label: value for label, value in labels.items()},
    }


def rfc3339(moment_ms: int) -> str:
    """Milliseconds since 1970 as Alertmanager writes them."""
    whole = datetime.fromtimestamp(moment_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{moment_ms % 1000:03d}Z"
