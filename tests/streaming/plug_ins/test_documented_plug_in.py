"""The example in docs/plug-ins.md runs as it is written there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.config_check import not_loaded
from rebalance_monitor.streaming.cli.exit_codes import FOUND
from rebalance_monitor.streaming.cli.opening import settings_from

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "plug-ins.md").read_text(encoding="utf-8")


def block(language: str, number: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", DOCUMENT, re.DOTALL)[number])


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    folder = tmp_path / "plug-ins"
    folder.mkdir()
    (folder / "keeping.py").write_text(block("python"), encoding="utf-8")
    path = tmp_path / "monitor.yaml"
    path.write_text(block("yaml").replace("/tmp/plug-ins", str(folder)), encoding="utf-8")
    return path


def test_the_example_runs(configuration: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = re.search(r"replay --config monitor.yaml (\S+)", DOCUMENT)
    assert capture is not None
    assert main(["replay", "-o", "json", "--config", str(configuration), str(ROOT / capture[1])]) == FOUND
    told = capsys.readouterr().out
    assert '"grade":"match"' in told
    assert '"grade":"unexplained"' in told
    assert "plug_in_failed" not in told


def test_the_worked_test_passes(configuration: Path) -> None:
    beside = configuration.parent / "plug-ins" / "test_keeping.py"
    beside.write_text(block("python", 1), encoding="utf-8")
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(beside.parent), str(beside)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(run, capture_output=True, text=True, env=environment, cwd=beside.parent, check=False)
    assert (told.returncode, "1 passed" in told.stdout) == (0, True), told.stdout


def test_the_check_loads_it_and_says_what_is_wrong(configuration: Path) -> None:
    assert not_loaded(settings_from(str(configuration))) == []
    configuration.write_text(configuration.read_text().replace("keeping:Keeping", "keeping:Other"), encoding="utf-8")
    assert not_loaded(settings_from(str(configuration))) == [
        "clusters[0].streams.app-4.3.1.plug_in is not usable: module keeping has no Other"
    ]
