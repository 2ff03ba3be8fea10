"""`make test`: how the tiers share the machine."""

import dataclasses
import json
import os
import re
import threading
from pathlib import Path

import pytest

from lab import pytest_run, tiers
from lab.cluster import recording
from lab.paths import ROOT
from tests.waiting import PATIENCE_S

# Fails where its priority is that of the process that started it.
LOWERED = """
import os

def test_priority() -> None:
    assert os.getpriority(os.PRIO_PROCESS, 0) == {}

def test_folder(tmp_path) -> None:
    assert "pytest-of-" not in str(tmp_path), "other runs close that folder to the user of PostgreSQL"
"""


def test_a_run_has_its_own_folder_and_the_priority_that_it_is_given(tmp_path: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    for nice in (0, 1):
        file = tmp_path / f"test_{nice}.py"
        file.write_text(LOWERED.replace("{}", str(min(own + nice, 19))))
        run = pytest_run.pytest([str(file), "-p", "no:cacheprovider"], nice=nice)
        assert (run.code, run.passed, run.failed) == (0, 2, 0), run.said


def test_only_a_file_itself_marks_its_tests() -> None:
    """So a tier finds its tests by the text of files, and collects no others."""
    tests = (ROOT / "tests").rglob("*.py")
    marked = [
        path for path in tests if re.search(r"mark\.(postgres|prometheus|browser|helm|integration)", path.read_text())
    ]
    assert [path for path in marked if not path.name.startswith("test_")] == []


def test_each_file_is_in_a_tier_and_the_parts_of_one_share_its_files() -> None:
    everything = set((ROOT / "tests").rglob("test_*.py"))
    assert {path for tier in tiers.TIERS for path in tiers.files_of(tier)} == everything
    for tier in tiers.TIERS:
        shared = [path for piece in tiers.pieces(tier) for path in piece.paths]
        assert sorted(shared) == tiers.files_of(tier)


def test_files_that_share_a_job_or_a_session_run_in_one_process_and_each_other_file_alone() -> None:
    together = [piece for piece in tiers.pieces(tiers.INTEGRATION) if len(piece.paths) > 1]
    fixtures = (ROOT / "tests" / "integration" / "conftest.py").read_text()
    declared = set(re.findall(r'^@pytest.fixture\(scope="session"\)\ndef (\w+)', fixtures, re.MULTILINE))
    asked = [{name for path in piece.paths for name in tiers.SHARING.findall(path.read_text())} for piece in together]
    assert sorted(map(sorted, asked)) == sorted([name] for name in declared)
    anywhere = re.compile(rf"^def .*\b({'|'.join(sorted(declared))}): (Any|Live)", re.MULTILINE)
    users = {path for path in tiers.files_of(tiers.INTEGRATION) if anywhere.search(path.read_text())}
    assert users == {path for piece in together for path in piece.paths}


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where it is kept how long files took: nowhere yet."""
    monkeypatch.setattr(tiers, "SECONDS", tmp_path / "test-seconds.json")
    return tiers.SECONDS


def test_a_clone_that_never_ran_its_tests_begins_with_the_longest_files(seconds: Path) -> None:
    assert not seconds.exists()
    names = [piece.paths[0].name for piece in tiers.pieces(tiers.INTEGRATION)]
    assert set(names[: len(tiers.LONGEST)]) == set(tiers.LONGEST)


def test_the_parts_of_the_unit_tier_take_about_as_long_as_each_other(seconds: Path) -> None:
    slow, slower = "tests/schemas/test_wire.py", "tests/web/test_views.py"
    took = [{slow: 100.0}, {slow: 50.0, slower: 200.0}]
    tiers.remember(pytest_run.Run(0, 1, 0, 0, b"", each) for each in took)
    assert json.loads(seconds.read_text()) == {slow: 150.0, slower: 200.0}
    found = tiers.pieces(tiers.UNIT)
    assert [str(piece.paths[0].relative_to(ROOT)) for piece in found[:2]] == [slower, slow]
    assert len(found[0].paths) == len(found[1].paths) == 1, "the others are dealt to the other parts"


def test_a_run_tells_how_long_each_file_took() -> None:
    run = pytest_run.pytest(["tests/lab/test_java.py", "tests/schemas/test_wire.py", "--no-header"])
    assert set(run.seconds) == {"tests/lab/test_java.py", "tests/schemas/test_wire.py"}


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


def test_two_pieces_compute_while_three_files_wait(monkeypatch: pytest.MonkeyPatch, seconds: Path) -> None:
    together = threading.Barrier(2 + tiers.AT_A_TIME)

    def run(*_: object) -> pytest_run.Run:
        together.wait(PATIENCE_S)  # raises where one of them does not run beside the others
        return pytest_run.Run(0, 1, 0, 0, b"", {})

    monkeypatch.setattr(tiers.Piece, "run", run)
    monkeypatch.setattr(tiers, "pieces", lambda tier: [tiers.Piece(tier, ())] * (3 if tier is tiers.INTEGRATION else 2))
    monkeypatch.setattr(recording, "record_once", lambda: None)
    whole = [dataclasses.replace(tier, missing=lambda: None) for tier in (tiers.UNIT, tiers.INTEGRATION)]
    monkeypatch.setattr(tiers, "INTEGRATION", whole[1])
    (unit, integration), _ = tiers.run_all(whole, [])
    assert (unit.passed, integration.passed, unit.failed + integration.failed) == (2, 3, 0)


def test_what_is_imported_is_compiled_once_for_all_processes() -> None:
    assert "PYTHONDONTWRITEBYTECODE" not in pytest_run.environment({**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


@pytest.mark.parametrize(("most", "passed_alone", "failed"), [(0, [], 1), (1, ["seldom"], 0)])
def test_a_file_that_failed_beside_others_runs_once_more_where_that_is_wanted(
    monkeypatch: pytest.MonkeyPatch, most: int, passed_alone: list[str], failed: int
) -> None:
    left = [pytest_run.Run(1, 1, 1, 0, b"", {}), pytest_run.Run(0, 2, 0, 0, b"", {})]
    monkeypatch.setattr(tiers.Piece, "run", lambda *_: left.pop(0))
    queues = tiers.Queues([], [])
    queues.waiting.append(tiers.Piece(tiers.INTEGRATION, (), "seldom"))
    queues.work(queues.waiting)
    queues.once_more(most)
    assert queues.passed_alone == passed_alone
    assert tiers.outcome(tiers.INTEGRATION, queues.runs["integration"], 1.0).failed == failed


def test_what_fails_twice_or_in_many_files_or_in_another_tier_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers.Piece, "run", lambda *_: pytest_run.Run(1, 0, 1, 0, b"", {}))
    for tier, files, runs in ((tiers.INTEGRATION, 1, 2), (tiers.INTEGRATION, 3, 3), (tiers.UNIT, 1, 1)):
        queues = tiers.Queues([], [])
        queues.waiting.extend(tiers.Piece(tier, (), str(number)) for number in range(files))
        queues.work(queues.waiting)
        ran = len(queues.runs[tier.name])
        queues.once_more(2)
        assert (queues.passed_alone, ran) == ([], files)
        assert sum(run.failed for run in queues.runs[tier.name]) == files
        assert len(queues._failed) == runs
