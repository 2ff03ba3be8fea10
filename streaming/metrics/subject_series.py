"""What each notified incident is about and since when: the gauge that alert rules put into their text.

What is to be shown is decided at each scrape, up to the limit for tasks.
"""

from collections.abc import Callable

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.incidents.alert_text import Named, also_text, named
from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.store.labels import incident_labels
from .families import Families
from .limits import SeriesLimits

Labels = tuple[str, ...]
_OF_INCIDENT = metrics.INCIDENT_SINCE.labels[: -len(Named._fields)]
"""The labels that both gauges of an incident have; what it names comes behind them."""


class Subjects:
    """What notified incidents name. Not thread-safe."""

    def __init__(self, families: Families, limits: SeriesLimits) -> None:
        self._families, self._most = families, limits.max_tasks
        self._worker: Callable[[str], str] = limits.worker
        self._open: dict[str, tuple[tuple[Labels, ...], int]] = {}
        self._shown: set[Labels] = set()

    def incident(self, incident: Incident) -> None:
        """Remembers what a notified incident names; forgets one that is over."""
        if not incident.firing:
            self._open.pop(incident.incident_id, None)
            return
        about = named(incident, self._worker) or [Named("", "")]
        if incident.also:
            about = [*about, Named(also_text(incident).rstrip("."), "")]
        known = incident_labels(incident, "", self._worker)
        own = tuple(known[label] for label in _OF_INCIDENT)
        self._open[incident.incident_id] = (tuple((*own, *some) for some in about), incident.opened_at_ms)

    def sweep(self) -> None:
        """Shows what is to be shown now; of incidents with equal labels the earliest."""
        since_ms: dict[Labels, int] = {}
        for about, opened_at_ms in self._open.values():
            for labels in about:
                since_ms[labels] = min(opened_at_ms, since_ms.get(labels, opened_at_ms))
        shown = list(since_ms)[: self._most]
        for labels in self._shown - set(shown):
            self._families.remove(metrics.INCIDENT_SINCE, *labels)
        for labels in shown:
            self._families.gauge(metrics.INCIDENT_SINCE, *labels).set(since_ms[labels] / 1000)
        self._shown = set(shown)
