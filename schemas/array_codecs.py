"""Codecs of counted things: rows of numbers, with a name or without, and arrays of anything.

A row is a tuple of its numbers, with the name at the end if there is one. As long as no row of an array has a name, and
hardly ever one has, all rows have one size and are unpacked by a single call.
"""

from collections.abc import Sequence
from struct import Struct as Packer
from typing import Any

from .codecs import Codec, Name, Row, read_count
from .errors import NotInVersion, Truncated
from .source import Source
from .wire import INT32S

_INT32 = Packer(">i")


def row(*numbers: Codec, name: Name | None = None) -> Codec:
    head = Packer(">" + "".join(c.code for c in numbers))

    def read(buf: bytes, pos: int) -> tuple[Row, int]:
        if pos + head.size > len(buf):
            raise Truncated(pos, head.size)
        values, pos = head.unpack_from(buf, pos), pos + head.size
        if name is None:
            return values, pos
        text, pos = name.read(buf, pos)
        return (values if text is None else (*values, text)), pos

    def write(out: bytearray, values: Row) -> None:
        if name is None and len(values) > len(numbers):
            raise NotInVersion("a named topology")
        out += head.pack(*values[: len(numbers)])
        if name is not None:
            name.write(out, values[-1] if len(values) > len(numbers) else None)

    def emit(source: Source, target: str) -> None:
        columns = [source.variable(target) for _ in numbers]
        for column, codec in zip(columns, numbers, strict=True):
            source.number(codec.code, column)
        if name is not None:
            length = source.variable(f"length_of_{target}")
            source.number(name.code, length)
            source.after(f"if {length} != {int.from_bytes(name.absent, 'big', signed=True)}: raise GiveUp")
        source.after(f"{target} = ({', '.join(columns)})")

    return Codec(read, write, emit)


def rows(*numbers: Codec, name: Name | None = None) -> Codec:
    """Counted rows, as a tuple.

    While no row has a name all have the same size: they are unpacked at one go, and that the lengths of all names are
    those of none is seen by looking at every so many bytes.
    """
    codec = row(*numbers, name=name)
    size = Packer(">" + "".join(c.code for c in numbers)).size
    stride = size + len(name.absent if name else b"")
    unpack = Packer(">" + "".join(c.code for c in numbers) + f"{stride - size}x").iter_unpack

    def read(buf: bytes, pos: int) -> tuple[tuple[Row, ...], int]:
        count, pos = read_count(buf, pos, stride)
        found = []
        for _ in range(count):
            values, pos = codec.read(buf, pos)
            found.append(values)
        return tuple(found), pos

    def write(out: bytearray, values: Sequence[Row]) -> None:
        out += _INT32.pack(len(values))
        for each in values:
            codec.write(out, each)

    def emit(source: Source, target: str) -> None:
        count = source.length("I", target)
        source.add(f"part = buf{source.step(f'{stride} * {count}')}")
        for at, byte in enumerate(name.absent if name else b"", size):
            # The slice is compared with its own length, not the count's: an absurd count would make absurd bytes.
            source.add(f"if part[{at}::{stride}].strip({bytes([byte])!r}): raise GiveUp")
        source.add(f"{target} = tuple({source.constant(unpack)}(part))")

    return Codec(read, write, emit)


def _read_pairs(buf: bytes, pos: int) -> tuple[tuple[int, ...], int]:
    count, pos = read_count(buf, pos, 8)
    return INT32S[2 * count](buf, pos), pos + 8 * count


def _write_pairs(out: bytearray, values: Sequence[int]) -> None:
    out += _INT32.pack(len(values) // 2)
    out += Packer(f">{len(values)}i").pack(*values)


def _emit_pairs(source: Source, target: str) -> None:
    source.add(f"part = buf{source.step('8 * ' + source.length('I', target))}")
    source.add(f"{target} = {source.constant(INT32S)}[len(part) >> 2](part, 0)")


# Counted pairs of INT32, flat: first and second in turn. The longest arrays there are, so no tuple is made for each.
FLAT_PAIRS = Codec(_read_pairs, _write_pairs, _emit_pairs)


def array(*codecs: Codec, smallest: int, negative_is_empty: bool = False) -> Codec:
    """Counted elements of `smallest` bytes or more, as a tuple of tuples. Some readers take a negative count for
    none."""
    readers = tuple(c.read for c in codecs)
    writers = tuple(c.write for c in codecs)

    def read(buf: bytes, pos: int) -> tuple[tuple[Row, ...], int]:
        if negative_is_empty and pos + 4 <= len(buf) and buf[pos] >= 0x80:
            return (), pos + 4
        count, pos = read_count(buf, pos, smallest)
        found = []
        for _ in range(count):
            element = []
            for read_part in readers:
                value, pos = read_part(buf, pos)
                element.append(value)
            found.append(tuple(element))
        return tuple(found), pos

    def write(out: bytearray, values: Sequence[Row]) -> None:
        out += _INT32.pack(len(values))
        for row in values:
            for write_part, value in zip(writers, row, strict=True):
                write_part(out, value)

    def emit(source: Source, name: str) -> None:
        count = source.length("I", name)
        source.add(f"{name} = []")
        with source.block(f"for _ in range({count}):"):
            parts = [source.variable(f"{name}_{at}") for at in range(len(codecs))]
            for codec, part in zip(codecs, parts, strict=True):
                codec.emit(source, part)
            source.flush()
            source.add(f"{name}.append(({', '.join(parts)}))")
        source.add(f"{name} = tuple({name})")

    return Codec(read, write, emit)


def grouped_rows(key: Codec, *numbers: Codec) -> Codec:
    """Counted groups { key, rows }, flat: each row behind its key."""
    groups = array(key, rows(*numbers), smallest=8)
    packer = Packer(">" + "".join(c.code for c in numbers))
    columns = ", ".join("abcd"[: len(numbers)])

    def read(buf: bytes, pos: int) -> tuple[tuple[Row, ...], int]:
        found, end = groups.read(buf, pos)
        return tuple([(at, *values) for at, inner in found for values in inner]), end

    def write(out: bytearray, values: Sequence[Row]) -> None:
        by_key: dict[Any, list[Row]] = {}
        for at, *rest in values:
            by_key.setdefault(at, []).append(tuple(rest))
        groups.write(out, list(by_key.items()))

    def emit(source: Source, target: str) -> None:
        count, at = source.length("I", target), source.variable(f"{target}_key")
        source.add(f"{target} = []")
        with source.block(f"for _ in range({count}):"):
            key.emit(source, at)
            inner = source.length("I", target)
            each = f"{source.constant(packer.iter_unpack)}(buf{source.step(f'{packer.size} * {inner}')})"
            source.add(f"{target} += [({at}, {columns}) for {columns} in {each}]")
        source.add(f"{target} = tuple({target})")

    return Codec(read, write, emit)
