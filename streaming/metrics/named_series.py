"""Series of what incidents name, one by one: tasks that wait or are named, and the subjects of notified incidents.

What is to be shown is decided at each scrape, up to the limit for tasks; of tasks those of incidents first, and the
rest is counted. The gauge of subjects says since when: alert rules put it into their text.
"""

from collections import Counter
from collections.abc import Callable

from rebalance_monitor.streaming.core import connect_metrics, metrics
from rebalance_monitor.streaming.core.incidents.alert_text import Named, also_text, named
from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.model.subjects import Subject
from rebalance_monitor.streaming.store.labels import incident_labels
from .families import Families, GroupLabels, Labels
from .group_series import Groups
from .known_group import key_of
from .limits import SeriesLimits

_JOBS = ("task", "connector")


class TaskSeries:
    """Which jobs are shown one by one. Not thread-safe."""

    def __init__(self, families: Families, groups: Groups, limits: SeriesLimits) -> None:
        self._families, self._groups, self._most = families, groups, limits.max_tasks
        self._named: dict[str, tuple[GroupLabels, tuple[Subject, ...]]] = {}
        self._clusters: set[str] = set()

    def incident(self, incident: Incident) -> None:
        """Remembers the jobs that a told incident names."""
        self._clusters.add(incident.cluster)
        jobs = tuple(subject for subject in incident.subjects if subject.type in _JOBS)
        if incident.firing and jobs:
            self._named[incident.incident_id] = (key_of(incident.cluster, incident.group), jobs)
        else:
            self._named.pop(incident.incident_id, None)

    def sweep(self) -> None:
        """Shows what is to be shown now."""
        wanted: dict[Labels, None] = {}
        for key, jobs in self._named.values():
            if self._groups.shows(key):
                wanted.update(dict.fromkeys((*key, *_labels(job), "incident") for job in jobs))
        waiting = sorted((*key, *_labels(job), "waiting") for key, job in self._groups.waiting())
        wanted.update(dict.fromkeys(waiting))
        self._families.only(connect_metrics.TASK, dict.fromkeys(list(wanted)[: self._most], 1))
        self._clusters |= {labels[0] for labels in wanted}
        hidden = Counter(labels[0] for labels in list(wanted)[self._most :])
        for cluster in self._clusters:
            self._families.gauge(metrics.HIDDEN_TASKS, cluster).set(hidden[cluster])


def _labels(subject: Subject) -> tuple[str, str]:
    """Connector and task number; a connector itself has no number."""
    if subject.type == "connector":
        return subject.id, ""
    connector, _, number = subject.id.rpartition("-")
    return connector, number


_OF_INCIDENT = metrics.INCIDENT_SINCE.labels[: -len(Named._fields)]
"""The labels that both gauges of an incident have; what it names comes behind them."""


class Subjects:
    """What notified incidents name. Not thread-safe."""

    def __init__(self, families: Families, limits: SeriesLimits) -> None:
        self._families, self._most = families, limits.max_tasks
        self._worker: Callable[[str], str] = limits.worker
        self._open: dict[str, tuple[tuple[Labels, ...], int]] = {}

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
        self._families.only(metrics.INCIDENT_SINCE, {labels: since_ms[labels] / 1000 for labels in shown})
