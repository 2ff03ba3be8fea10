"""Every query that the dashboards ask: of panels, variables and annotations, as Grafana would send it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rebalance_monitor.dashboards.build import render
from rebalance_monitor.dashboards.places import STREAMS
from rebalance_monitor.dashboards.shelf import SHELF
from rebalance_monitor.streaming.core.metrics import CLUSTER
from tests.dashboards.planted import GROUP, STREAMS_GROUP


@dataclass(frozen=True, slots=True)
class Asked:
    """One query; `where` says who asks."""

    where: str
    text: str
    ranged: bool = False

    @property
    def group(self) -> str:
        """The planted group that the dashboard is opened for."""
        return STREAMS_GROUP if self.where.startswith(STREAMS.file) else GROUP


@cache
def rendered(cluster_label: str = CLUSTER) -> Mapping[str, str]:
    """What `build.render` gives with the addresses of a configuration that has none, made once."""
    return render(cluster_label=cluster_label)


def dashboards() -> dict[str, Any]:
    made = rendered()
    return {place.file: json.loads(made[place.file]) for place, _ in SHELF}


def promql() -> Iterator[Asked]:
    for file, dashboard in dashboards().items():
        for panel in dashboard["panels"]:
            for target in panel.get("targets", ()):
                if "expr" in target:
                    where = f"{file}: {panel['title']} {target['refId']}"
                    yield Asked(where, target["expr"], ranged=bool(target.get("range")))
        for variable in dashboard["templating"]["list"]:
            wanted = re.fullmatch(r"label_values\((.+), (\w+)\)", str(variable.get("definition", "")))
            if wanted:
                yield Asked(f"{file}: ${variable['name']}", f"count by ({wanted[2]}) ({wanted[1]})")


def sql() -> Iterator[Asked]:
    for file, dashboard in dashboards().items():
        for panel in dashboard["panels"]:
            for target in panel.get("targets", ()):
                if "rawSql" in target:
                    yield Asked(f"{file}: {panel['title']}", target["rawSql"])
        for variable in dashboard["templating"]["list"]:
            if str(variable.get("definition", "")).startswith("select"):
                yield Asked(f"{file}: ${variable['name']}", variable["query"])
        for mark in dashboard["annotations"].get("list", ()):
            yield Asked(f"{file}: marks", mark["target"]["rawSql"])
    yield Asked("annotation.json", json.loads(rendered()["annotation.json"])["target"]["rawSql"])
