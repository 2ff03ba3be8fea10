"""What commands print: safe on every stream that a shell can hand over, and one JSON object a line for programs."""

import json
import os
import sys
from io import TextIOWrapper
from typing import IO, Any, TextIO, cast

from .outline import visible_lines


class _Plain:
    """A stream of sentences: names in them come from files, networks and arguments, and none may steer a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(visible_lines(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def ready_streams() -> None:
    """After this no text is too strange to print, and a stream that the shell has closed takes or gives nothing.

    A name that the terminal's encoding lacks is shown escaped, and a stray byte on standard input is bad input. On
    standard error whatever is not printable is shown escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - it lasts as long as the program
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)
    if not isinstance(sys.stderr, _Plain):
        sys.stderr = cast(TextIO, _Plain(sys.stderr))


def print_json(value: object) -> None:
    """One line of JSON, whole even where the output's encoding lacks a letter: then JSON's own escapes stand for it."""
    text = _compact(value, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = _compact(value, ensure_ascii=True)
    sys.stdout.write(text + "\n")


def print_for_programs(value: dict[str, Any], output: str) -> None:
    """One object: a line of JSON, or a document of YAML."""
    if output == "json":
        print_json(value)
        return
    import yaml

    sys.stdout.write("---\n" + yaml.safe_dump(value, sort_keys=False, allow_unicode=False, width=10_000))


def _compact(value: object, **how: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str, **how)
