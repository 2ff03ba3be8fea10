"""Whole records of `__consumer_offsets`, key and value, as a given release's classes read them or as best we can.

The layouts changed without new version numbers, so a reader either knows the writer's release, or tries the newest
layout first and accepts the one that consumes the value exactly.
"""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from . import wire
from .errors import SchemaError, unreadable
from .layouts import UNKNOWN_TAGS, Array, Field, Group, Kind, Layout, Release, Values, as_of
from .offsets_topic import RECORD_TYPES
from .outcomes import Decoded, Ignored, Outcome, Unreadable
from .record_layouts import KEYS, VALUES
from .structs import Fields, reader

NEWEST: Release = (4, 3)
# Tried in this order when the writer's release is not known: one release per set of layouts that share version 0.
LAYOUT_RELEASES: tuple[Release, ...] = (NEWEST, (4, 0), (3, 9), (3, 7))

_SHARE_AND_REGEX = frozenset(range(9, 17))
_SINCE_4_1 = frozenset({*range(9), *range(10, 18), *range(19, 24)})


def known_types(release: Release) -> frozenset[int]:
    """The record types that brokers of `release` can read."""
    if release < (4, 0):
        return frozenset(range(9))
    return frozenset(range(9)) | _SHARE_AND_REGEX if release < (4, 1) else _SINCE_4_1


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record. `fields` is None for a tombstone; `layout` and `version` say how they were read."""

    type: int
    name: str
    key: Values
    version: int | None
    layout: Layout
    fields: Fields | None
    key_remaining: int
    value_remaining: int

    @property
    def value(self) -> Values | None:
        """The value in Kafka's JSON form. Made when asked for: it is much larger than the bytes."""
        if self.fields is None or self.version is None:
            return None
        return json_form(self.layout.fields, self.version, self.fields)

    @property
    def unknown_tags(self) -> tuple[tuple[str, int, bytes], ...]:
        """(path, tag, bytes) of every tagged field that the layout doesn't know."""
        if self.fields is None or self.version is None:
            return ()
        return tuple(unknown_tags(self.layout.fields, self.version, self.fields))


def decode_record(key: bytes | None, value: bytes | None, release: Release | None = None) -> Outcome[Record]:
    """The record as brokers of `release` read it; without a release as the first layout that fits exactly."""
    if key is None:
        return Unreadable("null_key")
    try:
        type_, pos = wire.read_int16(key, 0)
        if type_ not in (VALUES if release is None else known_types(release)):
            return Ignored(f"unknown_type {type_}")
        key_layout, layout = KEYS[type_], VALUES[type_]
        key_fields, key_end = reader(key_layout, 0)(key, pos)
        version: int | None = None
        fields: Fields | None = None
        left = 0
        if value is not None:
            version, pos = wire.read_int16(value, 0)
            layout, fields, end = _value(layout, version, value, pos, release)
            left = len(value) - end
    except SchemaError as why:
        return unreadable(why)
    return Decoded(
        Record(
            type=type_,
            name=RECORD_TYPES[type_][0],
            key=json_form(key_layout.fields, 0, key_fields),
            version=version,
            layout=layout,
            fields=fields,
            key_remaining=len(key) - key_end,
            value_remaining=left,
        )
    )


def _value(layout: Layout, version: int, value: bytes, pos: int, release: Release | None) -> tuple[Layout, Fields, int]:
    """Layout, fields and end of the first reading that leaves nothing over, else of the newest that succeeds."""
    newest: Layout | None = None
    failure: SchemaError | None = None
    for candidate in LAYOUT_RELEASES if release is None else (release,):
        shape = as_of(layout, candidate)
        try:
            fields, end = reader(shape, version)(value, pos)
        except SchemaError as why:
            failure = failure or why
            continue
        if end == len(value):
            return shape, fields, end
        newest = newest or shape
        del fields  # two readings at a time would take twice the memory
    if newest is None:
        raise failure or SchemaError("no layout")
    return newest, *reader(newest, version)(value, pos)


def json_form(fields: tuple[Field, ...], version: int, values: Mapping[str, Any]) -> Values:
    """Kafka's JSON of a struct: uuids as text, bytes in base64, fields at a tagged default left out."""
    return {
        f.name: _json(f.type, version, values[f.name])
        for f in fields
        if f.since <= version <= f.until and f.name in values
    }


def _json(type_: Any, version: int, value: Any) -> Any:
    if value is None:
        return None
    match type_:
        case Kind.UUID:
            return urlsafe_b64encode(value).decode().rstrip("=")
        case Kind.BYTES:
            return b64encode(value).decode()
        case Kind():
            return value
        case Array(of):
            return [_json(of, version, element) for element in value]
        case Group(fields):
            return json_form(fields, version, value)
        case _:
            assert_never(type_)


def unknown_tags(
    fields: tuple[Field, ...], version: int, values: Mapping[str, Any], path: str = ""
) -> Iterator[tuple[str, int, bytes]]:
    """Tagged fields that the layout doesn't know, inner structs first, each with the path of its struct."""
    for field in fields:
        inner = values.get(field.name)
        here = f"{path}.{field.name}" if path else field.name
        match field.type:
            case Group(of) if inner is not None:
                yield from unknown_tags(of, version, inner, here)
            case Array(Group(of)):
                for index, element in enumerate(inner or ()):
                    yield from unknown_tags(of, version, element, f"{here}[{index}]")
            case _:
                continue
    for tag, raw in values.get(UNKNOWN_TAGS, ()):
        yield path, tag, raw
