"""`why` of captures."""

import json

import pytest

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.exit_codes import BAD_INPUT, CANNOT_TELL, DONE
from tests.vector_files import CAPTURES

ZOMBIE = ["--capture", str(CAPTURES / "zombie")]


def test_the_ranking_of_a_group_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--group", "zombies", *ZOMBIE]) == DONE
    title, first, evidence, *_ = capsys.readouterr().out.splitlines()
    assert title == "zombies (zombie): 21 rebalances from 2026-11-20 12:27:55 UTC to 2026-11-20 12:30:42 UTC"
    assert first == "  6 of 21: connectors were created: idle-a 2 times, idle-b 2 times, idle-c 2 times"
    assert evidence.startswith("      generation 18 at 2026-11-20 12:30:29 UTC, generation 17 at ")
    assert main(["why", "--all-groups", *ZOMBIE, "-o", "json"]) == DONE
    told = json.loads(capsys.readouterr().out)
    assert (told["kind"], told["rebalances"], told["reasons"][0]["count"]) == ("why", 21, 6)


def test_only_the_time_that_is_asked_about(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["why", "--group", "zombies", "--at", "2026-11-20T12:28:57Z", *ZOMBIE, "-o", "json"]
    counts = []
    for since in ("1h", "10s", "1s"):
        code = main([*asked, "--since", since])
        told = json.loads(capsys.readouterr().out)
        counts.append((code, told["rebalances"]))
    assert counts == [(DONE, 9), (DONE, 1), (CANNOT_TELL, 0)]


def test_nothing_at_once_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "--at-once", *ZOMBIE]) == CANNOT_TELL
    assert capsys.readouterr().out == (
        "since 2026-11-20 11:30:54 UTC: no groups that rebalanced at once share a host, client id or partition that"
        " others do not have\n"
    )
    assert main(["why", "--at-once", *ZOMBIE, "-o", "json"]) == CANNOT_TELL
    assert json.loads(capsys.readouterr().out)["events"] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "say what is meant: --group ID, --all-groups, or --at-once"),
        (["--at-once", "--all-groups"], "--at-once looks at all groups; leave out --group and --all-groups"),
        (["--group", "nobody", *ZOMBIE], "no group 'nobody' is known"),
        (["--group", "zombies", *ZOMBIE, "--since", "soon"], "--since 'soon' is no time; write 90m, 2h or 1d12h"),
    ],
)
def test_a_question_that_cannot_be_answered(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(["why", *words]) == BAD_INPUT
    printed = capsys.readouterr()
    assert (printed.out, sentence in printed.err, len(printed.err.splitlines())) == ("", True, 1)
