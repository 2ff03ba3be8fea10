"""docs/lag.md names series that are there, and every one of lag or its meaning's page."""

import re
from pathlib import Path

from rebalance_monitor.streaming.core.lag_metrics import LAG_METRICS
from rebalance_monitor.streaming.core.metrics import METRICS, PREFIX

PAGE = (Path(__file__).parents[3] / "docs" / "lag.md").read_text(encoding="utf-8")


def test_the_page_names_declared_metrics_alone() -> None:
    named = set(re.findall(rf"{PREFIX}\w+", PAGE))
    assert named <= {metric.name for metric in METRICS}
    assert len(named & {metric.name for metric in LAG_METRICS}) >= len(LAG_METRICS) // 2
