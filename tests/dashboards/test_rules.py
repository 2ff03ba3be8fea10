"""The generated rules, judged by Prometheus' own tool."""

import shutil
import subprocess
from pathlib import Path

import pytest

from streaming.core.metrics import METRICS

ROOT = Path(__file__).parents[2]
PROMTOOL = shutil.which("promtool")

pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian package prometheus)"),
]


def promtool(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    assert PROMTOOL
    return subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, input=stdin, check=False, timeout=60)


def test_rules_are_well_formed() -> None:
    done = promtool("check", "rules", "--lint-fatal", str(ROOT / "dashboards" / "generated" / "alerts.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_fire_and_resolve_as_described() -> None:
    done = promtool("test", "rules", str(Path(__file__).parent / "rules_test.yml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_declared_metrics_pass_prometheus_lint() -> None:
    lines = []
    for metric in METRICS:
        kind = "gauge" if metric.kind == "info" else metric.kind
        labels = ",".join(f'{label}="x"' for label in metric.labels)
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {kind}", f"{metric.name}{{{labels}}} 1"]
    done = promtool("check", "metrics", stdin="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stdout + done.stderr
