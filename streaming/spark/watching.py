"""Which groups' offsets are asked for: those of the configured patterns, and those with an open incident."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from rebalance_monitor.streaming.core.model.results import Incident, Result, Standing
from rebalance_monitor.streaming.core.ports import Store

DEAD = "Dead"


class Watching:
    """As the store has it at the start of the job, and as batches change it. `present`: all groups that are there;
    `revision` grows with every change."""

    def __init__(self, store: Store, cluster: str, patterns: tuple[str, ...]) -> None:
        self._patterns = patterns
        self.present = set(store.present_groups(cluster))
        self._named = {group for group in self.present if self._fits(group)}
        self._open: dict[str, set[str]] = {}
        self.revision = 0
        for group, incident_id in store.troubled_groups(cluster):
            self._open.setdefault(group, set()).add(incident_id)

    def groups(self) -> frozenset[str]:
        return frozenset({*self._named, *self._open})

    def saw(self, results: Iterable[Result]) -> None:
        """What a batch has published."""
        for result in results:
            if isinstance(result, Standing):
                self._stands(result)
            elif isinstance(result, Incident):
                self._incident(result)

    def _stands(self, standing: Standing) -> None:
        if (standing.state != DEAD) == (standing.group in self.present):
            return
        self.revision += 1
        if standing.state == DEAD:
            self.present.discard(standing.group)
            self._named.discard(standing.group)
            return
        self.present.add(standing.group)
        if self._fits(standing.group):
            self._named.add(standing.group)

    def _incident(self, incident: Incident) -> None:
        self.revision += 1
        if incident.resolved_at_ms is None:
            self._open.setdefault(incident.group, set()).add(incident.incident_id)
            return
        left = self._open.get(incident.group, set()) - {incident.incident_id}
        if left:
            self._open[incident.group] = left
        else:
            self._open.pop(incident.group, None)

    def _fits(self, group: str) -> bool:
        return any(fnmatchcase(group, pattern) for pattern in self._patterns)
