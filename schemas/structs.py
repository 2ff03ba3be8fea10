"""The exact reader: walks a layout field by field, names what is wrong with bad bytes, and knows every version.

Values are mappings keyed by Kafka's field names: a field the version lacks is missing, a tagged field at its default is
missing, unknown tagged fields stand under `UNKNOWN_TAGS` as ((tag, bytes), …).

Readers make `Fields` and tuples, not dicts and lists: an element of three bytes is possible, and a dict takes more than
64 times that.

Read as Kafka's generated classes read: a known tagged field is read by its type and its announced size is not looked
at; tags may come in any order; what is left behind the last field is the caller's business.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, assert_never

from . import wire
from .errors import LengthBeyondBuffer, Truncated, UnexpectedNull, UnsupportedVersion
from .layouts import UNKNOWN_TAGS, Array, Field, Group, Kind, Layout, Type, present, tag_default
from .wire import Reader, Writer


class Fields(Mapping[str, Any]):
    """A struct that was read: names shared by all structs of its kind, and its own values."""

    __slots__ = ("_names", "_values")

    def __init__(self, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
        self._names = names
        self._values = values

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[self._names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


@cache
def reader(layout: Layout, version: int) -> Reader[Fields]:
    """The compiled reader of `layout` at `version`; raises UnsupportedVersion."""
    if not layout.oldest <= version <= layout.newest:
        raise UnsupportedVersion(version)
    return _group_reader(layout.fields, version, version >= layout.flexible_since)


def _group_reader(fields: tuple[Field, ...], version: int, flexible: bool) -> Reader[Fields]:
    plain, tagged = present(fields, version)
    names = tuple(f.name for f in plain)
    steps = [(_field_reader(f, version, flexible), f.optional, f.default) for f in plain]
    tags = {f.tag: (f.name, _field_reader(f, version, flexible), tag_default(f)) for f in tagged}

    def read(buf: bytes, pos: int) -> tuple[Fields, int]:
        values = []
        for read_field, optional, default in steps:
            if optional and pos >= len(buf):
                values.append(default)
            else:
                value, pos = read_field(buf, pos)
                values.append(value)
        if flexible:
            found, pos = _read_tags(buf, pos, tags)
            if found:
                return Fields(_shared((*names, *found)), (*values, *found.values())), pos
        return Fields(names, tuple(values)), pos

    return read


@cache
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """One copy of each sequence of names; there are few, as unknown tags share a name."""
    return names


def _read_tags(
    buf: bytes, pos: int, known: Mapping[int | None, tuple[str, Reader[Any], Any]]
) -> tuple[dict[str, Any], int]:
    count, pos = wire.read_uvarint(buf, pos)
    found: dict[str, Any] = {}
    unknown = []
    for _ in range(count):  # a negative count is an empty loop, as in Java
        tag, pos = wire.read_uvarint(buf, pos)
        if tag in known:
            name, read_field, default = known[tag]
            _, pos = wire.read_uvarint(buf, pos)
            value, pos = read_field(buf, pos)
            if value == default:
                found.pop(name, None)
            else:
                found[name] = value
        else:
            raw, pos = wire.read_tagged(buf, pos)
            unknown.append((tag, raw))
    if unknown:
        found[UNKNOWN_TAGS] = tuple(unknown)
    return found, pos


def _field_reader(field: Field, version: int, flexible: bool) -> Reader[Any]:
    match field.type:
        case Group(fields):
            inner = _group_reader(fields, version, flexible)
            if not field.nullable:
                return inner
            return _marked(wire.read_int8, 0, inner) if field.tag is None else _marked(wire.read_uvarint, 1, inner)
        case _:
            read = _type_reader(field.type, version, flexible)
            return read if field.nullable or field.type in _FIXED else _required(read)


def _marked(read_marker: Reader[int], present_from: int, inner: Reader[Fields]) -> Reader[Fields | None]:
    def read(buf: bytes, pos: int) -> tuple[Fields | None, int]:
        marker, pos = read_marker(buf, pos)
        return (None, pos) if marker < present_from else inner(buf, pos)

    return read


def _required(read: Reader[Any]) -> Reader[Any]:
    def read_required(buf: bytes, pos: int) -> tuple[Any, int]:
        value, end = read(buf, pos)
        if value is None:
            raise UnexpectedNull(pos)
        return value, end

    return read_required


_FIXED: dict[Kind, tuple[Reader[Any], Writer[Any]]] = {
    Kind.INT8: (wire.read_int8, wire.write_int8),
    Kind.INT16: (wire.read_int16, wire.write_int16),
    Kind.UINT16: (wire.read_uint16, wire.write_uint16),
    Kind.INT32: (wire.read_int32, wire.write_int32),
    Kind.INT64: (wire.read_int64, wire.write_int64),
    Kind.UUID: (wire.read_uuid, wire.write_uuid),
}
PLAIN: dict[Kind, tuple[Reader[Any], Writer[Any]]] = {
    **_FIXED,
    Kind.STRING: (wire.read_nullable_string, wire.write_nullable_string),
    Kind.BYTES: (wire.read_nullable_bytes, wire.write_nullable_bytes),
}
COMPACT: dict[Kind, tuple[Reader[Any], Writer[Any]]] = {
    **_FIXED,
    Kind.STRING: (wire.read_nullable_compact_string, wire.write_nullable_compact_string),
    Kind.BYTES: (wire.read_nullable_compact_bytes, wire.write_nullable_compact_bytes),
}


def _type_reader(type_: Type, version: int, flexible: bool) -> Reader[Any]:
    match type_:
        case Kind():
            return (COMPACT if flexible else PLAIN)[type_][0]
        case Group(fields):
            return _group_reader(fields, version, flexible)
        case Array(Kind.INT32):
            return _int32s_reader(_count_reader(flexible))
        case Array(of):
            element = _type_reader(of, version, flexible)
            return _array_reader(_count_reader(flexible), element if isinstance(of, Group) else _required(element))
        case _:
            assert_never(type_)


def _count_reader(flexible: bool) -> Reader[int]:
    return wire.read_compact_length if flexible else wire.read_int32


def _array_reader(read_count: Reader[int], element: Reader[Any]) -> Reader[tuple[Any, ...] | None]:
    def read(buf: bytes, pos: int) -> tuple[tuple[Any, ...] | None, int]:
        count, pos = read_count(buf, pos)
        if count < 0:
            return None, pos
        if count > len(buf) - pos:  # every element takes at least one byte
            raise LengthBeyondBuffer(pos, count, len(buf) - pos)
        values = []
        for _ in range(count):
            value, pos = element(buf, pos)
            values.append(value)
        return tuple(values), pos

    return read


def _int32s_reader(read_count: Reader[int]) -> Reader[tuple[int, ...] | None]:
    def read(buf: bytes, pos: int) -> tuple[tuple[int, ...] | None, int]:
        count, pos = read_count(buf, pos)
        if count < 0:
            return None, pos
        end = pos + 4 * count
        if end > len(buf):
            raise Truncated(pos, 4 * count)
        return wire.INT32S[count](buf, pos), end

    return read
