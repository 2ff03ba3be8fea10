"""`make foreign` refuses what it cannot play in one sentence."""

import subprocess
import sys

from tests.waiting import PATIENCE_S


def test_a_library_that_is_not_known_is_named() -> None:
    command = [sys.executable, "-m", "lab.foreign", "--libraries", "librdkafka", "carrier-pigeon"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 2
    assert (
        done.stderr
        == "foreign: carrier-pigeon is no library of this lab; there are librdkafka, kafka-python, franz-go\n"
    )
