"""The documentation names the lowest Grafana that the dashboards themselves ask for, and how that is known."""

from pathlib import Path

import pytest

from rebalance_monitor.dashboards.lowest_grafana import lowest_grafana, panels_need
from tests.dashboards.asked import dashboards

ROOT = Path(__file__).parents[2]


def test_the_documentation_names_what_follows_from_schema_and_panels() -> None:
    release = lowest_grafana(dashboards().values())
    text = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
    assert f"Lowest Grafana: {release}, derived from the schema version and the panel types; not run." in text
    alone = panels_need(dashboards().values())
    assert f"What the panels alone need is {alone}, by their types; that is derived, too, and was not run." in text
    assert f"({release} or later" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_panel_that_nobody_has_looked_up_is_refused() -> None:
    with pytest.raises(KeyError):
        lowest_grafana([{"schemaVersion": 42, "panels": [{"type": "hologram"}]}])
