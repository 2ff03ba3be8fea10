"""A nested value as lines for people: one field a line, what is inside indented, nothing cut.

Made for any width: the lines are as short as the names and values allow, and a terminal wraps longer ones. Names and
texts come from the network, so nothing in them may steer a terminal.

    outcome  decoded
    key
      group  orders
    members[0]
      memberId  app-1
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

INDENT = "  "
# A moment before or after these is no moment of a record: -1 is "unknown", and a damaged record may say anything.
_FIRST_MS, _LAST_MS = 0, 253_402_300_799_999


def outline(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """The lines of `value`: texts, numbers, and mappings and lists of these."""
    width = max((len(visible(name)) for name, one in value.items() if not _parts(name, one)), default=0)
    for name, held in value.items():
        parts = _parts(name, held)
        for title, part in parts:
            yield f"{indent}{visible(title)}"
            yield from outline(part, indent + INDENT)
        if not parts:
            yield f"{indent}{visible(name):{width}}  {_leaf(name, held)}"


def _parts(name: str, value: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """What is not shown in one line, each with its title."""
    match value:
        case dict() if value:
            return [(name, value)]
        case [*items] if any(isinstance(one, dict) for one in items):
            return [(f"{name}[{index}]", one) for index, one in enumerate(items)]
        case _:
            return []


def _leaf(name: str, value: Any) -> str:
    match value:
        case str() if value:
            return visible(value)
        case int() if name.lower().endswith("timestamp") and _FIRST_MS < value <= _LAST_MS:
            return f"{value} ({datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec='milliseconds')})"
        case _:
            return visible(json.dumps(value, ensure_ascii=False))


def visible_lines(text: str) -> str:
    """The same for a text of several lines: their ends stay."""
    return "\n".join(map(visible, text.split("\n")))


def visible(text: str) -> str:
    """`text` with everything escaped that is not printed as it is."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
