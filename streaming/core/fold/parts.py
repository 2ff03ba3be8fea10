"""Parts of a stored state that are read where the whole cannot be: incidents, waiting records, single fields."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from rebalance_monitor.streaming.core.model.codec import loads
from rebalance_monitor.streaming.core.model.results import Incident

T = TypeVar("T")

_BEFORE_PARTS = ("open", "lingering")
"""Where layouts before 4 keep whole incidents; layout 4 keeps parts there."""


def left_open(state: bytes) -> tuple[Incident, ...]:
    """The incidents that a state of any layout holds, as far as they can be read."""
    whole = _object(state)
    book = _part(whole, "book")
    pages = [whole, _part(whole, "timeline"), _part(book, "records"), _part(book, "events")]
    held = [_part(page, name) for page in pages for name in ("incidents", *_BEFORE_PARTS)]
    orphans = whole.get("orphans")
    items = [one for some in held for one in some.values()]
    return tuple(_each(Incident, [*items, *(orphans if isinstance(orphans, list) else ())]))


def part_of(text: bytes, name: str, kind: type[T]) -> T | None:
    """One field of an envelope or a body; None where it is at its default or cannot be read."""
    return next(_each(kind, [one for key, one in _object(text).items() if key == name]), None)


def bodies_of(state: bytes) -> Iterator[tuple[str, str]]:
    """The bodies of a state by the names of their lifecycles, as far as they can be told apart."""
    try:
        lines = state.decode("utf-8", "surrogatepass").split("\n")[1:]
    except UnicodeDecodeError:
        return
    for line in lines:
        name, _, text = line.partition(" ")
        yield name, text


def _object(state: bytes) -> dict[str, Any]:
    try:
        whole = json.loads(state.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return {}
    return whole if isinstance(whole, dict) else {}


def _part(whole: dict[str, Any], name: str) -> dict[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}


def _each(kind: type[T], parts: Iterable[object]) -> Iterator[T]:
    for part in parts:
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            yield loads(kind, _text(part))


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
