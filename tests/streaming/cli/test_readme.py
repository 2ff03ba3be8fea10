"""What README and some pages of the documentation ask people to write works as it stands there.

For what they ask people to type see test_documented_commands.py.
"""

import re
import textwrap
from pathlib import Path

import yaml

from rebalance_monitor.streaming.cli.commands import EXIT_CODES
from rebalance_monitor.streaming.config.loading import load

ROOT = Path(__file__).parents[3]
PAGES = (
    "README.md", "docs/running.md", "docs/commands.md", "docs/tutorial.md", "docs/expectations.md", "docs/why.md",
    "docs/cost.md", "docs/bundle.md",
)  # fmt: skip
README = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
BLOCKS = [textwrap.dedent(block).strip() for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, flags=re.M)]


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


def test_the_groups_are_sound(tmp_path: Path) -> None:
    (example,) = [block for block in BLOCKS if block.startswith("groups:")]
    (tmp_path / "monitor.yaml").write_text(example, encoding="utf-8")
    assert [one.expects().members_at_least for one in load(tmp_path / "monitor.yaml", {}).groups] == [6, 2]
