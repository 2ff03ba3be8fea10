"""The chart as Helm renders it, without a cluster."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lab import helm
from lab.paths import ROOT

CHART = ROOT / "deploy" / "helm" / "rebalance-monitor"
ONE, PAIR = (CHART / "ci" / f"{name}-values.yaml" for name in ("one", "pair"))
Resource = dict[str, Any]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """One call of helm. What it would keep of a user goes nowhere: its defaults are those of nobody."""
    command = [str(helm.build()), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={"HOME": "/nowhere"}, cwd=ROOT)


def template(*values: Path, settings: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    files = [word for file in values for word in ("--values", file)]
    given = [word for name, value in (settings or {}).items() for word in ("--set", f"{name}={value}")]
    return run("template", "monitor", CHART, "--namespace", "kafka", *files, *given)


def resources(*values: Path, settings: Mapping[str, str] | None = None) -> dict[str, Resource]:
    """Each kind once: the chart makes one of each."""
    done = template(*values, settings=settings)
    assert done.returncode == 0, done.stderr
    found = [one for one in yaml.safe_load_all(done.stdout) if one is not None]
    assert len({one["kind"] for one in found}) == len(found)
    return {one["kind"]: one for one in found}


def container(deployment: Resource) -> Resource:
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    return only  # type: ignore[no-any-return]


def environment(deployment: Resource) -> dict[str, str]:
    """The container's variables; `NAME/KEY` in the place of what a Secret holds."""
    found = {}
    for one in container(deployment)["env"]:
        secret = one.get("valueFrom", {}).get("secretKeyRef")
        found[one["name"]] = f"{secret['name']}/{secret['key']}" if secret else one["value"]
    return found
