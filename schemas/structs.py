"""Layouts as data, compiled once per version into readers and writers.

A layout lists its fields in wire order; each line gives name, type, versions, nullability, tag and default. From it
come the reader, the writer (`struct_writers`) and (`json_form`) Kafka's JSON, so that the three can't disagree. Values
are mappings keyed by Kafka's field names: a field the version lacks is missing, a tagged field at its default is
missing, unknown tagged fields stand under `UNKNOWN_TAGS` as ((tag, bytes), …).

Readers make `Fields` and tuples, not dicts and lists: an element of three bytes is possible, and a dict takes more than
64 times that.

Read as Kafka's generated classes read: a known tagged field is read by its type and its announced size is not looked
at; tags may come in any order; what is left behind the last field is the caller's business.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, lru_cache
from struct import Struct as Packer
from typing import Any, TypeAlias, assert_never

from schemas import wire
from schemas.errors import LengthBeyondBuffer, Truncated, UnexpectedNull, UnsupportedVersion
from schemas.wire import Reader, Writer

UNKNOWN_TAGS = "unknown tags"
LATEST = 0x7FFF

Values: TypeAlias = dict[str, Any]


class Kind(Enum):
    """Primitive types."""

    INT8 = auto()
    INT16 = auto()
    UINT16 = auto()
    INT32 = auto()
    INT64 = auto()
    UUID = auto()
    STRING = auto()
    BYTES = auto()


@dataclass(frozen=True, slots=True)
class Array:
    """Elements of one type, counted."""

    of: "Type"


@dataclass(frozen=True, slots=True)
class Group:
    """A struct inside a layout."""

    fields: tuple["Field", ...]


Type: TypeAlias = Kind | Array | Group


# Major and minor number of a Kafka release.
Release: TypeAlias = tuple[int, int]
FIRST_RELEASE: Release = (0, 0)
LAST_RELEASE: Release = (0x7FFF, 0)


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a layout. `since`/`until` are versions, inclusive; `added`/`dropped` are the releases that brought
    and removed the field without a new version. `optional` fields end a Connect blob: they take `default` if no byte is
    left when they are reached. `apart` is a number that means something else than the others in an array of (name,
    numbers): `compiled` sorts the names that have it into a list of their own."""

    name: str
    type: Type
    since: int = 0
    until: int = LATEST
    nullable: bool = False
    tag: int | None = None
    default: Any = None
    optional: bool = False
    apart: int | None = None
    added: Release = FIRST_RELEASE
    dropped: Release = LAST_RELEASE


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A message: versions `oldest`..`newest`, the flexible encoding from `flexible_since` on.

    Compared by identity: the compiled readers are looked up for every record, and hashing a whole layout each time
    would cost more than reading the record.
    """

    name: str
    fields: tuple[Field, ...]
    oldest: int = 0
    newest: int = 0
    flexible_since: int = LATEST


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


@cache
def as_of(layout: Layout, release: Release) -> Layout:
    """The layout as the classes of `release` know it."""
    return replace(layout, fields=_fields_of(layout.fields, release))


def _fields_of(fields: tuple[Field, ...], release: Release) -> tuple[Field, ...]:
    return tuple(replace(f, type=_type_of(f.type, release)) for f in fields if f.added <= release < f.dropped)


def _type_of(type_: Type, release: Release) -> Type:
    match type_:
        case Kind():
            return type_
        case Array(of):
            return Array(_type_of(of, release))
        case Group(fields):
            return Group(_fields_of(fields, release))
        case _:
            assert_never(type_)


def present(fields: tuple[Field, ...], version: int) -> tuple[list[Field], list[Field]]:
    """The fields that `version` has: plain ones, tagged ones."""
    here = [f for f in fields if f.since <= version <= f.until]
    return [f for f in here if f.tag is None], [f for f in here if f.tag is not None]


# Reading


def _group_reader(fields: tuple[Field, ...], version: int, flexible: bool) -> Reader[Fields]:
    plain, tagged = present(fields, version)
    names = tuple(f.name for f in plain)
    steps = [(_field_reader(f, version, flexible), f.optional, f.default) for f in plain]
    tags = {f.tag: (f.name, _field_reader(f, version, flexible), _tag_default(f)) for f in tagged}

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


def _tag_default(field: Field) -> Any:
    """What a missing tag means: Kafka's zero value, also for nullable fields (an explicit null is a value)."""
    return _zero(field.type) if field.default is None else field.default


def _zero(type_: Type) -> Any:
    match type_:
        case Kind.STRING:
            return ""
        case Kind.BYTES:
            return b""
        case Kind.UUID:
            return bytes(16)
        case Kind():
            return 0
        case Array():
            return ()
        case Group(fields):
            return {f.name: _zero(f.type) for f in fields if f.tag is None}
        case _:
            assert_never(type_)


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
        return _int32s(count).unpack_from(buf, pos), end

    return read


@lru_cache(maxsize=256)
def _int32s(count: int) -> Packer:
    return Packer(f">{count}i")
