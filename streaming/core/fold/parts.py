"""Parts of a stored state that are read where the whole cannot be: incidents, waiting records, single fields."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from rebalance_monitor.streaming.core.model.codec import loads
from rebalance_monitor.streaming.core.model.results import Incident
from .state import Envelope, Saved, stored

T = TypeVar("T")


def left_open(state: bytes) -> tuple[Incident, ...]:
    """The incidents that a state holds, of whatever version, as far as they can be read."""
    whole = _object(state)
    book = _part(whole, "book")
    pages = [_part(book, "records"), _part(book, "events")]
    orphans = whole.get("orphans")
    items = [one for page in pages for one in _part(page, "incidents").values()]
    return tuple(_each(Incident, [*items, *(orphans if isinstance(orphans, list) else ())]))


def begun_anew(state: Saved) -> Saved | None:
    """An empty state with the open incidents of one that cannot be read, as far as these can be, and where its records
    lie; None without either. Incidents are kept to be ended: nobody else would ever end them. What still holds is found
    again."""
    orphans, home = left_open(state.lines), part_of(state.lines, "home", str)
    return stored(Envelope(orphans=orphans, home=home), {}) if orphans or home else None


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
