"""The declarations keep the conventions that dashboards and alert rules lean on."""

import re
from importlib import import_module
from pkgutil import iter_modules

import pytest

from rebalance_monitor.streaming import core
from rebalance_monitor.streaming.core.lag_metrics import OF_PARTITIONS
from rebalance_monitor.streaming.core.metrics import METRICS, PREFIX, Metric

UNBOUNDED = {"member_id", "member", "client_id", "incident_id", "message", "offset", "generation", "partition"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_follows_the_naming_rules(metric: Metric) -> None:
    assert re.fullmatch(PREFIX + r"[a-z][a-z0-9_]*", metric.name)
    assert metric.name.endswith("_total") == (metric.kind == "counter")
    assert metric.name.endswith("_info") == (metric.kind == "info")
    assert metric.name.endswith("_timestamp_seconds") == (metric.unit == "timestamp_seconds")
    assert metric.help.endswith(".")
    bounded = {"partition"} if metric in OF_PARTITIONS else set()
    assert not set(metric.labels) & UNBOUNDED - bounded
    if metric.unit in ("seconds", "bytes", "records"):
        assert metric.name.removesuffix("_total").endswith(metric.unit)


def test_each_name_is_declared_once_and_every_declaration_is_listed() -> None:
    modules = [
        import_module(f"{core.__name__}.{one.name}") for one in iter_modules(core.__path__) if "metrics" in one.name
    ]
    declared = [value for module in modules for value in vars(module).values() if isinstance(value, Metric)]
    assert len(modules) >= 4
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert len(modules) > 1
    assert {metric.name for metric in declared} == {metric.name for metric in METRICS}
