"""The lowest Grafana that knows what the dashboards are made of: derived from the schema version and the panel types.

Derived means: not run. No test starts a Grafana.
"""

from collections.abc import Iterable, Mapping
from typing import Any

SCHEMA_VERSIONS: Mapping[int, str] = {42: "12.2"}
"""The first release that writes dashboards of this schema version, as the pinned SDK does."""
PANEL_TYPES: Mapping[str, str] = {
    "row": "5.0",
    "stat": "6.6",
    "table": "7.0",
    "timeseries": "8.0",
    "state-timeline": "8.0",
}
"""The first release that has this type of panel as it is used here."""


def lowest_grafana(dashboards: Iterable[Mapping[str, Any]]) -> str:
    """The highest of the releases that the dashboards need. KeyError: a schema version or panel type not listed."""
    needed: set[str] = set()
    for dashboard in dashboards:
        needed.add(SCHEMA_VERSIONS[dashboard["schemaVersion"]])
        needed.update(PANEL_TYPES[panel["type"]] for panel in dashboard["panels"])
    return max(needed, key=lambda release: tuple(map(int, release.split("."))))
