"""`decode`: one record or payload in hand, shown in full.

Input is a record's key and value, a bare payload, lines of either on standard input, or a capture with coordinates.
Bytes are hexadecimal or base64; spaces and colons between hexadecimal digits are fine. A text that could be both is
taken as hexadecimal unless `--encoding` says otherwise.
"""

import argparse
import base64
import binascii
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rebalance_monitor.streaming.core.reading.shown import ShownObject
from rebalance_monitor.streaming.core.shown import PAYLOADS, RECORDS, show_payload, show_record
from .exit_codes import BAD_INPUT, DONE, InputError
from .names import KINDS
from .outline import outline
from .output import print_json

ABSENT = frozenset({"null", "none", "-1", "tombstone"})

_HEX = re.compile(r"(0x)?[0-9a-fA-F\s:]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """Which records of a capture are wanted; None is any."""

    topic: str | None = None
    partition: int | None = None
    offset: int | None = None

    def given(self) -> bool:
        return (self.topic, self.partition, self.offset) != (None, None, None)


def decode(arguments: argparse.Namespace) -> int:
    """Print everything that can be read; BAD_INPUT if an input or a record could not."""
    if arguments.topic_kind not in KINDS:
        raise InputError(f"unknown --topic-kind {arguments.topic_kind!r}; known are {', '.join(KINDS)}")
    at = Coordinates(topic=arguments.topic, partition=arguments.partition, offset=arguments.offset)
    sound, before = True, ""
    for shown in _shown(arguments.inputs, arguments.topic_kind, arguments.encoding, at):
        sound = sound and shown.get("outcome") != "unreadable" and "error" not in shown
        if arguments.output == "json":
            print_json(shown)
        else:
            sys.stdout.write(before + "\n".join(outline(shown)) + "\n")
            before = "\n"
        sys.stdout.flush()
    return DONE if sound else BAD_INPUT


def _shown(inputs: list[str], kind: str, encoding: str, at: Coordinates) -> Iterator[ShownObject]:
    if len(inputs) == 1 and inputs[0] not in ("", "-") and _exists(inputs[0]):
        # What knows captures brings the job's rules and settings along: a second that one record need not wait.
        from .decode_capture import captured

        yield from captured(Path(inputs[0]), kind, at)
        return
    if at.given():
        raise InputError(f"--topic, --partition and --offset choose from a capture, and {inputs[0][:60]!r} is none")
    if inputs == ["-"]:
        yield from _lines(kind, encoding)
    elif len(inputs) == 1 and kind in RECORDS:
        raise InputError(
            f"{RECORDS[kind]} needs two inputs, KEY and VALUE (null for a tombstone); one given, which names no file"
        )
    else:
        yield _given(inputs, kind, encoding)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # a record in base64 is no name of a file, and may be too long for one
        return False


def _lines(kind: str, encoding: str) -> Iterator[ShownObject]:
    found = False
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            found = True
            yield _line(line, number, kind, encoding)
    if not found:
        raise InputError("nothing came on standard input; give KEY and VALUE there, a line for each record")


def _line(line: str, number: int, kind: str, encoding: str) -> ShownObject:
    try:
        shown = _object(line, kind) if line.lstrip().startswith("{") else _given(line.split(), kind, encoding)
    except InputError as why:
        return {"line": number, "error": str(why)}
    return {"line": number, **shown}


def _object(line: str, kind: str) -> ShownObject:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError) as why:
        raise InputError(f"begins like an object but is not JSON: {why}") from None
    from .decode_capture import kind_of

    if kind in PAYLOADS:
        raise InputError(f"--topic-kind {kind} is a bare payload; give its bytes, not an object with key and value")
    topic, key, value = (parsed.get(name) for name in ("topic", "key", "value"))
    try:
        return show_record(kind_of(topic or "", kind), _optional(key), _optional(value))
    except (TypeError, ValueError, AttributeError):
        raise InputError("topic is a text, key and value are base64 or null; one of them is not") from None


def _optional(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def _given(words: list[str], kind: str, encoding: str) -> ShownObject:
    if kind in PAYLOADS:
        return show_payload(kind, bytes_of("".join(words), "PAYLOAD", encoding))
    if len(words) != 2:
        raise InputError(f"{RECORDS[kind]} needs two inputs, KEY and VALUE (null for a tombstone); {len(words)} given")
    key = bytes_of(words[0], "KEY", encoding) if kind == "offsets" else _typed(words[0])
    return show_record(kind, key, None if words[1].lower() in ABSENT else _value(words[1], kind, encoding))


def _value(text: str, kind: str, encoding: str) -> bytes:
    """Values of Connect's topics are JSON: they may be given as they are."""
    return _typed(text) if kind != "offsets" and text.startswith("{") else bytes_of(text, "VALUE", encoding)


def _typed(text: str) -> bytes:
    """The bytes that were typed, sound text or not."""
    return text.encode("utf-8", "surrogateescape")


def bytes_of(text: str, what: str, encoding: str) -> bytes:
    """The bytes that `text` stands for. Raises InputError, which names `what` it is and does not repeat it."""
    if not text.strip():
        raise InputError(f"{what} is empty{'; null is a tombstone' if what == 'VALUE' else ''}")
    if encoding == "hex" or (encoding == "auto" and _HEX.fullmatch(text)):
        digits = "".join(text.removeprefix("0x").replace(":", "").split())
        try:
            return bytes.fromhex(digits)
        except ValueError:
            wrong = "has an odd number of hexadecimal digits" if _HEX.fullmatch(text) else "is not hexadecimal"
            raise InputError(f"{what} {wrong}; perhaps some are missing, or it is --encoding base64") from None
    compact = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError):
        wrong = "neither hexadecimal nor base64" if encoding == "auto" else "not base64"
        raise InputError(f"{what} is {wrong}; {len(text)} characters were given, perhaps not all of them") from None
