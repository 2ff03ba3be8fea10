"""Gives the label that names the Kafka cluster another name, in everything that is asked of Prometheus.

The declarations and queries say `cluster`. Where `metrics.cluster_label` exposes another name, rules and dashboards are
built with the same one. Only names of labels change: the value of a variable such as `"$cluster"`, the columns of the
database and the links between dashboards stay.
"""

import re
from typing import Any

from rebalance_monitor.streaming.core.metrics import CLUSTER

# In PromQL a name outside quotes is a label here: no metric, function or keyword is called `cluster`.
_QUOTED_OR_LABEL = re.compile(r'"(?:\\.|[^"\\])*"|\b' + CLUSTER + r"\b")
_OF_ALERT = re.compile(r"(?<=\$labels\.)" + CLUSTER + r"\b|\b" + CLUSTER + r"(?==%q)")
_LEGEND = "{{" + CLUSTER + "}}"


def renamed_query(promql: str, label: str) -> str:
    """A PromQL expression, or Grafana's `label_values(…)`."""
    return _QUOTED_OR_LABEL.sub(lambda found: label if found[0] == CLUSTER else found[0], promql)


def renamed_text(text: str, label: str) -> str:
    """An annotation of an alert: its template may name the label, also in a query of its own."""
    return _OF_ALERT.sub(label, text)


def renamed_rules(groups: dict[str, Any], label: str) -> dict[str, Any]:
    return {"groups": [{**one, "rules": [_rule(rule, label) for rule in one["rules"]]} for one in groups["groups"]]}


def _rule(rule: dict[str, Any], label: str) -> dict[str, Any]:
    renamed = {**rule, "expr": renamed_query(rule["expr"], label)}
    if "annotations" in rule:
        renamed["annotations"] = {key: renamed_text(text, label) for key, text in rule["annotations"].items()}
    return renamed


def renamed_dashboard(model: Any, label: str) -> Any:
    """A dashboard as JSON values: queries, legends and variables of Prometheus."""
    match model:
        case dict():
            of_prometheus = (
                isinstance(model.get("datasource"), dict) and model["datasource"].get("type") == "prometheus"
            )
            return {
                key: _prometheus(key, value, label) if of_prometheus else renamed_dashboard(value, label)
                for key, value in model.items()
            }
        case list():
            return [renamed_dashboard(one, label) for one in model]
        case _:
            return model


def _prometheus(key: str, value: Any, label: str) -> Any:
    match key, value:
        case (("expr" | "definition"), str()):
            return renamed_query(value, label)
        case "legendFormat", str():
            return value.replace(_LEGEND, "{{" + label + "}}")
        case "query", dict():
            return {**value, "query": renamed_query(value["query"], label)}
        case _:
            return renamed_dashboard(value, label)
