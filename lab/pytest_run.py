"""One run of pytest in a process of its own, and what came of it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from lab.cluster import class_data, java
from lab.errors import LabError
from lab.paths import ROOT

NO_TESTS = 5  # pytest's exit code


@dataclass(frozen=True, slots=True)
class Run:
    """One call of pytest: its exit code, its counts of tests, what it said, and how long each file of tests took.
    `processor_s`: of it and of all that it started and waited for."""

    code: int
    passed: int
    failed: int
    skipped: int
    said: bytes
    seconds: Mapping[str, float]
    processor_s: float = 0.0


def environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """For pytest and all that it starts. Hundreds of processes import the same modules, so each is compiled once,
    whatever this process was told about writing that down. And each Spark starts with recorded class data."""
    kept = {name: value for name, value in given.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        flags = class_data.flags(java.find(given), class_data.spark_jars(), class_data.SPARK)
    except LabError:
        return kept
    return {class_data.OPTIONS_OF_SPARK: " ".join(flags), **kept} if flags else kept


def pytest(tests: Sequence[str], *, nice: int = 0) -> Run:
    """Run these tests in a process of their own, its priority lower by `nice`.

    Ctrl-C reaches it by itself, and it cleans up before it ends. Its tests' files are in a folder of its own, which
    stays where one failed: pytest's usual folder is for all runs of a user, and each that starts closes it to other
    users, while PostgreSQL, which another user starts, may need it.
    """
    folder = Path(tempfile.mkdtemp(prefix="rm-tests-"))
    failed = 0
    try:
        report = folder / "report.xml"
        command = ["nice", "-n", str(nice), sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}"]
        command += [f"--basetemp={folder / 'of'}", *tests]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as process:
            assert process.stdout is not None
            try:
                said = process.stdout.read()
            finally:  # at Ctrl-C pytest cleans up first
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
        passed, failed, skipped = _counts(report)
        seconds = _seconds(report)
        if process.returncode not in (0, NO_TESTS) and failed == 0:
            failed = 1  # pytest itself failed, for instance while collecting
    finally:
        if failed == 0:
            shutil.rmtree(folder, ignore_errors=True)
    return Run(process.returncode, passed, failed, skipped, said, seconds, used.ru_utime + used.ru_stime)


def _counts(report: Path) -> tuple[int, int, int]:
    if not report.exists():
        return 0, 0, 0
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    tests, failures, errors, skipped = (
        sum(int(suite.attrib.get(name, 0)) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
    )
    return tests - failures - errors - skipped, failures + errors, skipped


def _seconds(report: Path) -> dict[str, float]:
    """By file: a test's class name in the report is its module's name, and that of its class if it has one."""
    took: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).getroot().iter("testcase") if report.exists() else ():
        module = re.sub(r"\.[A-Z]\w*$", "", case.attrib["classname"])
        took[f"{module.replace('.', '/')}.py"] += float(case.attrib["time"])
    return took
