"""Series of single tasks: only those that wait for a worker, or that an incident names; all others are counted.

What is to be shown is decided at each scrape, incidents first, up to the limit; the rest is counted.
"""

from collections import Counter

from rebalance_monitor.streaming.core import connect_metrics, metrics
from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.model.subjects import Subject
from .families import Families, GroupLabels
from .group_series import Groups
from .known_group import key_of
from .limits import SeriesLimits

_JOBS = ("task", "connector")


class TaskSeries:
    """Which jobs are shown one by one. Not thread-safe."""

    def __init__(self, families: Families, groups: Groups, limits: SeriesLimits) -> None:
        self._families, self._groups, self._most = families, groups, limits.max_tasks
        self._named: dict[str, tuple[GroupLabels, tuple[Subject, ...]]] = {}
        self._shown: set[tuple[str, ...]] = set()
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
        wanted: dict[tuple[str, ...], None] = {}
        for key, jobs in self._named.values():
            if self._groups.shows(key):
                wanted.update(dict.fromkeys((*key, *_labels(job), "incident") for job in jobs))
        waiting = sorted((*key, *_labels(job), "waiting") for key, job in self._groups.waiting())
        wanted.update(dict.fromkeys(waiting))
        shown = list(wanted)[: self._most]
        for labels in self._shown - set(shown):
            self._families.remove(connect_metrics.TASK, *labels)
        for labels in shown:
            self._families.gauge(connect_metrics.TASK, *labels).set(1)
        self._shown = set(shown)
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
