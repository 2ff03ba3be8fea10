"""Each command's help ends with examples, and each example is one that the command takes."""

import re
import shlex

import pytest

from rebalance_monitor.dashboards import build, publish
from rebalance_monitor.streaming.cli.commands import parser
from rebalance_monitor.streaming.cli.examples import EXAMPLES, leaves

DASHBOARDS = {"dashboards build": build.parser(), "dashboards publish": publish.parser()}
"""Whose options are not among those of the command line, as they need an extra."""
COMMANDS = dict(leaves(parser())) | DASHBOARDS


def shown(name: str) -> list[str]:
    """The examples in a command's help, as a shell splits them from its comments."""
    _, _, examples = COMMANDS[name].format_help().partition("\nexamples:\n")
    return re.findall(r"^  rebalance-monitor (.+)$", examples, re.MULTILINE)


def test_every_command_has_examples() -> None:
    assert [name for name in COMMANDS if not shown(name)] == []
    assert EXAMPLES.keys() <= COMMANDS.keys()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_examples_are_of_the_command_and_it_takes_them(name: str) -> None:
    for text in shown(name):
        example = re.split(r"\s{2,}", text)[0]
        assert example == name or example.startswith(f"{name} ")
        parser().parse_args(shlex.split(example))
        if name in DASHBOARDS:
            DASHBOARDS[name].parse_args(shlex.split(example.removeprefix(name)))
