"""`plan`: a bad line is told in its place, and the others are solved all the same."""

import gzip
import json
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import main

CASES = Path(__file__).parents[2] / "vectors" / "connect" / "connect-eager.jsonl.gz"


def test_bad_lines_among_good_ones(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with gzip.open(CASES, "rt", encoding="utf-8") as lines:
        good = json.loads(next(lines))
    written = [
        json.dumps(good).encode(),
        b"{",
        b"[" * 100_000,
        b"\xff",
        b'{"x": 1}',
        b"[1]",
        b'"a"',
        b"",
        b'{"id": "b"}',
    ]
    file = tmp_path / "cases.jsonl"
    file.write_bytes(b"\n".join(written))

    assert main(["plan", "--family", "connect-eager", str(file)]) == 2
    first, *others = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (first["id"], first["expected"]) == (good["id"], good["expected"])
    assert [one["line"] for one in others] == [2, 3, 4, 5, 6, 7, 9]
    assert [one["error"].split(":")[0] for one in others] == ["not JSON"] * 3 + ["not a case of this family"] * 4
    assert others[3]["error"].endswith("it lacks 'id'")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--family", "cheese"), "unknown family 'cheese'; known are broker-assign, connect-eager, "),
        (("--family", "connect-eager", "/nowhere"), "cannot read /nowhere: No such file or directory"),
        (("--family", "connect-eager", "/"), "cannot read /: Is a directory"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert main(["plan", *words]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1
