"""One alert rule for each title of the rule catalogue, on one recorded series.

The monitor exports 1 while an incident is notified and 0 after it. The recorded series takes the last value within 15
minutes, so that a restart of the monitor neither resolves an alert nor fires it twice, and only an explicit 0 resolves
at once. While the monitor is gone (`queries.gone`), the series goes on as it was. It drops the labels of the scrape
(instance, job), so that a monitor that moved is not a second alert, and takes only incidents whose `path` is
`prometheus`: with `alerting.path: push` the monitor itself notifies. The severity is a label of the series.
"""

from typing import Any

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.metrics import CLUSTER
from rebalance_monitor.streaming.core.model.settings import PUBLIC_URL
from rebalance_monitor.streaming.core.runbooks import Addresses, alert_name, headline, next_step
from .queries import REMEMBERED, gone, series

RECORDED = "rebalance_monitor:incident"
_PAGE = "rebalance_monitor:page"
OF_THE_MONITOR = (
    f"{{{{ with printf `{_PAGE}{{{CLUSTER}=%q}}` $labels.{CLUSTER} | query }}}}{{{{ . | first | label `page` }}}}"
    f"{{{{ else }}}}{PUBLIC_URL}{{{{ end }}}}"
)
"""A template: the page of the monitor that watches the alert's cluster, as it is reached (`page.public_url`)."""
_SURVIVES_RESTART = "15m"
_LABELS = ", ".join(metrics.INCIDENT.labels)
_OF_INCIDENT = tuple(label for label in metrics.INCIDENT_SINCE.labels if label in metrics.INCIDENT.labels)


def recorded() -> dict[str, Any]:
    """The recording rule that all alerts about incidents read; its value is always 1."""
    seen = series(metrics.INCIDENT, 'path="prometheus"')
    now = f"max by ({_LABELS}) (last_over_time({seen}[{_SURVIVES_RESTART}])) == 1"
    return {"record": RECORDED, "expr": f"({now}) or on ({_LABELS}) ({RECORDED} and on ({CLUSTER}) {gone()})"}


def recorded_page() -> dict[str, Any]:
    """The recording rule by which alerts find the page; of a monitor that is gone the page that it had."""
    by = f"max by ({CLUSTER}, page)"
    before = f"last_over_time({series(metrics.BUILD_INFO)}[{REMEMBERED}])"
    return {
        "record": _PAGE,
        "expr": f"{by} ({series(metrics.BUILD_INFO)}) or on ({CLUSTER}) {by} ({before})",
    }


def titles() -> tuple[str, ...]:
    """Every title once, in the order of the catalogue."""
    return tuple(dict.fromkeys(rule.title for rule in RULES))


def incident_rule(title: str, addresses: Addresses) -> dict[str, Any]:
    return {
        "alert": alert_name(title),
        "expr": f'{RECORDED}{{rule="{title}"}}',
        "annotations": {
            "summary": f"{headline(title)} Group {{{{ $labels.group }}}} of {{{{ $labels.cluster }}}}",
            "description": _what(),
            "next_step": next_step(title),
            "group_url": addresses.group("{{ urlquery $labels.cluster }}", "{{ urlquery $labels.group }}"),
            "runbook_url": addresses.runbook(title),
        },
    }


def _what() -> str:
    """A template: each thing that the incident names, its workers, and since when. What was exported before counts only
    while nothing is: it may be of an incident before, with the same labels."""
    matchers = ",".join(f"{label}=%q" for label in _OF_INCIDENT)
    values = " ".join(f"$labels.{label}" for label in _OF_INCIDENT)
    now = series(metrics.INCIDENT_SINCE, matchers)
    asked = f"{now} or on () last_over_time({now}[{_SURVIVES_RESTART}])"
    return (
        f"{{{{ range query (printf `{asked}` {values} {values}) }}}}"
        "{{ or .Labels.subject `the group` }}{{ with .Labels.workers }} on {{ . }}{{ end }}"
        "; incident open since {{ . | value | humanizeTimestamp }}. {{ end }}"
    )
