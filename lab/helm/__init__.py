"""Helm, which installs charts on Kubernetes: built from its source. It needs no cluster to check and render a chart."""

from functools import cache
from pathlib import Path

from lab import go
from lab.paths import BUILD

PACKAGE = "helm.sh/helm/v4/cmd/helm"
PROGRAM = BUILD / "helm" / "helm"


@cache
def build() -> Path:
    """The program, once for a process. LabError where it cannot be had."""
    return go.build("helm", Path(__file__).parent, PACKAGE, PROGRAM)
