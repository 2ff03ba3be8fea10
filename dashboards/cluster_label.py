"""Gives the label that names the Kafka cluster another name, and every series a selector, in what Prometheus is asked.

The declarations and queries say `cluster`. Where `metrics.cluster_label` exposes another name, rules and dashboards are
built with the same one. Only names of labels change: the value of a variable such as `"$cluster"`, the columns of the
database and the links between dashboards stay.

A selector (label matchers such as `job="monitor"`) is for a Prometheus that scrapes monitors of several environments.
It is added to the monitor's own series alone: recorded series and ALERTS are made from these.
"""

import re
from typing import Any

from rebalance_monitor.streaming.core.metrics import CLUSTER, PREFIX

# In PromQL a name outside quotes is a label here: no metric, function or keyword is called `cluster`.
_QUOTED_OR_LABEL = re.compile(r'"(?:\\.|[^"\\])*"|\b' + CLUSTER + r"\b")
_OF_ALERT = re.compile(r"(?<=\$labels\.)" + CLUSTER + r"\b|\b" + CLUSTER + r"(?==%q)")
_LEGEND = "{{" + CLUSTER + "}}"


_QUOTED_OR_SERIES = re.compile(r'"(?:\\.|[^"\\])*"|\b(' + PREFIX + r"\w+)(\{?)")
_GO_QUERY = re.compile(r"`[^`]*`")
_MATCHER = r'[a-zA-Z_]\w*\s*(?:=~|!~|!=|=)\s*"(?:\\.|[^"\\`$])*"'
_SELECTOR = re.compile(rf"{_MATCHER}(?:\s*,\s*{_MATCHER})*")


def selector_problem(selector: str) -> str | None:
    """Why these are no label matchers, in one sentence."""
    if not selector or _SELECTOR.fullmatch(selector):
        return None
    return f'{selector!r} is no selector; give label matchers, such as \'job="rebalance-monitor", env="prod"\''


def renamed_query(promql: str, label: str, selector: str = "") -> str:
    """A PromQL expression, or Grafana's `label_values(…)`."""
    renamed = _QUOTED_OR_LABEL.sub(lambda found: label if found[0] == CLUSTER else found[0], promql)
    return _selected(renamed, selector)


def _selected(promql: str, selector: str) -> str:
    """The query of those series alone that the selector matches."""

    def narrowed(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        return f"{found[1]}{{{selector}" + (", " if found[2] else "}")

    return _QUOTED_OR_SERIES.sub(narrowed, promql) if selector else promql


def renamed_text(text: str, label: str, selector: str = "") -> str:
    """An annotation of an alert: its template may name the label, also in a query of its own."""
    in_format = selector.replace("%", "%%")  # such queries are formats of printf
    return _GO_QUERY.sub(lambda found: _selected(found[0], in_format), _OF_ALERT.sub(label, text))


def renamed_rules(groups: dict[str, Any], label: str, selector: str = "") -> dict[str, Any]:
    renamed = [{**one, "rules": [_rule(rule, label, selector) for rule in one["rules"]]} for one in groups["groups"]]
    return {"groups": renamed}


def _rule(rule: dict[str, Any], label: str, selector: str) -> dict[str, Any]:
    renamed = {**rule, "expr": renamed_query(rule["expr"], label, selector)}
    if "annotations" in rule:
        renamed["annotations"] = {key: renamed_text(text, label, selector) for key, text in rule["annotations"].items()}
    return renamed


def renamed_dashboard(model: Any, label: str, selector: str = "") -> Any:
    """A dashboard as JSON values: queries, legends and variables of Prometheus."""
    match model:
        case dict():
            of_prometheus = (
                isinstance(model.get("datasource"), dict) and model["datasource"].get("type") == "prometheus"
            )
            return {
                key: _prometheus(key, value, label, selector)
                if of_prometheus
                else renamed_dashboard(value, label, selector)
                for key, value in model.items()
            }
        case list():
            return [renamed_dashboard(one, label, selector) for one in model]
        case _:
            return model


def _prometheus(key: str, value: Any, label: str, selector: str) -> Any:
    match key, value:
        case (("expr" | "definition"), str()):
            return renamed_query(value, label, selector)
        case "legendFormat", str():
            return value.replace(_LEGEND, "{{" + label + "}}")
        case "query", dict():
            return {**value, "query": renamed_query(value["query"], label, selector)}
        case _:
            return renamed_dashboard(value, label, selector)
