"""`make test`: how the tiers share the machine."""

import os
import re
from pathlib import Path

import pytest

from lab import tiers
from lab.paths import ROOT

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
        run = tiers.pytest([str(file), "-p", "no:cacheprovider"], nice=nice)
        assert (run.code, run.passed, run.failed) == (0, 1, 0), run.said


def test_only_a_file_itself_marks_its_tests() -> None:
    """So a tier finds its tests by the text of files, and collects no others."""
    tests = (ROOT / "tests").rglob("*.py")
    marked = [path for path in tests if re.search(r"mark\.(postgres|prometheus|browser|integration)", path.read_text())]
    assert [path for path in marked if not path.name.startswith("test_")] == []


def test_each_file_is_in_a_tier_and_the_parts_of_one_share_its_files() -> None:
    everything = set((ROOT / "tests").rglob("test_*.py"))
    assert {path for tier in tiers.TIERS for path in tiers.files_of(tier)} == everything
    for tier in tiers.TIERS:
        shared = [path for piece in tiers.pieces(tier) for path in piece.paths]
        assert sorted(shared) == tiers.files_of(tier)


def test_the_parts_of_the_unit_tier_weigh_about_the_same() -> None:
    weights = [sum(map(tiers.weight, piece.paths)) for piece in tiers.pieces(tiers.UNIT)]
    assert max(weights) - min(weights) <= max(map(tiers.weight, tiers.files_of(tiers.UNIT)))
    assert set(tiers.SLOW) <= {path.name for path in tiers.files_of(tiers.UNIT)}


def test_the_longest_files_come_first() -> None:
    names = [piece.paths[0].name for piece in tiers.pieces(tiers.INTEGRATION)]
    assert set(names[: len(tiers.LONGEST)]) == set(tiers.LONGEST)


def test_who_has_nothing_left_of_its_own_kind_takes_from_the_other(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    queues = tiers.Queues([tiers.UNIT, tiers.INTEGRATION], ["--collect-only", "-q"])
    for queue in (queues.computing, queues.waiting):
        while len(queue) > 1:
            queue.pop()
    queues.work(queues.waiting, queues.computing)
    assert [*queues.computing, *queues.waiting] == []
    assert list(queues.runs) == [tiers.INTEGRATION.name, tiers.UNIT.name]
    said = capfdbinary.readouterr().out
    assert said.index(b"=== tier integration tests/integration/") < said.index(b"=== tier unit part 1 of ")


def test_what_is_imported_is_compiled_once_for_all_processes() -> None:
    assert "PYTHONDONTWRITEBYTECODE" not in tiers.environment({**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
