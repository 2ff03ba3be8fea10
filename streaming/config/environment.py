"""Variables of the environment, put into what the file says.

A variable `REBALANCE_MONITOR__DATABASE__DSN` sets the key `database.dsn`; `REBALANCE_MONITOR__CLUSTERS__0__NAME` sets
`name` of the first cluster. Below `client`, `SASL_PASSWORD` stands for `sasl.password`, because a shell allows no dots
in a name. Lists and mappings may be given whole, as JSON.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from .section import ConfigError, Section
from .settings import Settings

PREFIX = "REBALANCE_MONITOR__"
Path = tuple[str | int, ...]
"""A key's place: names, and positions in lists."""


def overlay(values: dict[str, Any], env: Mapping[str, str]) -> dict[Path, str]:
    """Sets each variable's value in place; returns which key came from which variable. Raises ConfigError."""
    origins: dict[Path, str] = {}
    for variable in sorted(name for name in env if name.upper().startswith(PREFIX)):
        parts = variable[len(PREFIX) :].split("__")
        if not all(parts):
            shape = f"{PREFIX}SECTION__KEY"
            raise ConfigError(f"environment variable {variable}: a part of the name is empty; write {shape}")
        origins[_put(values, parts, env[variable], variable)] = variable
    return origins


def dotted(path: Path) -> str:
    """A key's place as people write it."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _put(values: dict[str, Any], parts: list[str], text: str, variable: str) -> Path:
    spot: Any = values
    path: Path = ()
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        key: Any
        if isinstance(spot, list):
            key = _index(spot, part, variable)
        elif isinstance(spot, dict):
            key = _name(spot, part.replace("_", ".") if path[-1:] == ("client",) else part)
        else:
            place = dotted(path)
            raise ConfigError(f"environment variable {variable}: {place} holds one value, not keys; shorten the name")
        path = (*path, key)
        if last:
            spot[key] = text
        else:
            below: Any = spot[key] if not isinstance(spot, dict) else spot.get(key)
            if below is None:
                below = spot[key] = [] if _is_list(path) else {}
            spot = below
    return path


def _index(items: list[Any], part: str, variable: str) -> int:
    """Position in a list; the one after the last appends."""
    if not part.isdecimal() or int(part) > len(items):
        raise ConfigError(f"environment variable {variable}: {part!r} must be a position from 0 to {len(items)}")
    if int(part) == len(items):
        items.append(None)
    return int(part)


def _name(keys: Mapping[Any, Any], part: str) -> str:
    """Names are lower case, unless the file already spells the same name another way (a group's, say)."""
    same = [key for key in keys if isinstance(key, str) and key.lower() == part.lower()]
    return same[0] if same else part.lower()


def _is_list(path: Path) -> bool:
    """Whether the settings have a list at this place."""
    kind: Any = Settings
    for part in path:
        kind = _plain(_below(kind, part))
    return get_origin(kind) is tuple


def _below(kind: Any, part: str | int) -> Any:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return None if field is None else field.annotation
    match get_origin(kind), get_args(kind):
        case origin, (_, value) if origin is dict:
            return value
        case origin, (item, *_) if origin is tuple:
            return item
        case _:
            return None


def _plain(kind: Any) -> Any:
    """The type without what validates it, and without None."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
    return kind


def known_keys(place: Sequence[str | int]) -> list[str]:
    """The keys that may stand there. Positions in lists and names that the user chose are passed over."""
    sections: list[type[Section]] = [Settings]
    for part in place:
        fields = [section.model_fields[part] for section in sections if part in section.model_fields]
        if fields:
            sections = [found for field in fields for found in _sections(field.annotation)]
    return sorted({one.alias or key for section in sections for key, one in section.model_fields.items()})


def _sections(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections(inner)
