"""`advise` of captures of real groups: under its own assignor a history gives its own figures."""

import json
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, CANNOT_TELL, DONE
from rebalance_monitor.streaming.cli.group_sources import CapturedGroups, capture_of
from rebalance_monitor.streaming.stories.whatif.history import HistoryFigures, under_assignor

VECTORS = Path(__file__).parents[2] / "vectors"
CLASSIC = str(VECTORS / "captures-groups" / "java-classic")
DOCS = Path(__file__).parents[3] / "docs" / "advise.md"


@pytest.fixture(scope="module")
def classic() -> CapturedGroups:
    return capture_of(CLASSIC)


@pytest.mark.parametrize(("assignor", "rebalances"), [("range", 20), ("roundrobin", 12)])
def test_its_own_assignor_gives_the_records_again(classic: CapturedGroups, assignor: str, rebalances: int) -> None:
    answer = under_assignor(list(classic.generations(("java-classic", f"j-{assignor}"))), assignor)
    assert answer.courses == (answer.recorded,)
    assert answer.recorded.rebalances == rebalances


@pytest.mark.parametrize(("assignor", "rebalances"), [("sticky", 28), ("cooperative-sticky", 32)])
def test_what_depends_on_releases_or_on_time_is_a_range_around_the_records(
    classic: CapturedGroups, assignor: str, rebalances: int
) -> None:
    answer = under_assignor(list(classic.generations(("java-classic", f"j-{assignor}"))), assignor)
    assert answer.recorded.rebalances == rebalances
    for figure in ("rebalances", "moved", "stopped"):
        least, most = answer.range_of(figure)
        assert least <= getattr(answer.recorded, figure) <= most, figure


def test_every_rebalance_is_computed_or_left_out(classic: CapturedGroups) -> None:
    generations = list(classic.generations(("java-classic", "j-range")))
    answer = under_assignor(generations, "sticky", "3.9")
    pairs = sum(1 for one in generations[:-1] if not one.get("repeats"))
    assert answer.recorded.rebalances + sum(answer.left_out.values()) == pairs
    assert answer.recorded != HistoryFigures()
    assert answer.courses[0].moved < answer.recorded.moved


def test_the_example_of_the_page_is_what_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DOCS.parents[1])
    lines = DOCS.read_text().splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("    $ rebalance-monitor advise"))
    assert main(lines[at].split()[2:]) == DONE
    printed = [f"    {line}" for line in capsys.readouterr().out.splitlines()]
    assert lines[at + 1 : at + 1 + len(printed)] == printed


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["j-range", "--assignor", "fair"], BAD_INPUT, "'fair' is no assignor of consumers; take one of range"),
        (["j-range", "--assignor", "sticky", "--release", "x"], BAD_INPUT, "'x' is no release that has sticky"),
        (
            ["j-range", "--assignor", "cooperative-sticky", "--release", "2.3"],
            CANNOT_TELL,
            "the release does not have it",
        ),
        (["j-range", "--assignor", "sticky", "--since", "1s"], CANNOT_TELL, "cannot tell: no "),
    ],
)
def test_what_cannot_be_answered(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, sentence: str
) -> None:
    assert main(["advise", "--capture", CLASSIC, "--group", *words]) == code
    printed = capsys.readouterr()
    assert sentence in printed.out + printed.err


def test_a_connect_group_is_not_computed(capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(VECTORS / "captures" / "zombie")
    asked = ["advise", "--group", "zombies", "--assignor", "range", "--capture", capture, "-o", "json"]
    assert main(asked) == CANNOT_TELL
    told = json.loads(capsys.readouterr().out)
    assert told["answer"] is None
    assert told["why_not"].startswith("only consumer groups of the classic protocol")
