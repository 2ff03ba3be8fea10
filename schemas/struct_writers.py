"""Layouts compiled once per version into writers; the other half of `schemas.structs`."""

from collections.abc import Mapping
from functools import cache
from typing import Any, assert_never

from . import wire
from .errors import UnsupportedVersion
from .layouts import UNKNOWN_TAGS, Array, Field, Group, Kind, Layout, Type, present
from .structs import COMPACT, PLAIN
from .wire import Writer


@cache
def writer(layout: Layout, version: int) -> Writer[Mapping[str, Any]]:
    """The compiled writer of `layout` at `version`; raises UnsupportedVersion."""
    if not layout.oldest <= version <= layout.newest:
        raise UnsupportedVersion(version)
    return _group_writer(layout.fields, version, version >= layout.flexible_since)


def _group_writer(fields: tuple[Field, ...], version: int, flexible: bool) -> Writer[Mapping[str, Any]]:
    plain, tagged = present(fields, version)
    steps = [(f.name, _field_writer(f, version, flexible)) for f in plain]
    tags = sorted((f.tag or 0, f.name, _field_writer(f, version, flexible)) for f in tagged)

    def write(out: bytearray, values: Mapping[str, Any]) -> None:
        for name, write_field in steps:
            write_field(out, values[name])
        if flexible:
            _write_tags(out, values, tags)

    return write


def _write_tags(out: bytearray, values: Mapping[str, Any], tags: list[tuple[int, str, Writer[Any]]]) -> None:
    present: list[tuple[int, bytes]] = list(values.get(UNKNOWN_TAGS, ()))
    for tag, name, write_field in tags:
        if name in values:
            body = bytearray()
            write_field(body, values[name])
            present.append((tag, bytes(body)))
    wire.write_uvarint(out, len(present))
    for tag, raw in sorted(present):
        wire.write_uvarint(out, tag)
        wire.write_uvarint(out, len(raw))
        out += raw


def _field_writer(field: Field, version: int, flexible: bool) -> Writer[Any]:
    write = _type_writer(field.type, version, flexible)
    if isinstance(field.type, Group) and field.nullable:
        absent, present = (b"\xff", b"\x01") if field.tag is None else (b"\x00", b"\x01")

        def write_marked(out: bytearray, value: Any) -> None:
            out += absent if value is None else present
            if value is not None:
                write(out, value)

        return write_marked
    return write


def _type_writer(type_: Type, version: int, flexible: bool) -> Writer[Any]:
    match type_:
        case Kind():
            return (COMPACT if flexible else PLAIN)[type_][1]
        case Group(fields):
            return _group_writer(fields, version, flexible)
        case Array(of):
            return _array_writer(_type_writer(of, version, flexible), flexible)
        case _:
            assert_never(type_)


def _array_writer(element: Writer[Any], flexible: bool) -> Writer[Any]:
    def write(out: bytearray, values: Any) -> None:
        count = -1 if values is None else len(values)
        if flexible:
            wire.write_uvarint(out, count + 1)
        else:
            wire.write_int32(out, count)
        for value in values or ():
            element(out, value)

    return write
