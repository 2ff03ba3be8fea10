"""Values <-> JSON text, for everything that crosses a process border or rests in the database.

The type annotations are the only declaration: a plan is compiled once per type. Dataclasses become objects keyed by
field name (fields at their default are left out, so adding a field with a default reads old text), members of a union
of dataclasses carry their class name under "$", bytes are base64, mappings with non-string keys are lists of pairs.

A plan turns values into what JSON has, and back; the text is msgspec's. Of a dataclass the plan is a function written
for its fields, because a state consists of many small ones:

    def encode(value):                          def decode(raw):
        out = {}                                    return make(
        part = value.now_ms                             raw["now_ms"],
        if part is not d0 and part != d0:               d1 if (part := raw.get("historic", MISSING)) is MISSING
            out["now_ms"] = part                            else part,
        …                                           )
        return out

    dumps(Tick(5))           -> '{"now_ms":5}'
    loads(Tick, '{"now_ms":5}') == Tick(5)
"""

import base64
import json
import types
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from rebalance_monitor.schemas.frozen import maker, replace
from .derived import Derives

T = TypeVar("T")
KEPT: Mapping[str, str] = MappingProxyType({"codec": "kept"})
"""Metadata of a field of a value that is written and read in parts: see `loads_in_parts`. It needs a default."""
MOST_KEPT_BYTES = 16 * 1024 * 1024
"""How much text of kept parts is remembered with the values that it says, which take about eight times as much."""
DERIVED: Mapping[str, str] = MappingProxyType({"codec": "derived"})
"""Metadata of a field that is not written: whoever reads the value derives it again. It needs a default."""
Encode = Callable[[Any], Any]
Decode = Callable[[Any], Any]


class Plan(NamedTuple):
    """How one type is written and read."""

    encode: Encode
    decode: Decode


class Form(NamedTuple):
    """A form of JSON: how it shows dataclasses, and unions. Everything else looks alike in all forms."""

    of_dataclass: Callable[[Any], Plan]
    of_union: Callable[[tuple[Any, ...]], Plan]


class CodecError(ValueError):
    """Text that does not hold a value of the wanted type."""


def dumps(value: object) -> str:
    """One line of JSON text; equal values give equal text."""
    return plain_text(plan_of(cast(Any, type(value)), STORED).encode(value))


def plain_text(plain: Any) -> str:
    """One line of JSON text of a tree of what JSON has; half a surrogate pair in it stays what it is."""
    try:
        return msgspec.json.encode(plain).decode()
    except (UnicodeEncodeError, OverflowError):  # half a surrogate pair in somebody's text, or more than 64 bits
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), default=_plain)


def loads(cls: type[T], text: str | bytes) -> T:
    """The value written by `dumps`. Raises CodecError."""
    try:
        return cast(T, plan_of(cast(Any, cls), STORED).decode(_plain(text)))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as why:
        raise CodecError(f"not a {cls.__name__}: {type(why).__name__} {why}") from why


def _plain(text: str | bytes | msgspec.Raw) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return json.loads(bytes(text) if isinstance(text, msgspec.Raw) else text)


def dumps_in_parts(value: object, owner: Hashable) -> str:
    """What `dumps` writes. Of each owner the values of fields that are KEPT are remembered with their text, until it
    has others."""
    kind: Any = type(value)
    plain = plan_of(kind, STORED).encode(value)
    for name in _kept_fields(kind):
        if name in plain:
            with suppress(UnicodeEncodeError, OverflowError):
                text = msgspec.json.encode(plain[name])
                _PARTS.remember((owner, kind, name), text, getattr(value, name))
                plain[name] = msgspec.Raw(text)
    return plain_text(plain)


def loads_in_parts(cls: type[T], text: str, owner: Hashable) -> T:
    """What `loads` reads; a field that is KEPT is the value that the owner had last, if that has the same text and is
    remembered. So such values must never change. Raises CodecError."""
    try:
        raws = _SPLIT.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return loads(cls, text)
    kept = {name: bytes(raws.pop(name)) for name in _kept_fields(cast(Any, cls)) if name in raws}
    known = {name: _PARTS.known((owner, cls, name), part) for name, part in kept.items()}
    new = {name: part for name, part in kept.items() if known[name] is None}
    try:
        plain = {name: _plain(raw) for name, raw in (raws | new).items()}
        value = cast(T, plan_of(cast(Any, cls), STORED).decode(plain))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as why:
        raise CodecError(f"not a {cls.__name__}: {type(why).__name__} {why}") from why
    for name, part in new.items():
        _PARTS.remember((owner, cls, name), part, getattr(value, name))
    return cast(T, replace(cast(Any, value), **{name: part for name, part in known.items() if part is not None}))


class _Parts:
    """The last value of each part with its text, those that were used last."""

    def __init__(self, most_bytes: int) -> None:
        self._values: OrderedDict[Hashable, tuple[bytes, Any]] = OrderedDict()
        self._most_bytes, self._bytes = most_bytes, 0

    def known(self, part: Hashable, text: bytes) -> Any:
        """The value; None if it is not remembered, or had another text."""
        if part not in self._values:
            return None
        self._values.move_to_end(part)
        last, value = self._values[part]
        return value if last == text else None

    def remember(self, part: Hashable, text: bytes, value: object) -> None:
        last, _ = self._values.pop(part, (b"", None))
        self._bytes += len(text) - len(last)
        self._values[part] = text, value
        while self._bytes > self._most_bytes:
            _, (oldest, _) = self._values.popitem(last=False)
            self._bytes -= len(oldest)

    def forget(self) -> None:
        """Every part is read anew."""
        self._values.clear()
        self._bytes = 0


_PARTS = _Parts(MOST_KEPT_BYTES)
forget_parts = _PARTS.forget
_SPLIT = msgspec.json.Decoder(dict[str, msgspec.Raw])


@cache
def _kept_fields(kind: Any) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.metadata == KEPT)


def _same(value: Any) -> Any:
    return value


TEXT = "text"
"""Under which a value remembers its text."""
AS_IT_IS = Plan(_same, _same)
"""What JSON has by itself."""


@cache
def plan_of(kind: Any, form: Form) -> Plan:
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return form.of_union(args)
    if origin is tuple:
        return _tuple_plan(args, form)
    if origin in (frozenset, set):
        item = plan_of(args[0], form)
        write, read = item
        if item == AS_IT_IS:
            return Plan(_ordered, origin)
        return Plan(
            lambda value: _ordered([write(one) for one in value]), lambda raw: origin([read(one) for one in raw])
        )
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_plan(args[0], args[1], form)
    if not isinstance(kind, type):
        raise TypeError(f"no codec for {kind!r}")
    if is_dataclass(kind):
        return form.of_dataclass(kind)
    if issubclass(kind, Enum):
        return Plan(lambda value: value.value, kind)
    if kind is bytes:
        return Plan(lambda value: base64.b64encode(value).decode("ascii"), base64.b64decode)
    if kind in (str, int, float, bool, type(None)):
        return AS_IT_IS
    raise TypeError(f"no codec for {kind!r}")


def _ordered(items: Collection[Any]) -> list[Any]:
    """One order for a set's items whatever their types: strings first, then what sorts by itself, else by its text."""
    texts = sorted(one for one in items if isinstance(one, str))
    others = [one for one in items if not isinstance(one, str)]
    try:
        return texts + sorted(others)
    except TypeError:
        return texts + sorted(others, key=json.dumps)


def _dataclass_plan(kind: Any) -> Plan:
    write, read = plan = _fields_plan(kind)
    return Plan(partial(_written_once, write), read) if issubclass(kind, Derives) else plan


def _written_once(write: Encode, value: Derives) -> Any:
    """The text of the value, made once for each value."""
    known = value.__dict__
    if TEXT not in known:
        plain = write(value)
        try:
            known[TEXT] = msgspec.Raw(msgspec.json.encode(plain))
        except (UnicodeEncodeError, OverflowError):
            return plain
    return known[TEXT]


@cache
def _fields_plan(kind: Any) -> Plan:
    hints = get_type_hints(kind)
    parts = []
    for one in fields(kind):
        derived = one.metadata == DERIVED
        plan = AS_IT_IS if derived else plan_of(hints[one.name], STORED)
        parts.append(Slot(one, f"value.{one.name}", one.name, plan, written=not derived))
    return compiled(kind, parts)


class Slot(NamedTuple):
    """One value in the source of a dataclass's plan. `declared`: the field that it is read into, None for a value that
    is only written. `source`: the expression for it, `key`: its name in the object. A value that is not `written` is at
    its default where nobody gives it; one at its default is left out unless `always`."""

    declared: Any
    source: str
    key: str
    plan: Plan
    written: bool = True
    always: bool = False

    @property
    def default(self) -> Any:
        """MISSING for a field without one; None for a value that is no field."""
        if self.declared is None:
            return None
        return self.declared.default if self.declared.default_factory is MISSING else self.declared.default_factory()

    def scope(self, mark: int) -> dict[str, Any]:
        """What the source refers to, each name with the mark of this part."""
        fresh = None if self.declared is None else self.declared.default_factory
        values = {"encode": self.plan.encode, "decode": self.plan.decode, "default": self.default, "fresh": fresh}
        return {f"{name}_{mark}": value for name, value in values.items()}

    def encode_lines(self, mark: int) -> list[str]:
        """Statements that put the value into `out`."""
        if not self.written:
            return []
        call = "" if self.plan.encode is _same else f"encode_{mark}"
        if self.always or self.default is MISSING:
            return [f'    out["{self.key}"] = {call}({self.source})']
        put, default = f'out["{self.key}"] = {call}(part)', f"default_{mark}"
        return [f"    part = {self.source}", f"    if part is not {default} and part != {default}:", f"        {put}"]

    def decoded(self, mark: int) -> str:
        fresh = f"fresh_{mark}()" if self.declared.default_factory is not MISSING else f"default_{mark}"
        call = "" if self.plan.decode is _same else f"decode_{mark}"
        if self.default is MISSING:
            return f'{call}(raw["{self.key}"])'
        return f'{call}(part) if (part := raw.get("{self.key}", MISSING)) is not MISSING else {fresh}'


def compiled(
    kind: Any, parts: Sequence[Slot], head: Mapping[str, str] | None = None, names: Sequence[str] = ()
) -> Plan:
    """The plan of a dataclass, as functions written for these parts. `head`: what each object begins with; `names`: of
    the value's attributes that sources refer to without `value`."""
    # A frozen class sets each field with care; its maker does not have to.
    quick = "__slots__" in vars(kind) and kind.__dataclass_params__.frozen and not hasattr(kind, "__post_init__")
    scope: dict[str, Any] = {"make": maker(kind) if quick else kind, "MISSING": MISSING}
    for mark, part in enumerate(parts):
        scope |= part.scope(mark)
    lines = ["def encode(value):", f"    out = {head or {}!r}", *(f"    {name} = value.{name}" for name in names)]
    lines += [line for mark, part in enumerate(parts) for line in part.encode_lines(mark)]
    lines += ["    return out", "def decode(raw):", "    return make("]
    lines += [
        f"        {'' if quick else part.declared.name + '='}{part.decoded(mark)},"
        for mark, part in enumerate(parts)
        if part.declared is not None
    ]
    exec(compile("\n".join([*lines, "    )"]), f"<codec of {kind.__name__}>", "exec"), scope)
    return Plan(scope["encode"], scope["decode"])


def _union_plan(args: tuple[Any, ...]) -> Plan:
    records = {one.__name__: one for one in args if isinstance(one, type) and is_dataclass(one)}
    words = [one for one in args if isinstance(one, type) and issubclass(one, Enum)]
    if len(words) == 1 and records:
        return _words_or_records(words[0], args)
    plain = [one for one in args if one is not type(None) and one not in records.values()]
    if len(plain) == 2 and plain[0] is str and get_origin(plain[1]) is tuple and not records:
        write, read = plan_of(plain[1], STORED)
        return Plan(
            lambda value: value if isinstance(value, str) else write(value),
            lambda raw: raw if isinstance(raw, str) else read(raw),
        )
    if len(plain) > 1 or (plain and records):
        raise TypeError(f"ambiguous union {args!r}")
    if plain:
        only = plan_of(plain[0], STORED)
        write, read = only
        if only == AS_IT_IS:
            return AS_IT_IS
        return Plan(
            lambda value: None if value is None else write(value), lambda raw: None if raw is None else read(raw)
        )
    plans = {name: _fields_plan(one) for name, one in records.items()}

    def encode(value: Any) -> Any:
        if value is None:
            return None
        name = type(value).__name__
        return {"$": name, **plans[name].encode(value)}

    def decode(raw: Any) -> Any:
        return None if raw is None else plans[raw["$"]].decode(raw)

    return Plan(encode, decode)


def _words_or_records(words: type[Enum], args: tuple[Any, ...]) -> Plan:
    """A member of an enumeration, or what stands for one that this release does not know."""
    others = _union_plan(tuple(one for one in args if one is not words))
    return Plan(
        lambda value: value.value if isinstance(value, words) else others.encode(value),
        lambda raw: others.decode(raw) if raw is None or isinstance(raw, dict) else words(raw),
    )


def _tuple_plan(args: tuple[Any, ...], form: Form) -> Plan:
    if len(args) == 2 and args[1] is Ellipsis:
        item = plan_of(args[0], form)
        write, read = item
        if item == AS_IT_IS:
            return Plan(list, tuple)
        return Plan(lambda value: [write(one) for one in value], lambda raw: tuple([read(one) for one in raw]))
    parts, count = [plan_of(one, form) for one in args], len(args)

    def sized(raw: Any) -> tuple[Any, ...]:
        if len(raw) != count:
            raise ValueError(f"{len(raw)} values for {count}")
        return tuple(raw)

    if all(part == AS_IT_IS for part in parts):
        return Plan(list, sized)
    return Plan(
        lambda value: [part.encode(one) for part, one in zip(parts, value, strict=True)],
        lambda raw: tuple([part.decode(one) for part, one in zip(parts, raw, strict=True)]),
    )


def _mapping_plan(key: Any, value: Any, form: Form) -> Plan:
    write, read = plan_of(value, form)
    if key is str:
        if write is _same:
            return Plan(dict, dict)
        return Plan(lambda one: {k: write(v) for k, v in one.items()}, lambda raw: {k: read(v) for k, v in raw.items()})
    write_key, read_key = plan_of(key, form)
    return Plan(
        lambda one: [[write_key(k), write(v)] for k, v in one.items()],
        lambda raw: {read_key(k): read(v) for k, v in raw},
    )


STORED = Form(_dataclass_plan, _union_plan)
"""What `dumps` writes: fields at their default left out, members of a union by their class name under "$"."""
