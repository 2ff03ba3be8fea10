"""What `advise` says beside figures: that nothing changes, who would have nothing to do, and where a change goes."""

import pytest

from tests.streaming.cli.test_advise import MAIN, RANGE, advised
from tests.vector_files import VECTORS


@pytest.mark.parametrize(
    ("group", "capture", "words"),
    [
        ("connect-main", "captures/sessioned-4.3.1", ("--delay", "8s")),
        ("connect-main", "captures/sessioned-4.3.1", ("--protocol", "sessioned")),
        ("connect-main", "captures/sessioned-4.3.1", ("--workers", "5")),
        ("j-range", "captures-groups/java-classic", ("--members", "5")),
        ("j-range", "captures-groups/java-classic", ("--assignor", "range")),
        ("app-4.3.1", "captures-groups/streams-classic-4.3.1", ("--standbys", "1")),
    ],
)
def test_a_setting_that_the_group_has_already_changes_nothing_and_that_is_said(
    capsys: pytest.CaptureFixture[str], group: str, capture: str, words: tuple[str, str]
) -> None:
    """Figures were told as N instead of N."""
    told = advised(capsys, "--group", group, "--capture", str(VECTORS / capture), *words)
    _, already, nothing, *_ = told.splitlines()
    assert already == "  the group has this setting already"
    assert nothing.startswith("  nothing would have changed: rebalances: ")
    assert " instead of " not in told
    assert "after the change" not in told


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        ((*RANGE, "--members", "40"), "At least 31 of 40 members would have nothing to do: partitions go to 9 of them"),
        ((*RANGE, "--members", "40", "--assignor", "sticky"), "At least 15 of 40 members"),
        ((*RANGE, "--members", "6"), ""),
        (
            (*MAIN, "--workers", "40"),
            "At least 28 of 40 workers would have nothing to do: connectors and tasks go to 12",
        ),
        ((*MAIN, "--workers", "4"), ""),
    ],
)
def test_members_that_would_have_nothing_to_do_are_told_first(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], idle: str
) -> None:
    at = "2026-11-20T12:18:16Z" if "j-range" in words else "2026-11-20T12:09:15Z"
    told = advised(capsys, *words, "--at", at).splitlines()
    assert told[1].startswith(f"  {idle}")
    assert bool(idle) == any("nothing to do" in line for line in told)


def test_each_diff_says_which_file_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--static",), ("--protocol", "consumer")):
        lines = [line for line in advised(capsys, *RANGE, *words).splitlines() if not line.startswith("  Presumed")]
        first = next(place for place, line in enumerate(lines) if line.startswith(("  +", "  -")))
        assert lines[first - 1] == "  consumer configuration of each process:"
