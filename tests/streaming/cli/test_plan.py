"""`plan`: a bad line is told in its place, and the others are solved all the same."""

import gzip
import json
from pathlib import Path

import pytest

from rebalance_monitor.streaming.cli import main
from tests.vector_files import VECTORS

CASES = VECTORS / "connect" / "connect-eager.jsonl.gz"


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
        b'{"id": "b", "input": 7}',
    ]
    file = tmp_path / "cases.jsonl"
    file.write_bytes(b"\n".join(written))

    assert main(["plan", "--family", "connect-eager", str(file)]) == 2
    first, *others = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (first["id"], first["expected"]) == (good["id"], good["expected"])
    assert [one["line"] for one in others] == [2, 3, 4, 5, 6, 7, 9, 10]
    assert [one["error"].split(":")[0] for one in others] == ["not JSON"] * 3 + ["not a case of this family"] * 5
    said = [one["error"].split(": ", 1)[1] for one in others]
    assert said[1:6] == [
        "too many brackets within each other",
        "it is not UTF-8 text",
        "it lacks 'id'",
        "it is not a JSON object",
        "it is not a JSON object",
    ]
    assert said[7].startswith("a part of it has another shape (")


@pytest.mark.parametrize("content", [b"", b"\n \n", gzip.compress(b"")])
def test_a_file_without_cases_tells_so(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(content)
    assert main(["plan", "--family", "connect-eager", str(file)]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"rebalance-monitor: {file}: it holds no cases, so there is nothing to compute\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (gzip.compress(b"{}\n")[:10] + b"\x07", "its gzip data is damaged"),
        (gzip.compress(b"{}\n" * 99)[:-4], "its gzip data is cut off"),
    ],
)
def test_damaged_gzip_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, sentence: str
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(content)
    assert main(["plan", "--family", "connect-eager", str(file)]) == 2
    told = capsys.readouterr().err
    assert f"cannot read {file}: {sentence}" in told
    assert told.count("\n") == 1


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
