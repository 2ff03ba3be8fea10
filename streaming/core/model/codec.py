"""Values <-> JSON text, for everything that crosses a process border or rests in the database.

The type annotations are the only declaration: a plan is compiled once per type. Dataclasses become objects keyed by
field name (fields at their default are left out, so adding a field with a default reads old text), members of a union
of dataclasses carry their class name under "$", bytes are base64, mappings with non-string keys are lists of pairs.

    dumps(Tick(5))           -> '{"now_ms":5}'
    loads(Tick, '{"now_ms":5}') == Tick(5)
"""

import base64
import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
DERIVED: Mapping[str, str] = MappingProxyType({"codec": "derived"})
"""Metadata of a field that is not written: whoever reads the value derives it again. It needs a default."""
Encode = Callable[[Any], Any]
Decode = Callable[[Any], Any]


class Plan(NamedTuple):
    """How one type is written and read."""

    encode: Encode
    decode: Decode


class CodecError(ValueError):
    """Text that does not hold a value of the wanted type."""


def dumps(value: object) -> str:
    """One line of JSON text; equal values give equal text."""
    return json.dumps(_plan(cast(Any, type(value))).encode(value), ensure_ascii=False, separators=(",", ":"))


def loads(cls: type[T], text: str | bytes) -> T:
    """The value written by `dumps`. Raises CodecError."""
    try:
        return cast(T, _plan(cast(Any, cls)).decode(json.loads(text)))
    except (KeyError, TypeError, ValueError, IndexError) as why:
        raise CodecError(f"not a {cls.__name__}: {type(why).__name__} {why}") from why


def _same(value: Any) -> Any:
    return value


@cache
def _plan(kind: Any) -> Plan:
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union_plan(args)
    if origin is tuple:
        return _tuple_plan(args)
    if origin in (frozenset, set):
        item = _plan(args[0])
        return Plan(
            lambda value: _ordered([item.encode(one) for one in value]),
            lambda raw: origin(item.decode(one) for one in raw),
        )
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_plan(*args)
    if not isinstance(kind, type):
        raise TypeError(f"no codec for {kind!r}")
    if is_dataclass(kind):
        return _dataclass_plan(kind)
    if issubclass(kind, Enum):
        return Plan(lambda value: value.value, kind)
    if kind is bytes:
        return Plan(lambda value: base64.b64encode(value).decode("ascii"), base64.b64decode)
    if kind in (str, int, float, bool, type(None)):
        return Plan(_same, _same)
    raise TypeError(f"no codec for {kind!r}")


def _ordered(items: list[Any]) -> list[Any]:
    """One order for a set's items whatever their types: strings first, then what sorts by itself, else by its text."""
    texts = sorted(one for one in items if isinstance(one, str))
    others = [one for one in items if not isinstance(one, str)]
    try:
        return texts + sorted(others)
    except TypeError:
        return texts + sorted(others, key=json.dumps)


def _dataclass_plan(kind: Any) -> Plan:
    hints = get_type_hints(kind)
    plan = [(f.name, _plan(hints[f.name]), _default(f)) for f in fields(kind) if f.metadata != DERIVED]

    def encode(value: Any) -> dict[str, Any]:
        out = {}
        for name, inner, default in plan:
            part = getattr(value, name)
            if default is MISSING or part != default:
                out[name] = inner.encode(part)
        return out

    def decode(raw: dict[str, Any]) -> Any:
        return kind(**{name: inner.decode(raw[name]) for name, inner, _ in plan if name in raw})

    return Plan(encode, decode)


def _default(declared: Any) -> Any:
    if declared.default_factory is not MISSING:
        return declared.default_factory()
    return declared.default


def _union_plan(args: tuple[Any, ...]) -> Plan:
    records = {one.__name__: one for one in args if isinstance(one, type) and is_dataclass(one)}
    plain = [one for one in args if one is not type(None) and one not in records.values()]
    if len(plain) == 2 and plain[0] is str and get_origin(plain[1]) is tuple and not records:
        items = _plan(plain[1])
        return Plan(
            lambda value: value if isinstance(value, str) else items.encode(value),
            lambda raw: raw if isinstance(raw, str) else items.decode(raw),
        )
    if len(plain) > 1 or (plain and records):
        raise TypeError(f"ambiguous union {args!r}")
    if plain:
        only = _plan(plain[0])
        return Plan(
            lambda value: None if value is None else only.encode(value),
            lambda raw: None if raw is None else only.decode(raw),
        )
    plans = {name: _plan(one) for name, one in records.items()}

    def encode(value: Any) -> Any:
        if value is None:
            return None
        name = type(value).__name__
        return {"$": name, **plans[name].encode(value)}

    def decode(raw: Any) -> Any:
        return None if raw is None else plans[raw["$"]].decode(raw)

    return Plan(encode, decode)


def _tuple_plan(args: tuple[Any, ...]) -> Plan:
    if len(args) == 2 and args[1] is Ellipsis:
        item = _plan(args[0])
        return Plan(
            lambda value: [item.encode(one) for one in value], lambda raw: tuple(item.decode(one) for one in raw)
        )
    parts = [_plan(one) for one in args]
    return Plan(
        lambda value: [part.encode(one) for part, one in zip(parts, value, strict=True)],
        lambda raw: tuple(part.decode(one) for part, one in zip(parts, raw, strict=True)),
    )


def _mapping_plan(key: Any, value: Any) -> Plan:
    inner = _plan(value)
    if key is str:
        return Plan(
            lambda one: {k: inner.encode(v) for k, v in one.items()},
            lambda raw: {k: inner.decode(v) for k, v in raw.items()},
        )
    keys = _plan(key)
    return Plan(
        lambda one: [[keys.encode(k), inner.encode(v)] for k, v in one.items()],
        lambda raw: {keys.decode(k): inner.decode(v) for k, v in raw},
    )
