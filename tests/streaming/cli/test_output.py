"""Where the output goes: full disks, closed streams, readers who leave, letters that are lacking, narrow terminals."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from rich.table import Table

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.terminal import Terminal
from tests.vector_files import CAPTURES
from tests.waiting import PATIENCE_S

FULL = Path("/dev/full")
CAPTURE = CAPTURES / "steady"
# Through argparse, through `print_json`, through a table.
WAYS = (["--help"], ["rules", "-o", "json"], ["replay", str(CAPTURE)])
# With this variable every write fails at once, and argparse passes over it in silence.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def run(words: list[str], stdout: IO[str]) -> tuple[int, str]:
    """Exit code and what stands on stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "rebalance_monitor", *words],
        stdout=stdout, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_a_full_disk_is_one_sentence(words: list[str]) -> None:
    with FULL.open("w") as full:
        sentence = "rebalance-monitor: can't write the output (No space left on device); make room for it\n"
        assert run(words, full) == (2, sentence)


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_a_reader_who_leaves_early_has_found_nothing(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as gone:
        assert run(words, gone) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-"])
def test_streams_that_the_shell_has_closed(closed: str) -> None:
    line = f'"$0" -m rebalance_monitor decode - {closed}'
    done = subprocess.run(["sh", "-c", line, sys.executable], input="", text=True, check=False, timeout=PATIENCE_S)

    assert done.returncode == 2


@pytest.mark.parametrize("words", [["config", "check"], ["config", "check", "-o", "json"]], ids=" ".join)
def test_a_letter_that_the_encoding_lacks_is_shown_escaped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    config = tmp_path / "monitor.yaml"
    config.write_text(
        "database: {dsn: 'postgresql://db/m'}\nclusters: [{name: café, bootstrap_servers: 'k:9092'}]", encoding="utf-8"
    )
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", out)

    assert main([*words, "--config", str(config)]) == 0
    told = out.buffer.getvalue().decode("ascii")
    if words[-1] == "json":
        assert json.loads(told)["clusters"][0]["name"] == "café"
    else:
        assert "caf\\xe9" in told


@pytest.mark.parametrize(("terminal", "lines"), [(True, 3), (False, 2)])
def test_a_table_is_never_cut_and_a_file_gets_one_line_a_row(terminal: bool, lines: int) -> None:
    name = "connect-127.0.0.1:18083-" + "a" * 36
    for worker in ("w1:8083", name):
        table = Table("worker", "message", box=None)
        table.add_row(worker, "held by nobody since generation 7")
        out = io.StringIO()
        Terminal(file=out, width=40, force_terminal=terminal, color_system=None).print_whole(table)
        assert worker in out.getvalue()
        assert "…" not in out.getvalue()
        if worker != name:
            assert len(out.getvalue().splitlines()) == lines
