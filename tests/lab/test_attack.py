"""The sweeps of `make attack`, short: two simulated clusters and one capture."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.attack import clocks, first_contact, holes, mutants
from lab.attack.__main__ import main
from lab.attack.life import Life, captures, of_cluster, simulated
from lab.attack.monitor import live
from lab.attack.pieces import Done, Piece, finished, kept
from lab.attack.planted import kind_of, planted
from lab.attack.truth import doubles_found
from lab.simulated import scenario
from rebalance_monitor.streaming.core.model.results import Certainty, Grade
from tests.profile import size

SEEDS = (1, 6)
LAST_STATUS = "last status"


@pytest.fixture(scope="module")
def lives() -> list[Life]:
    return [*(simulated(seed, 8) for seed in SEEDS), next(one for one in captures() if one.name == "steady")]


def within(cell: str) -> bool:
    """Whether the clock of this cell is off by at most a minute."""
    return next(abs(skew.ms) <= 60_000 for skew in clocks.skews() if skew.cell == cell)


def wrong(done: Sequence[Done], *kinds: str) -> list[str]:
    return [f"{one.cell}, {one.life}: {line}" for one in done for kind in kinds for line in one.outcome[kind]]


def test_a_capture_is_read_in_the_order_of_its_topics() -> None:
    """Statuses of several workers stand in a partition whatever times they state."""
    for life in captures():
        reached: dict[tuple[str, int], int] = {}
        for record in life.records:
            place = record.topic, record.partition
            assert record.offset > reached.get(place, -1)
            reached[place] = record.offset


def test_no_clock_makes_an_alarm(lives: list[Life]) -> None:
    # Every fifth cell: of each life another one, ahead and behind by turns.
    done = list(finished(list(clocks.pieces(lives))[:: size(5, 1)]))
    assert wrong(done, "false") == []
    assert not any(one.outcome["unexplained"] for one in done)


@pytest.mark.parametrize(("seed", "skew_ms"), [(5, 300_000), (14, -30_000), (12, 300_000)])
def test_a_coordinator_whose_clock_differs_from_the_last_ones_makes_no_alarm(seed: int, skew_ms: int) -> None:
    """Ahead, while a delay runs that ends before its time; behind, when it is over and a worker has come back; ahead,
    before a worker stops its jobs for the next rebalance."""
    cell = f"next coordinator {skew_ms:+} ms"
    done = list(finished([one for one in clocks.pieces([simulated(seed)]) if cell in one.cell]))
    assert len(done) == len(clocks.MODES)
    assert wrong(done, "false") == []
    assert not any(one.outcome["unexplained"] for one in done)


def test_no_clock_hides_a_second_run() -> None:
    back = next(one for one in planted() if kind_of(one.name) == "returned worker")
    cells = [piece for piece in clocks.pieces([back]) if "replay" in piece.cell and within(piece.cell)]
    done = list(finished(cells))
    assert all(set(one.outcome["doubles"]) == {"certain"} for one in done)
    assert wrong(done, "false") == []


def test_no_hole_is_an_accusation(lives: list[Life]) -> None:
    some = lives[size(1, 0) :]
    done = list(finished([one for one in holes.pieces(some) if not one.cell.startswith(LAST_STATUS)]))
    assert wrong(done, "unexplained", "louder") == []


def test_a_start_that_its_worker_never_wrote_is_possible_at_most(lives: list[Life]) -> None:
    """Connect itself then shows the old state of the job: its status is what the worker wrote last."""
    done = list(finished([one for one in holes.pieces(lives) if one.cell.startswith(LAST_STATUS)]))
    assert not any(one.outcome["unexplained"] for one in done)
    assert all("CONNECT-K4 medium/info possible" in line for line in wrong(done, "louder"))


def test_a_job_that_came_back_while_nobody_read_did_not_run_twice() -> None:
    """Compaction took the generation in which it was taken from its worker, the UNASSIGNED, and its return."""
    life = next(one for one in captures() if one.name == "compatible-2.8.2")
    told, down = holes.telling(life, "compacted", 14)
    # At the end of the capture every worker is stopped, with connectors to run.
    assert [one.line() for one in live(told, {}, down=down).loud() if one.code != "CONNECT-K18"] == []


def test_a_run_whose_end_compaction_took_while_nobody_read_is_no_second_run() -> None:
    """The connector's first owner had failed it before its second one started it; both report it when the first one
    comes back, and the second one stops it."""
    told, down = holes.telling(simulated(7), "compacted", 3)
    double = "connector:clicks worker:10.0.0.1:8083 worker:10.0.0.2:8083 (generation 3)"
    assert not [one.line() for one in live(told, {}, down=down).loud() if double in one.line()]


def test_a_number_of_tasks_that_compaction_took_while_nobody_read_accuses_no_leader() -> None:
    """What replaced it is written already, and is not read yet when the generation is judged."""
    cluster = scenario.live(8_000, actions=18, shape=scenario.shape_of(8_000))
    told, down = holes.telling(of_cluster("seed 8000", cluster), "compacted", 6)
    judged = live(told, {}, down=down)
    assert Grade.NOT_JUDGED in judged.grades.values()
    assert judged.unexplained() == []
    assert judged.loud() == []


@pytest.mark.parametrize("mode", clocks.MODES)
def test_planted_duplicates_are_certain(mode: str) -> None:
    for life in planted():
        told = clocks.judged_right(life, mode)
        assert set(doubles_found(life, told).values()) == {Certainty.CERTAIN}, life.name


def test_a_late_start_accuses_nobody(lives: list[Life]) -> None:
    assert wrong(list(finished(list(first_contact.pieces(lives)))), "unexplained", "louder") == []


def test_wrong_answers_are_noticed(lives: list[Life]) -> None:
    done = list(finished(list(mutants.pieces(lives))))
    made = sum(count for one in done for count in one.outcome["made"].values())
    missed = sum(count for one in done for count in one.outcome["missed"].values())
    assert made > 50
    assert missed * 100 <= made, [one.outcome["examples"] for one in done]


def test_a_broken_run_goes_on(tmp_path: Path) -> None:
    made: list[str] = []

    def piece(name: str) -> Piece:
        def make() -> dict[str, int]:
            made.append(name)
            return {"number": len(made)}

        return Piece("sweep", name, "life", make)

    file = tmp_path / "results.jsonl"
    first = list(finished([piece("a")], file=file))
    file.write_text(file.read_text() + '{"sources": "cut sho', encoding="utf-8")
    file.write_text(file.read_text() + "\n", encoding="utf-8")
    assert [one.outcome for one in finished([piece("a"), piece("b")], file=file)] == [first[0].outcome, {"number": 2}]
    assert made == ["a", "b"]
    assert len(kept(file)) == 2


def test_the_command_ends_with_three_where_pieces_are_left(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mutants", "--life", "steady", "--seeds", "0", "--varied", "0", "--results", "", "--quiet"]
    assert main([*arguments, "--most-s", "-1"]) == 3
    assert main([*arguments, "-o", "json"]) == 0
    assert '"sweep": "mutants"' in capsys.readouterr().out
