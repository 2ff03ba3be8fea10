"""Where the output goes: a full disk is one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


def rules(stdout: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "streaming", "rules"]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=60)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    with FULL.open("w") as full:
        done = rules(full.fileno())

    sentence = "rebalance-monitor: can't write the output (No space left on device); make room for it\n"
    assert (done.returncode, done.stderr) == (2, sentence)
