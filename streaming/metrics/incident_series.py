"""The gauge of incidents, which the alert rules read.

    1  people are told of it; one scrape at least shows that (`unseen_ends`)
    0  for ZERO_FOR_S after its end, and under labels that it no longer has: every rule sees an explicit end
    0  as long as maintenance mutes it, however long that is
    -  nothing before it is told, nothing once the zero was shown long enough

The label set is the key: incidents with equal labels are one series, 1 until the last of them ends.
"""

from collections import Counter
from collections.abc import Callable

from rebalance_monitor.streaming.core import metrics
from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.store.labels import incident_labels
from rebalance_monitor.streaming.store.maintenance import Windows
from .families import Families, Labels
from .group_series import Groups
from .known_group import key_of
from .limits import SeriesLimits

# A resolved incident's gauge stays at 0 this long, so that every scraper and rule sees the explicit 0.
ZERO_FOR_S = 1_800.0

_TEAM = metrics.INCIDENT.labels.index("team")


class Incidents:
    """Every incident that people are told of, by its labels. Not thread-safe."""

    def __init__(
        self,
        families: Families,
        groups: Groups,
        path: str,
        clock_s: Callable[[], float],
        limits: SeriesLimits,
        windows: Windows,
    ) -> None:
        self._families, self._groups, self._path, self._clock_s = families, groups, path, clock_s
        self._worker, self._windows = limits.worker, windows
        self._open: dict[Labels, set[str]] = {}
        self._labels_of: dict[str, Labels] = {}
        self._zero_since_s: dict[Labels, float] = {}

    def state(self, incident: Incident) -> None:
        """Publishes an incident's state: 1 while people are told of it, an explicit 0 under labels it no longer has."""
        named = incident_labels(incident, self._path, self._worker)
        labels = tuple(named[label] for label in metrics.INCIDENT.labels)
        before = self._labels_of.get(incident.incident_id)
        if incident.firing and before is None:
            self._groups.concerned(key_of(incident.cluster, incident.group), 1)
        if before is not None and (before != labels or not incident.firing):
            self._close(before, incident.incident_id)
        if before is not None and not incident.firing:
            self._groups.concerned(key_of(incident.cluster, incident.group), -1)
        if incident.firing:
            self._labels_of[incident.incident_id] = labels
            self._open.setdefault(labels, set()).add(incident.incident_id)
            self._zero_since_s.pop(labels, None)
        elif before is None and incident.fired_at_ms is not None and labels not in self._open:
            # Opened and resolved in one batch, or resolved after a restart that never saw it open.
            self._zero(labels)

    def sweep(self, now_ms: int) -> None:
        """Shows what is open, 0 where a window mutes it; removes zeros that were shown long enough."""
        before_s = self._clock_s() - ZERO_FOR_S
        for labels in [labels for labels, since_s in self._zero_since_s.items() if since_s < before_s]:
            del self._zero_since_s[labels]
            self._families.remove(metrics.INCIDENT, *labels)
        muted: Counter[Labels] = Counter()
        for labels, incidents in self._open.items():
            cluster, group = labels[:2]
            quiet = self._windows.muting(cluster, group, now_ms) is not None
            self._families.gauge(metrics.INCIDENT, *labels).set(int(not quiet))
            if quiet:
                muted[cluster, group, labels[_TEAM]] += len(incidents)
        self._families.only(metrics.MUTED_INCIDENTS, muted)

    def _close(self, labels: Labels, incident_id: str) -> None:
        del self._labels_of[incident_id]
        same = self._open[labels]
        same.discard(incident_id)
        if not same:
            del self._open[labels]
            self._zero(labels)

    def _zero(self, labels: Labels) -> None:
        self._families.gauge(metrics.INCIDENT, *labels).set(0)
        self._zero_since_s[labels] = self._clock_s()
