"""Reads the configuration: defaults < YAML file < environment. Every mistake becomes one line a user can act on.

A variable `REBALANCE_MONITOR__DATABASE__DSN` sets the key `database.dsn`; `REBALANCE_MONITOR__CLUSTERS__0__NAME` sets
`name` of the first cluster. Below `client`, `SASL_PASSWORD` stands for `sasl.password`, because a shell allows no dots
in a name. Lists and mappings may be given whole, as JSON.
"""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from streaming.config.settings import Settings

PREFIX = "REBALANCE_MONITOR__"
LISTS = {
    ("clusters",), ("alerting", "alertmanagers"), ("alerting", "webhooks"), ("owners",), ("maintenance",),
    ("page", "tokens"), ("metrics", "ignored_groups"), ("metrics", "worker_rewrite"),
}  # fmt: skip
Origins = dict[tuple[str | int, ...], str]


class ConfigError(Exception):
    """The configuration can't be used. The text says where, what is wrong and what to do; one problem a line."""


def load(path: str | Path | None, env: Mapping[str, str]) -> Settings:
    """Settings from defaults, then the file at `path` (None: no file), then the variables in `env`."""
    where = "configuration" if path is None else str(path)
    values = {} if path is None else _read(Path(path))
    origins = _overlay(values, env)
    try:
        return Settings.model_validate(values)
    except ValidationError as why:
        lines = [_line(dict(problem), where, origins) for problem in why.errors(include_url=False)]
        raise ConfigError("\n".join(dict.fromkeys(lines))) from None


class _Unique(yaml.SafeLoader):
    """YAML in which a key may stand only once: PyYAML would silently keep the last."""


def _mapping(loader: _Unique, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
    seen: set[Hashable] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Unique.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; give the path of a YAML file with --config") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the file is not UTF-8 text; save it as UTF-8") from None
    except OSError as why:
        raise ConfigError(f"{path}: the file can't be read ({why.strerror}); check its path and permissions") from None
    try:
        values = yaml.load(text, Loader=_Unique)
    except yaml.YAMLError as why:
        raise ConfigError(_yaml_line(path, why)) from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        kind = type(values).__name__
        raise ConfigError(f"{path}: the file must hold keys and values, not a {kind}; see conf/default.yaml")
    return values


def _yaml_line(path: Path, why: yaml.YAMLError) -> str:
    problem, place = "it is not YAML", ""
    if isinstance(why, yaml.MarkedYAMLError):
        problem = " ".join((why.problem or problem).split())
        if why.problem_mark is not None:
            place = f" line {why.problem_mark.line + 1}, column {why.problem_mark.column + 1}:"
    return f"{path}:{place} {problem}; correct the YAML there"


def _overlay(values: dict[str, Any], env: Mapping[str, str]) -> Origins:
    """Sets each variable's value in place; returns which key path came from which variable."""
    origins: Origins = {}
    for variable in sorted(name for name in env if name.upper().startswith(PREFIX)):
        parts = variable[len(PREFIX) :].split("__")
        if not all(parts):
            shape = f"{PREFIX}SECTION__KEY"
            raise ConfigError(f"environment variable {variable}: a part of the name is empty; write {shape}")
        origins[_put(values, parts, env[variable], variable)] = variable
    return origins


def _put(values: dict[str, Any], parts: list[str], text: str, variable: str) -> tuple[str | int, ...]:
    spot: Any = values
    path: list[str | int] = []
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        key: Any
        if isinstance(spot, list):
            key = _index(spot, part, variable)
        elif isinstance(spot, dict):
            key = _name(spot, part.replace("_", ".") if path[-1:] == ["client"] else part)
        else:
            place = _dotted(path)
            raise ConfigError(f"environment variable {variable}: {place} holds one value, not keys; shorten the name")
        path.append(key)
        if last:
            spot[key] = text
        else:
            below: Any = spot[key] if not isinstance(spot, dict) else spot.get(key)
            if below is None:
                below = spot[key] = [] if tuple(path) in LISTS else {}
            spot = below
    return tuple(path)


def _index(items: list[Any], part: str, variable: str) -> int:
    """Position in a list; the one after the last appends."""
    if not part.isdecimal() or int(part) > len(items):
        raise ConfigError(f"environment variable {variable}: {part!r} must be a position from 0 to {len(items)}")
    if int(part) == len(items):
        items.append({})
    return int(part)


def _name(keys: Mapping[Any, Any], part: str) -> str:
    """Names are lower case, unless the file already spells the same name another way (a group's, say)."""
    same = [key for key in keys if isinstance(key, str) and key.lower() == part.lower()]
    return same[0] if same else part.lower()


def _dotted(path: list[str | int] | tuple[str | int, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


_ADVICE = {
    "extra_forbidden": ("this key is unknown", "remove it or correct its spelling (conf/default.yaml lists every key)"),
    "missing": ("this key is missing", "add it"),
}


def _line(problem: Mapping[str, Any], where: str, origins: Origins) -> str:
    path = tuple(problem["loc"])
    came_from = [origins[path[:n]] for n in range(len(path), 0, -1) if path[:n] in origins]
    if not came_from and problem["type"] == "extra_forbidden":
        came_from = [name for key, name in origins.items() if key[: len(path)] == path]
    source = f"environment variable {came_from[0]}" if came_from else where
    message = str(problem["msg"]).removeprefix("Value error, ")
    what, to_do = _ADVICE.get(problem["type"], (message[:1].lower() + message[1:], "correct the value"))
    if problem["type"] == "string_pattern_mismatch":
        what, to_do = "the value has the wrong form", f"it must match {problem['ctx']['pattern']}"
    key = f"{_dotted(path)}: " if path else ""
    return f"{source}: {key}{what}; {to_do}" if ";" not in what else f"{source}: {key}{what}"
