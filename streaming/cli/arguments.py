"""What arguments of several commands have in common."""

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from .exit_codes import BAD_INPUT


def run_by(module: str, function: str = "") -> Callable[[argparse.Namespace], int]:
    """Runs the function of this name, or of the module's, which is imported only then: help needs none."""

    def run(arguments: argparse.Namespace) -> int:
        return int(getattr(import_module(f".{module}", __package__), function or module)(arguments))

    return run


def output_option(command: argparse.ArgumentParser, choices: Sequence[str] = ("table", "json")) -> None:
    """Of a command that prints for people unless it is asked otherwise."""
    command.add_argument("-o", "--output", choices=choices, default="table", help="for people, or for programs")


def whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


class CommandParser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one sentence, and where to see which there are."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: {message}; see {self.prog} --help\n")
