"""Layouts as data: what Kafka's generated messages and Connect's blobs look like, version by version.

A layout lists its fields in wire order; each line gives name, type, versions, nullability, tag and default. From it
come the exact reader (`structs`), the writer (`struct_writers`), the fast readers (`compiled`, `fused`) and Kafka's
JSON (`coordinator_records`), so that none of them can disagree with another. A message whose second version brought a
nullable name and which later got a tagged field:

    Layout("Example", newest=1, flexible_since=1, fields=(
        Field("at", Kind.INT64),
        Field("name", Kind.STRING, since=1, nullable=True),
        Field("hash", Kind.INT64, since=1, tag=0, added=(4, 1)),
    ))
"""

from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache
from typing import Any, TypeAlias, assert_never

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


def tag_default(field: Field) -> Any:
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
