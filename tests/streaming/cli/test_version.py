"""`--version`: what people write into a bug report."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rebalance_monitor.streaming import calculator
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.names import FAMILIES, KINDS
from rebalance_monitor.streaming.core import shown

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_says_the_version_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    declared = tomllib.loads(PROJECT.read_text())["project"]["version"]
    assert (ended.value.code, capsys.readouterr().out) == (0, f"rebalance-monitor {declared}\n")


def test_asking_for_it_imports_neither_the_configuration_nor_the_tables() -> None:
    """Half a second of imports for one line."""
    command = [sys.executable, "-X", "importtime", "-m", "rebalance_monitor", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "rebalance_monitor.streaming.cli" in loaded
    assert loaded & {"pydantic", "rich", "yaml", "rebalance_monitor.streaming.core"} == set()


def test_names_in_help_are_those_that_exist() -> None:
    assert sorted(FAMILIES) == sorted(calculator.FAMILIES)
    assert (*shown.RECORDS, *shown.PAYLOADS) == KINDS
