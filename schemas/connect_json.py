"""JSON as Connect's converter reads it (schemas off), and the two key rules of Connect's stores.

What the converter takes and Python's parser alone would not: whatever stands behind the first value, be it no text at
all, a byte order mark, UTF-16 and UTF-32, and an empty value (it reads as null, so it deletes). What Python would take
and the converter refuses: NaN and infinities, and a number or word that runs on (`nullx`, `1.`).
"""

import json
import re
from json import detect_encoding
from typing import Any, NoReturn

from .errors import SchemaError


class NotJson(SchemaError):
    """The converter throws; Connect's stores then skip the record without counting its offset."""

    reason = "not_json"


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_WHITESPACE = " \t\r\n"
_RUNS_ON = {
    type(None): re.compile(r"[\w$]"),
    bool: re.compile(r"[\w$]"),
    int: re.compile(r"\S"),
    float: re.compile(r"\S"),
}


def parse(value: bytes) -> Any:
    """The first JSON value of `value`. The error says nothing about the content: it may be a secret."""
    try:
        text = _text(value).lstrip(_WHITESPACE)
        if not text:
            return None
        parsed, end = _DECODER.raw_decode(text)
        further = _RUNS_ON.get(type(parsed))
        if further is not None and further.match(text, end):
            _refuse("runs on")
        return parsed
    except (ValueError, RecursionError):
        # `from None`: the decoder's own error carries the document.
        raise NotJson(f"{len(value)} bytes") from None


def _text(value: bytes) -> str:
    encoding = detect_encoding(value)
    try:
        return value.decode(encoding)
    except UnicodeDecodeError as why:
        # What cannot be read may stand behind the first value, where nobody looks.
        if why.start == 0:
            raise
        return value[: why.start].decode(encoding)


def java_int(value: object) -> int | None:
    """A JSON integer cut to 32 bits as Java's cast does; None for anything else."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >= 1 << 31 else low


def split_task(key: str, prefix_parts: int) -> tuple[str, int] | None:
    """Connector and number of a task key whose prefix has `prefix_parts` dash-separated parts; None if malformed.

    The number is behind the last dash. As Java's `split` does, empty parts at the end are dropped first.
    """
    parts = key.rstrip("-").split("-")
    if len(parts) < prefix_parts + 2:
        return None
    try:
        number = int(parts[-1])
    except ValueError:
        return None
    if "_" in parts[-1] or parts[-1] != parts[-1].strip() or not -(1 << 31) <= number < 1 << 31:
        return None
    return "-".join(parts[prefix_parts:-1]), number
