"""What README and some pages of the documentation ask people to type and to write works as it stands there."""

import json
import re
import shlex
import textwrap
from pathlib import Path

import pytest
import yaml

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.commands import EXIT_CODES, parser
from rebalance_monitor.streaming.config.loading import load

ROOT = Path(__file__).parents[3]
PAGES = (
    "README.md", "docs/running.md", "docs/commands.md", "docs/tutorial.md", "docs/expectations.md", "docs/why.md",
    "docs/cost.md", "docs/bundle.md",
)  # fmt: skip
README = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
BLOCKS = [textwrap.dedent(block).strip() for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, flags=re.M)]
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith("rebalance-monitor ")
]
ALONE = [words for words in COMMANDS if words[0] in ("replay", "plan", "decode", "rules") or words.count("--capture")]
SHOWN = [block.removeprefix("$ ").partition("\n") for block in BLOCKS if block.startswith("$ rebalance-monitor ")]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with what the examples read, where they may write."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)


def test_every_command_is_one() -> None:
    assert {words[0] for words in COMMANDS} >= {"config", "run", "serve", "replay", "plan", "decode", "rules"}
    for words in COMMANDS:
        parser().parse_args(words)


@pytest.mark.parametrize(("command", "output"), [(command, output) for command, _, output in SHOWN])
def test_a_command_prints_what_is_shown(
    capsys: pytest.CaptureFixture[str], clone: None, command: str, output: str
) -> None:
    """Word for word; lines are broken to fit the page."""
    assert main(shlex.split(command)[1:]) in (0, 1)
    assert capsys.readouterr().out.split() == output.split()


@pytest.mark.parametrize("words", ALONE, ids=" ".join)
def test_what_needs_no_cluster_runs_from_the_clone(
    capsys: pytest.CaptureFixture[str], clone: None, words: list[str]
) -> None:
    assert main(words) in (0, 1)
    printed = capsys.readouterr()
    assert (bool(printed.out), printed.err) == (True, "")
    if words[-1] == "json":
        assert [json.loads(line) for line in printed.out.splitlines()]


def test_the_configuration_is_sound(tmp_path: Path) -> None:
    (example,) = [block for block in BLOCKS if block.startswith("clusters:")]
    (tmp_path / "monitor.yaml").write_text(example, encoding="utf-8")
    cluster = load(tmp_path / "monitor.yaml", {}).clusters[0]
    assert cluster.name == yaml.safe_load(example)["clusters"][0]["name"]
    variables = dict.fromkeys(re.findall(r"REBALANCE_MONITOR__\w+", README), "postgresql://monitor:pw@db/monitor")
    assert load(tmp_path / "monitor.yaml", variables).clusters[0].librdkafka()["sasl.password"]


def test_exit_codes_are_those_of_the_help() -> None:
    told = " ".join(README.split())
    assert EXIT_CODES.removeprefix("Exit codes: ") in told


def test_the_owners_are_sound(tmp_path: Path) -> None:
    (example,) = [block for block in BLOCKS if block.startswith("owners:")]
    (tmp_path / "monitor.yaml").write_text(example, encoding="utf-8")
    assert [one.expects().members_at_least for one in load(tmp_path / "monitor.yaml", {}).owners] == [6, 2]
