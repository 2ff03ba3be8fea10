"""Ends of incidents that no scrape has shown firing: they wait for one, because an alert rule sees only scrapes.

batch    fires and is over    nothing ended yet
scrape   1                    the alert fires
scrape   0                    the alert is resolved
"""

from rebalance_monitor.streaming.core.model.results import Incident

MOST_HELD = 1_000
"""If nobody scrapes, ends beyond this many wait for nobody."""


class UnseenEnds:
    """Not thread-safe."""

    def __init__(self) -> None:
        self._firing: set[str] = set()
        self._over: dict[str, Incident] = {}
        self._shown: dict[str, Incident] = {}

    def holds(self, incident: Incident, *, muted: bool) -> bool:
        """Whether this state of an incident is not published before a scrape has shown the state before it. `muted`:
        maintenance mutes it now; what fires in a window is not to be shown."""
        name = incident.incident_id
        if incident.firing:
            if not muted:
                self._firing.add(name)
            self._over.pop(name, None)
            self._shown.pop(name, None)
            return False
        if name not in self._firing:
            return False
        self._firing.discard(name)
        if len(self._over) >= MOST_HELD:
            return False
        self._over[name] = incident
        return True

    def seen(self) -> list[Incident]:
        """The ends that the scrape before this one was waited for; to be called before each scrape."""
        seen = list(self._shown.values())
        self._firing, self._over, self._shown = set(), {}, self._over
        return seen
