"""What PostgreSQL accepts. Kafka lets a client put anything into a name or a time; no value may stop the job.

PostgreSQL refuses U+0000 and lone surrogates everywhere, index entries above about 2,700 bytes, and numbers beyond
their column's type. A number that does not fit is stored as the nearest one that does; the row's document has it as it
is.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from rebalance_monitor.streaming.core.columns import LONGEST
from rebalance_monitor.streaming.core.model.codec import plain_text

KEPT_CHARACTERS = 200
RANGES = {"int4": (-(2**31), 2**31 - 1), "int8": (-(2**63), 2**63 - 1)}
"""The least and the greatest number of each type of column."""


def clean(text: str) -> str:
    """The text with U+0000 shown as U+2400 and lone surrogates as U+FFFD."""
    text = text.replace("\x00", "\u2400")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def fitting(values: Sequence[Any], kind: str) -> list[Any]:
    """A column's values as one of its type accepts them: texts clean, numbers within the type's range."""
    if kind == "text":
        return [clean(one) if isinstance(one, str) else one for one in values]
    if kind in RANGES:
        low, high = RANGES[kind]
        return [one if one is None or low <= one <= high else min(max(one, low), high) for one in values]
    return list(values)


def name(text: str, longest: int = LONGEST) -> str:
    """A name for an indexed column: itself where possible, else its beginning and a hash, still unique."""
    if len(text) <= longest and text.isascii() and "\x00" not in text:
        return text  # nearly every name, many times a record
    cleaned = clean(text)
    if cleaned == text and len(text) <= longest and len(text.encode()) <= longest:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{cleaned[:KEPT_CHARACTERS]}…{digest}"


def original(text: str) -> bytes | None:
    """The bytes to keep beside `name(text)`; None when the name is the text itself."""
    return None if name(text) == text else text.encode("utf-8", "surrogatepass")


def restored(stored: str, kept: bytes | None) -> str:
    """The text that `name` and `original` were made from."""
    return stored if kept is None else kept.decode("utf-8", "surrogatepass")


def json_text(value: Any) -> str:
    """JSON that a jsonb column accepts."""
    text = plain_text(value)
    if "\\u0000" not in text:
        try:
            text.encode()
        except UnicodeEncodeError:
            pass
        else:
            return text
    return plain_text(_clean_tree(value))


def _clean_tree(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): _clean_tree(item) for key, item in value.items()}
        case list() | tuple():
            return [_clean_tree(item) for item in value]
        case _:
            return value
