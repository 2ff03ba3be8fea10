"""`decode`: one record or payload in hand, shown in full.

Input is a record's key and value, a bare payload, lines of either on standard input, or a capture with coordinates.
Bytes are hexadecimal or base64; spaces and colons between hexadecimal digits are fine. A text that could be both is
taken as hexadecimal unless `--encoding` says otherwise.
"""

import base64
import binascii
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from streaming.cli.errors import InputError
from streaming.cli.replay import records_of
from streaming.core.replay import OFFSETS_TOPIC
from streaming.core.routing import CONFIG_SUFFIXES, STATUS_SUFFIXES
from streaming.core.shown import PAYLOADS, RECORDS, Shown, show_payload, show_record

KINDS = (*RECORDS, *PAYLOADS)
ENCODINGS = ("auto", "hex", "base64")
ABSENT = frozenset({"null", "none", "-1", "tombstone"})

_HEX = re.compile(r"(0x)?[0-9a-fA-F\s:]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """Which records of a capture are wanted; None is any."""

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


def decode(inputs: list[str], *, kind: str, encoding: str, at: Coordinates, output: str) -> int:
    """Print everything that can be read; exit code 2 if an input or a record could not."""
    sound = True
    for shown in _shown(inputs, kind, encoding, at):
        sound = sound and shown.get("outcome") != "unreadable" and "error" not in shown
        if output == "json":
            sys.stdout.write(json.dumps(shown, ensure_ascii=False, separators=(",", ":")) + "\n")
            sys.stdout.flush()
        else:
            _print(shown)
    return 0 if sound else 2


def _shown(inputs: list[str], kind: str, encoding: str, at: Coordinates) -> Iterator[Shown]:
    if inputs == ["-"]:
        for number, line in enumerate(sys.stdin, start=1):
            if line.strip():
                yield _line(line, number, kind, encoding)
    elif len(inputs) == 1 and Path(inputs[0]).exists():
        yield from _captured(Path(inputs[0]), kind, at)
    else:
        yield _given(inputs, kind, encoding)


def _captured(path: Path, kind: str, at: Coordinates) -> Iterator[Shown]:
    found = False
    for record in records_of(path):
        if at.topic not in (None, record.topic) or at.partition not in (None, record.partition):
            continue
        if at.offset not in (None, record.offset):
            continue
        found = True
        source = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        yield {"source": source, **show_record(_kind_of(record.topic, kind), record.key, record.value)}
    if not found:
        raise InputError(
            f"{path}: no record with these coordinates; leave out --offset or --partition to see what is there"
        )


def _kind_of(topic: str, otherwise: str) -> str:
    if topic == OFFSETS_TOPIC:
        return "offsets"
    if topic.endswith(CONFIG_SUFFIXES):
        return "connect-config"
    if topic.endswith(STATUS_SUFFIXES):
        return "connect-status"
    if otherwise not in RECORDS:
        raise InputError(f"--topic-kind {otherwise} is a bare payload; a capture holds records: {', '.join(RECORDS)}")
    return otherwise


def _line(line: str, number: int, kind: str, encoding: str) -> Shown:
    try:
        if line.lstrip().startswith("{"):
            parsed = json.loads(line)
            shown = show_record(
                _kind_of(parsed.get("topic", ""), kind), _optional(parsed.get("key")), _optional(parsed.get("value"))
            )
            return {"line": number, **shown}
        return {"line": number, **_given(line.split(), kind, encoding)}
    except (InputError, ValueError, AttributeError, TypeError) as why:
        return {"line": number, "error": f"not an input of this kind: {why}"}


def _optional(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def _given(words: list[str], kind: str, encoding: str) -> Shown:
    if kind in PAYLOADS:
        blob = bytes_of("".join(words), encoding)
        return show_payload(kind, blob)
    if len(words) != 2:
        raise InputError(f"{RECORDS[kind]} needs two inputs, KEY and VALUE (null for a tombstone); {len(words)} given")
    key, value = words
    raw = None if value.lower() in ABSENT else _value(value, kind, encoding)
    return show_record(kind, bytes_of(key, encoding) if kind == "offsets" else key.encode(), raw)


def _value(text: str, kind: str, encoding: str) -> bytes:
    """Values of Connect's topics are JSON: they may be given as they are."""
    return text.encode() if kind != "offsets" and text.startswith("{") else bytes_of(text, encoding)


def bytes_of(text: str, encoding: str) -> bytes:
    """The bytes that `text` stands for. Raises InputError, which does not repeat the text."""
    if encoding == "hex" or (encoding == "auto" and _HEX.fullmatch(text)):
        try:
            return bytes.fromhex(text.removeprefix("0x").replace(":", ""))
        except ValueError as why:
            raise InputError(f"not hexadecimal: {why}; --encoding base64 if it is that") from None
    try:
        compact = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError) as why:
        raise InputError(f"neither hexadecimal nor base64: {why}") from None


def _print(shown: Shown) -> None:
    """Path and value, a line each."""
    table = Table("field", "value", box=None)
    for path, value in _flat(shown, ""):
        table.add_row(Text(visible(path)), Text(visible(value)))
    Console().print(table)


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, one in value.items():
                yield from _flat(one, f"{path}.{name}" if path else name)
        case [*items] if any(isinstance(one, dict) for one in items):
            for index, one in enumerate(items):
                yield from _flat(one, f"{path}[{index}]")
        case list():
            yield path, json.dumps(value, ensure_ascii=False)
        case str():
            yield path, value
        case _:
            yield path, json.dumps(value)


def visible(text: str) -> str:
    """Names come from the network: nothing in them may steer a terminal."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
