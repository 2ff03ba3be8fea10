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


def test_files_of_the_integration_tier_come_first_and_short_tiers_fill_the_end() -> None:
    beside = [tier for tier in tiers.TIERS if tier is not tiers.UNIT]
    found = tiers.pieces(beside)
    files = [piece.path for piece in found if piece.path is not None]
    assert {piece.tier for piece in found[: len(files)]} == {tiers.INTEGRATION}
    assert len(set(files)) == len(files) > len(beside)
    assert [piece.tier for piece in found[len(files) :]] == [tier for tier in beside if tier is not tiers.INTEGRATION]


def test_a_tier_that_cannot_run_leaves_no_piece() -> None:
    (postgres,) = (tier for tier in tiers.TIERS if tier.name == "postgres")
    assert [piece.tier for piece in tiers.pieces([postgres])] == [postgres]


def test_the_longest_files_come_first() -> None:
    names = [piece.path.name for piece in tiers.pieces([tiers.INTEGRATION]) if piece.path is not None]
    assert set(names[: len(tiers.LONGEST)]) == set(tiers.LONGEST)


def test_what_is_imported_is_compiled_once_for_all_processes() -> None:
    assert "PYTHONDONTWRITEBYTECODE" not in tiers.environment({**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
