"""docs/metrics.md is what the exporter shows for a real capture; every declared metric has a sample there."""

import re

from rebalance_monitor.streaming.core.metrics import METRICS
from tests.streaming.metrics.metrics_page import PAGE, page


def test_the_page_is_what_the_exporter_shows() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "make metrics-page writes docs/metrics.md anew"


def test_every_declared_metric_has_a_sample() -> None:
    text = page()
    for metric in METRICS:
        section = re.search(rf"^## {metric.name}$.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        assert section is not None
        sample = re.search(rf"^{metric.name}(?:_bucket)?(\{{.*\}})? [0-9.e+]+$", section[0], re.MULTILINE)
        assert sample is not None, metric.name
        labels = re.findall(r'[{,]([a-z_]+)="', sample[1] or "")
        assert sorted(set(labels) - {"le"}) == sorted(metric.labels)
