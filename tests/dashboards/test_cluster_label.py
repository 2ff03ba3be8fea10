"""The label of the Kafka cluster under another name: what is asked of Prometheus follows, and nothing else does."""

import json
import re
from typing import Any

import pytest

pytest.importorskip("grafana_foundation_sdk")

from rebalance_monitor.dashboards.build import main as build_main
from rebalance_monitor.dashboards.build import render
from rebalance_monitor.dashboards.cluster_label import renamed_query
from rebalance_monitor.dashboards.published import pages
from rebalance_monitor.streaming.core.metrics import CLUSTER, METRICS, PREFIX
from tests.dashboards.asked import rendered

LABEL, SELECTOR = "kafka_cluster", 'env="prod"'


@pytest.mark.parametrize(
    ("query", "renamed"),
    [
        ('m{cluster=~"$cluster", group="cluster"}', 'm{kafka_cluster=~"$cluster", group="cluster"}'),
        ("sum by (cluster, kind) (m) and on (cluster) n", "sum by (kafka_cluster, kind) (m) and on (kafka_cluster) n"),
        ('label_values(m{a="\\"cluster"}, cluster)', 'label_values(m{a="\\"cluster"}, kafka_cluster)'),
        ("clusters + cluster_id", "clusters + cluster_id"),
    ],
)
def test_names_outside_quotes_are_renamed(query: str, renamed: str) -> None:
    assert renamed_query(query, LABEL) == renamed


def queries(model: Any) -> list[str]:
    """Every text that goes to Prometheus."""
    match model:
        case dict():
            own = [model["expr"]] if isinstance(model.get("expr"), str) else []
            own += re.findall(r"label_values.*", str(model.get("definition", "")))
            return own + [one for value in model.values() for one in queries(value)]
        case list():
            return [one for value in model for one in queries(value)]
        case _:
            return []


def unquoted(query: str) -> str:
    return re.sub(r'"[^"]*"', "", query)


@pytest.mark.parametrize("file", [name for name in sorted(rendered()) if name.endswith(".json")])
def test_every_query_of_a_dashboard_follows_and_the_database_does_not(file: str) -> None:
    before, after = json.loads(rendered()[file]), json.loads(rendered(LABEL)[file])
    for old, new in zip(queries(before), queries(after), strict=True):
        assert not re.search(rf"\b{CLUSTER}\b", unquoted(new))
        assert unquoted(new) == re.sub(rf"\b{CLUSTER}\b", LABEL, unquoted(old))
    text = json.dumps(after)
    assert "{{cluster}}" not in text
    sql = re.compile(r'"(?:rawSql|query)": "[^"]*select.*?[^\\]"')
    assert sql.findall(json.dumps(before)) == sql.findall(text)


def test_rules_and_runbooks_follow() -> None:
    for name in ("alerts.yml", "prometheusrule.yaml"):
        text = rendered(LABEL)[name]
        assert "$labels.cluster" not in text
        assert not re.search(rf"\b{CLUSTER}\b", unquoted("".join(re.findall(r"expr: .*", text))))
    own, renamed = pages(), pages(LABEL)
    assert f"({LABEL})" in renamed["runbooks/RebalanceMonitorStale.md"]
    assert own["runbooks/imbalance.md"] == renamed["runbooks/imbalance.md"]


def test_without_another_name_everything_stays() -> None:
    assert render() == rendered(CLUSTER)


def test_whatever_a_monitor_says_of_itself_says_which_cluster_it_watches() -> None:
    assert all(CLUSTER in metric.labels for metric in METRICS)


@pytest.mark.parametrize(
    ("query", "selected"),
    [
        ("rebalance_monitor_ready", 'rebalance_monitor_ready{env="prod"}'),
        ('sum(rebalance_monitor_ready{a=~"$b"})', 'sum(rebalance_monitor_ready{env="prod", a=~"$b"})'),
        ("rate(rebalance_monitor_batches_total[5m])", 'rate(rebalance_monitor_batches_total{env="prod"}[5m])'),
        ('up{job="rebalance_monitor_ready"}', 'up{job="rebalance_monitor_ready"}'),
        ("rebalance_monitor:retired", "rebalance_monitor:retired"),
    ],
)
def test_a_selector_narrows_the_series_of_the_monitor_alone(query: str, selected: str) -> None:
    assert renamed_query(query, CLUSTER, SELECTOR) == selected


def test_every_query_of_dashboards_and_rules_has_the_selector() -> None:
    selected = render(selector=SELECTOR)
    for name, text in selected.items():
        asked = queries(json.loads(text)) if name.endswith(".json") else re.findall(r"`[^`]*`|expr: .*", text)
        for query in map(unquoted, asked):
            series = re.findall(rf"\b{PREFIX}\w+", query)
            assert len(series) == len(re.findall(r"\w\{env=", query)), query
    assert selected["annotation.json"] == rendered()["annotation.json"]


@pytest.mark.parametrize("given", ["env=prod", '{env="prod"}', 'env="prod",', 'env="`"', "\x1b"])
def test_what_is_no_selector_is_refused_in_one_sentence(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_main(["--check", "--selector", given])
    assert ended.value.code == 2
    assert "is no selector; give label matchers, such as" in capsys.readouterr().err
