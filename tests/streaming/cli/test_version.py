"""`--version`: what people write into a bug report."""

import tomllib
from pathlib import Path

import pytest

from streaming.cli import main

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_says_the_version_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    declared = tomllib.loads(PROJECT.read_text())["project"]["version"]
    assert (ended.value.code, capsys.readouterr().out) == (0, f"rebalance-monitor {declared}\n")
