"""Reads the configuration: defaults < YAML file < environment. Every mistake becomes one line a user can act on."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from . import yaml_file
from .environment import dotted, known_keys, overlay
from .section import ConfigError, Section
from .settings import Settings

S = TypeVar("S", bound=Section)
_MOMENT = "must be a moment with its offset to UTC, such as 2026-01-10T20:00:00Z"
# What the validator calls a kind of mistake -> what is wrong, in words for people who know no Python.
_PLAIN = {
    "extra_forbidden": "this key is unknown",
    "missing": "this key is missing",
    "string_pattern_mismatch": "the value has the wrong form",
    "model_type": "must hold keys and values",
    "model_attributes_type": "must hold keys and values",
    "dict_type": "must hold keys and values",
    "tuple_type": "must be a list",
    "string_type": "must be a text, perhaps in quotes",
    "string_unicode": "must be sound Unicode text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "datetime_type": _MOMENT,
    "datetime_parsing": _MOMENT,
    "datetime_from_date_parsing": _MOMENT,
    "timezone_aware": _MOMENT,
}
_TO_DO = {
    "extra_forbidden": "remove it or correct its spelling",
    "missing": "add it",
    "invalid_key": "put it in quotes or correct its spelling",
}


def load(path: str | Path | None, env: Mapping[str, str]) -> Settings:
    """Settings from defaults, then the file at `path` (None: no file), then the variables in `env`."""
    where = "configuration" if path is None else str(path)
    values = {} if path is None else yaml_file.read(Path(path))
    return checked(Settings, values, where, overlay(values, env))


def checked(
    kind: type[S], values: Mapping[str, Any], where: str, origins: Mapping[tuple[str | int, ...], str] | None = None
) -> S:
    """A section of these values; `origins`: variables of the environment that some of them came from. ConfigError names
    what is wrong in `where`."""
    try:
        return kind.model_validate(values)
    except ValidationError as why:
        lines = [_line(dict(problem), where, origins or {}) for problem in why.errors(include_url=False)]
        raise ConfigError("\n".join(dict.fromkeys(lines))) from None


def _line(problem: Mapping[str, Any], where: str, origins: Mapping[tuple[str | int, ...], str]) -> str:
    path, kind = tuple(problem["loc"]), problem["type"]
    came_from = [origins[path[:n]] for n in range(len(path), 0, -1) if path[:n] in origins]
    if not came_from and kind == "extra_forbidden":
        came_from = [name for key, name in origins.items() if key[: len(path)] == path]
    source = f"environment variable {came_from[0]}" if came_from else where
    message = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "must be", 1)
    what = _PLAIN.get(kind, message[:1].lower() + message[1:])
    to_do = _TO_DO.get(kind, "correct the value")
    if kind == "extra_forbidden" and (known := known_keys(path[:-1])):
        near = get_close_matches(str(path[-1]), known, n=1)
        to_do = f"did you mean {near[0]}?" if near else f"{to_do} to one of {', '.join(known)}"
        to_do += " (`rebalance-monitor config default` lists every key)"
    if path and path[-1] == "[key]":  # the validator's mark: the key itself is what is wrong
        path = path[:-1]
    if kind == "invalid_key":
        path, what = path[:-1], f"the key {path[-1]} is no text"
    elif kind == "string_pattern_mismatch":
        to_do = f"it must match {problem['ctx']['pattern']}"
    key = f"{dotted(path)}: " if path else ""
    return f"{source}: {key}{what}; {to_do}" if ";" not in what else f"{source}: {key}{what}"
