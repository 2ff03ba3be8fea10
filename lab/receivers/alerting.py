"""A real Prometheus and a real Alertmanager on loopback, with waits short enough for a test.

Routes are one group per label set, so that each alert is a notification of its own; the inhibition is the one of the
example in `conf/compose/alertmanager.yml`.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from lab.asking import local
from lab.errors import LabError
from lab.paths import ROOT
from lab.ports import HOST, free_ports
from lab.process import Child, Lab, disk_errors

EXAMPLE = ROOT / "conf" / "compose" / "alertmanager.yml"
RULES = ROOT / "dashboards" / "generated" / "alerts.yml"
_DURATION = re.compile(r"\b(\d+)([smhd])\b")
_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """A running Alertmanager."""

    child: Child
    port: int

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def active(self) -> list[dict[str, Any]]:
        """What fires now, inhibited alerts included."""
        found: list[dict[str, Any]] = _get(f"http://{self.address}/api/v2/alerts")
        return found


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus."""

    child: Child
    port: int

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def firing(self) -> list[dict[str, Any]]:
        """Alerts that fire now."""
        answer = _get(f"http://{self.address}/api/v1/alerts")
        return [one for one in answer["data"]["alerts"] if one["state"] == "firing"]


def _get(url: str) -> Any:
    answer = local().get(url, timeout=60)
    answer.raise_for_status()
    return answer.json()


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise LabError(f"{name} is not installed (Debian: prometheus, prometheus-alertmanager)")
    return found


def _written(lab: Lab, name: str, document: Mapping[str, Any]) -> Path:
    path = lab.folder / name
    with disk_errors():
        path.write_text(yaml.safe_dump(dict(document), sort_keys=False))
    return path


def _wait_ready(lab: Lab, what: str, port: int, child: Child) -> None:
    def ready() -> bool:
        try:
            return local().get(f"http://{HOST}:{port}/-/ready", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    lab.wait_for(what, ready, child)


def start_alertmanager(lab: Lab, name: str, hook_url: str) -> Alertmanager:
    """An empty Alertmanager that tells `hook_url` of every alert, begun and ended; `name` of its log and folder."""
    program = _program("prometheus-alertmanager")
    (port,) = free_ports(1)
    configuration = {
        "route": {
            "receiver": "hook",
            "group_by": ["..."],
            "group_wait": "0s",
            "group_interval": "1s",
            "repeat_interval": "4h",
        },
        "inhibit_rules": yaml.safe_load(EXAMPLE.read_text())["inhibit_rules"],
        "receivers": [{"name": "hook", "webhook_configs": [{"url": hook_url, "send_resolved": True}]}],
    }
    path = _written(lab, f"{name}.yml", configuration)
    arguments = {
        "config.file": path,
        "storage.path": lab.folder / name,
        "web.listen-address": f"{HOST}:{port}",
        "cluster.listen-address": "",
        "log.level": "warn",
    }
    child = lab.start(name, [program, *(f"--{key}={value}" for key, value in arguments.items())])
    _wait_ready(lab, "Alertmanager", port, child)
    return Alertmanager(child, port)


def start_prometheus(
    lab: Lab,
    name: str,
    monitors: str | Sequence[str],
    alertmanager: Alertmanager,
    rules: Mapping[str, Any] | None = None,
) -> Prometheus:
    """An empty Prometheus that scrapes `monitors` (host:port) and evaluates every second; by default the rule file."""
    program = _program("prometheus")
    (port,) = free_ports(1)
    targets = [monitors] if isinstance(monitors, str) else list(monitors)
    files = [RULES if rules is None else _written(lab, f"{name}-rules.yml", rules)]
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(file) for file in files],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager.address]}]}]},
        "scrape_configs": [{"job_name": "rebalance-monitor", "static_configs": [{"targets": targets}]}],
    }
    arguments = {
        "config.file": _written(lab, f"{name}.yml", configuration),
        "storage.tsdb.path": lab.folder / name,
        "web.listen-address": f"{HOST}:{port}",
        "log.level": "warn",
    }
    child = lab.start(name, [program, *(f"--{key}={value}" for key, value in arguments.items())])
    _wait_ready(lab, "Prometheus", port, child)
    return Prometheus(child, port)


def shortened(rules: Mapping[str, Any], by: int) -> dict[str, Any]:
    """The rule file with every duration (`for`, ranges, offsets) divided; numbers that are compared stay."""

    def shorter(text: str) -> str:
        return _DURATION.sub(lambda found: f"{int(found[1]) * _MS[found[2]] // by}ms", text)

    def rule(incident: Mapping[str, Any]) -> dict[str, Any]:
        return {**incident, **{key: shorter(incident[key]) for key in ("expr", "for") if key in incident}}

    return {"groups": [{**group, "rules": [rule(one) for one in group["rules"]]} for group in rules["groups"]]}
