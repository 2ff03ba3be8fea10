"""Completion of commands, options and file names for a shell."""

import argparse

import shtab

from .names import FAMILIES, KINDS

_NAMES = {"--family": FAMILIES, "--topic-kind": KINDS}
_FILES = ("FILE", "FILE|-", "DIR|FILE|-")


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script that a shell of this kind reads. `parser` is used up: it gets the names that options take."""
    _complete(parser)
    script: str = shtab.complete(parser, shell=shell)
    return script


def _complete(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete(command)
        elif action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined] # where shtab looks for it
        else:
            action.choices = next((_NAMES[name] for name in action.option_strings if name in _NAMES), action.choices)
