"""Reads the YAML file: keys and values, each key once. Every damage of the file is one sentence."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from .section import ConfigError


class _Unique(yaml.SafeLoader):
    """YAML in which a key may stand only once: PyYAML would silently keep the last."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node; one that Python cannot hold (a 13th month, a number of 5,000 digits) is damage there."""
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, OverflowError) as why:
            raise yaml.MarkedYAMLError(problem=f"no such value ({why})", problem_mark=node.start_mark) from why


def _mapping(loader: _Unique, node: yaml.MappingNode) -> dict[Hashable, Any]:
    seen: set[Hashable] = set()
    for key_node, _ in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(problem="a key must be a single value", problem_mark=key_node.start_mark)
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Unique.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read(path: Path) -> dict[str, Any]:
    """The file's keys and values, none for an empty file. Raises ConfigError."""
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
        raise ConfigError(_line(path, why)) from None
    except RecursionError:
        raise ConfigError(f"{path}: the lists and mappings lie too deep within each other; correct the YAML") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        kind = type(values).__name__
        raise ConfigError(
            f"{path}: the file must hold keys and values, not a {kind}; see `rebalance-monitor config default`"
        )
    return values


def _line(path: Path, why: yaml.YAMLError) -> str:
    problem, place = "it is not YAML", ""
    if isinstance(why, yaml.MarkedYAMLError):
        problem = " ".join((why.problem or problem).split())
        if why.problem_mark is not None:
            place = f" line {why.problem_mark.line + 1}, column {why.problem_mark.column + 1}:"
    elif isinstance(why, yaml.reader.ReaderError):
        place = f" character {why.position + 1}:"
        problem = "a character that YAML does not allow"
    return f"{path}:{place} {problem}; correct the YAML there"
