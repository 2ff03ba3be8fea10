"""`python -m lab.plan` answers the families of bytes as `rebalance-monitor plan` answers those of assignors."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.plan import parser
from lab.wire import FAMILIES
from rebalance_monitor.streaming import calculator
from rebalance_monitor.streaming.cli import main

VECTORS = Path(__file__).parents[1] / "vectors"
FILES = [
    VECTORS / "connect" / "connect-wire.jsonl.gz",
    VECTORS / "consumer" / "coordinator-wire.jsonl.gz",
    VECTORS / "consumer" / "connect-topics-wire.jsonl.gz",
    VECTORS / "streams" / "streams-wire.jsonl.gz",
]
FEW = 5


def family_of(file: Path) -> str:
    return file.name.removesuffix(".jsonl.gz")


def test_each_family_has_a_file_and_belongs_to_one_of_the_two_commands() -> None:
    assert {family_of(file) for file in FILES} == set(FAMILIES)
    assert not FAMILIES.keys() & calculator.FAMILIES.keys()


@pytest.mark.parametrize("file", FILES, ids=family_of)
def test_cases_come_on_standard_input_and_answers_go_to_standard_output(file: Path) -> None:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        cases = [next(lines) for _ in range(FEW)]
    command = [sys.executable, "-m", "lab.plan", "--family", family_of(file), "-"]
    done = subprocess.run(command, input="".join(cases), capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in answers] == [json.loads(case)["id"] for case in cases]
    assert [one["expected"] for one in answers] == [FAMILIES[family_of(file)](json.loads(case)) for case in cases]


def test_a_family_of_the_other_command_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--family", "connect-eager", "-"], parser) == 2
    assert main(["plan", "--family", "connect-wire", "-"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"rebalance-monitor: unknown family 'connect-eager'; known are {', '.join(sorted(FAMILIES))}"
    assert second.startswith("rebalance-monitor: unknown family 'connect-wire'; known are broker-assign, ")
