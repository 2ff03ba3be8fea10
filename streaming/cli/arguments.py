"""What arguments of several commands have in common."""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module


def run_by(name: str) -> Callable[[argparse.Namespace], int]:
    """Runs the function of this name in the module of this name, which is imported only then: help needs none."""

    def run(arguments: argparse.Namespace) -> int:
        return int(getattr(import_module(f".{name}", __package__), name)(arguments))

    return run


def output_option(command: argparse.ArgumentParser, choices: Sequence[str] = ("table", "json")) -> None:
    """Of a command that prints for people unless it is asked otherwise."""
    command.add_argument("-o", "--output", choices=choices, default="table", help="for people, or for programs")
