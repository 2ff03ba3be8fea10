"""JSON as Connect's converter reads it (schemas off), and the two key rules of Connect's stores.

What the converter takes and Python's parser alone would not: text behind the first value, and an empty value (it reads
as null, so it deletes). What Python would take and the converter refuses: NaN and infinities.
"""

import json
from typing import Any, NoReturn

from schemas.errors import SchemaError


class NotJson(SchemaError):
    """The converter throws; Connect's stores then skip the record without counting its offset."""

    reason = "not_json"


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_WHITESPACE = " \t\r\n"


def parse(value: bytes) -> Any:
    """The first JSON value of `value`. The error says nothing about the content: it may be a secret."""
    try:
        text = value.decode("utf-8").lstrip(_WHITESPACE)
        return _DECODER.raw_decode(text)[0] if text else None
    except (ValueError, RecursionError):
        # `from None`: the decoder's own error carries the document.
        raise NotJson(f"{len(value)} bytes") from None


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
