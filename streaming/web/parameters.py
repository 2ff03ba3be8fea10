"""Query parameters: addresses with them, checked against their declaration, and cursors. Pure."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from .contract import Parameter, Route


class BadRequest(Exception):
    """A parameter can't be used; one sentence with what to do."""


def address(path: str, given: Mapping[str, object]) -> str:
    """With these parameters. It is relative, so that it leads on wherever a proxy has the page: all pages are at its
    root."""
    return f"{path}?{urlencode(given, quote_via=quote)}"


def parsed(route: Route, given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Values by name, defaults filled in; integers as int. Raises BadRequest."""
    known = {one.name: one for one in route.parameters}
    values: dict[str, Any] = {}
    for name, text in given:
        if name not in known:
            can = f"it takes {', '.join(known)}" if known else "it takes none"
            raise BadRequest(f"{route.path} knows no parameter of this name: {name[:60]!r}; {can}")
        if name in values:
            raise BadRequest(f"the parameter {name} stands twice; give it once")
        values[name] = _value(known[name], text)
    for name, parameter in known.items():
        if name not in values:
            if parameter.required:
                raise BadRequest(f"the parameter {name} is missing; add it")
            if "default" in parameter.schema:
                values[name] = parameter.schema["default"]
    return values


def _value(parameter: Parameter, text: str) -> Any:
    schema = parameter.schema
    if "\x00" in text:
        raise BadRequest(f"the parameter {parameter.name} holds a character U+0000, which no name has; remove it")
    if "enum" in schema and text not in schema["enum"]:
        raise BadRequest(f"the parameter {parameter.name} must be one of {', '.join(schema['enum'])}")
    if schema["type"] != "integer":
        return text
    low, high = schema["minimum"], schema["maximum"]
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and low <= int(text) <= high):
        raise BadRequest(f"the parameter {parameter.name} must be a number from {low} to {high}")
    return int(text)


def cursor(place: Sequence[Any] | None) -> str | None:
    """A place in a list as text for `cursor`."""
    if place is None:
        return None
    return base64.urlsafe_b64encode(json.dumps(list(place)).encode()).decode().rstrip("=")


def place(text: str | None, kinds: Sequence[type]) -> list[Any] | None:
    """The place that `cursor` made this text of; raises BadRequest for any other text."""
    if text is None:
        return None
    try:
        found = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:
        found = None
    fits = isinstance(found, list) and len(found) == len(kinds)
    if not fits or not all(_fits(value, kind) for value, kind in zip(found, kinds, strict=True)):
        raise BadRequest("the cursor is none of this list; take `next` of the page before")
    return list(found)


def _fits(value: object, kind: type) -> bool:
    if kind is int:
        return type(value) is int and -(2**63) <= value < 2**63
    return isinstance(value, str) and "\x00" not in value
