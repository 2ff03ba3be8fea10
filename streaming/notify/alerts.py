"""Incidents as Alertmanager's v2 alerts. Pure: the moment of sending comes as an argument.

An alert is known by its labels alone, so firing and resolved carry equal ones. `endsAt` says when Alertmanager may
resolve by itself: well ahead while firing (and moved on by every push), the moment of resolution after it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from rebalance_monitor.streaming.core.incidents.alert_text import also_text, named_text
from rebalance_monitor.streaming.core.metrics import CLUSTER
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Incident
from rebalance_monitor.streaming.core.runbooks import Addresses, headline, next_step
from rebalance_monitor.streaming.store.labels import as_it_is, incident_labels
from rebalance_monitor.streaming.store.stored import incident_of
from rebalance_monitor.streaming.store.text import clean

AlertObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertStyle:
    """What all alerts share. Without a generator's URL the link is to the group's page."""

    generator_url: str | None = None
    ends_ahead_ms: int = 1_200_000
    path: str = "push"
    worker: Callable[[str], str] = as_it_is
    addresses: Addresses = field(default_factory=Addresses)
    cluster_label: str = CLUSTER


def notification(
    document: Mapping[str, Any], transition: str, previous: Mapping[str, Any] | None, now_ms: int, style: AlertStyle
) -> list[AlertObject]:
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


def alert(incident: Incident, now_ms: int, style: AlertStyle, ended_ms: int | None = None) -> AlertObject:
    """One alert, firing or resolved. Times ahead of the sender's clock are cut to it, or Alertmanager would wait."""
    if ended_ms is None and not incident.firing:
        ended_ms = now_ms if incident.resolved_at_ms is None else incident.resolved_at_ms
    ends_ms = now_ms + style.ends_ahead_ms if ended_ms is None else min(ended_ms, now_ms)
    return {
        "labels": alert_labels(incident, style),
        "annotations": {
            "summary": clean(summary(incident)),
            "description": clean(description(incident, style)),
            "certainty": incident.certainty.value,
            "transition": incident.transition,
            "next_step": clean(incident.next_step or next_step(incident.rule, incident.code)),
            "group_url": group_url(incident.cluster, incident.group, style.addresses),
            "runbook_url": style.addresses.runbook(incident.rule),
        },
        "startsAt": rfc3339(min(incident.fired_at_ms or incident.opened_at_ms, ends_ms, now_ms)),
        "endsAt": rfc3339(ends_ms),
        "generatorURL": style.generator_url or group_url(incident.cluster, incident.group, style.addresses),
    }


def summary(incident: Incident) -> str:
    """What is wrong, and in which group."""
    return f"{headline(incident.rule)} Group {incident.group} of {incident.cluster}"


def description(incident: Incident, style: AlertStyle) -> str:
    """Which connector, task or member, on which workers, since when, and the incident's message."""
    what = named_text(incident, style.worker) or "the group"
    since, others = rfc3339(incident.opened_at_ms), also_text(incident)
    return f"{what}; incident open since {since}. {incident.message}{f'. {others}' if others else ''}"


def group_url(cluster: str, group: str, addresses: Addresses) -> str:
    return addresses.group(quote(clean(cluster), safe=""), quote(clean(group), safe=""))


def alert_labels(incident: Incident, style: AlertStyle) -> dict[str, str]:
    """The incident's labels, its id, and the name that it was opened with, which Prometheus' rules also use."""
    labels = incident_labels(incident, style.path, style.worker)
    return {
        "alertname": incident.alert_name,
        "incident_id": incident.incident_id,
        **{style.cluster_label if label == CLUSTER else label: value for label, value in labels.items()},
    }


def rfc3339(moment_ms: int) -> str:
    """Milliseconds since 1970 as Alertmanager writes them."""
    whole = datetime.fromtimestamp(moment_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{moment_ms % 1000:03d}Z"
