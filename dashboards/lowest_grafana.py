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
    shown = list(dashboards)
    return _highest([panels_need(shown), *(SCHEMA_VERSIONS[one["schemaVersion"]] for one in shown)])


def panels_need(dashboards: Iterable[Mapping[str, Any]]) -> str:
    """The same by the panel types alone. The schema version is the one that the SDK writes."""
    return _highest(PANEL_TYPES[panel["type"]] for one in dashboards for panel in one["panels"])


def _highest(releases: Iterable[str]) -> str:
    return max(releases, key=lambda release: tuple(map(int, release.split("."))))
