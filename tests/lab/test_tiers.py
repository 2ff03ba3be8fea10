"""`make test`: how the tiers share the machine."""

import os
from pathlib import Path

from lab import tiers

# Fails where its priority is that of the process that started it.
LOWERED = """
import os

def test_priority() -> None:
    assert os.getpriority(os.PRIO_PROCESS, 0) == {}
"""


def test_tests_that_compute_get_a_lower_priority_and_others_do_not(tmp_path: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    for nice in (0, 1):
        file = tmp_path / f"test_{nice}.py"
        file.write_text(LOWERED.replace("{}", str(min(own + nice, 19))))
        run = tiers.pytest([str(file), "-p", "no:cacheprovider"], shown=False, nice=nice)
        assert (run.code, run.passed, run.failed) == (0, 1, 0), run.said
