"""Building blocks for hand-written payloads.

`schemas.structs` describes what Kafka generates. Kafka Streams wrote its assignment by hand, with texts that exist
nowhere else and long arrays of small fixed-size rows. A codec reads and writes one such thing, and can put its lines
into a compiled reader (`schemas.hand_written`), which is where the speed comes from: adjacent numbers are unpacked by
one call, and so are all rows of an array.

`read` is exact: it checks every length and says what is wrong. `emit` is an optimist: see `hand_written`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct as Packer
from typing import Any, TypeAlias

from schemas import wire
from schemas.compiled import int32s
from schemas.errors import LengthBeyondBuffer, NotInVersion, TooLong, Truncated, UnexpectedNull
from schemas.java_text import (
    decode_modified_utf8,
    decode_utf8,
    decode_utf16,
    encode_modified_utf8,
    encode_utf8,
    encode_utf16,
)
from schemas.source import Source
from schemas.wire import Reader, Writer

Row: TypeAlias = tuple[Any, ...]
# Adds the lines that read one thing: into which source, into which variable.
Emit: TypeAlias = Callable[[Source, str], None]

MAX_MODIFIED_UTF8_BYTES = 0xFFFF
_UINT16, _INT32 = Packer(">H"), Packer(">i")


@dataclass(frozen=True, slots=True, eq=False)
class Codec:
    """Reader and writer of one thing. `code` is the letter of a number, or of the length in front of a text."""

    read: Reader[Any]
    write: Writer[Any]
    emit: Emit
    code: str = ""


def _number(code: str, read: Reader[Any], write: Writer[Any]) -> Codec:
    return Codec(read, write, lambda source, name: source.number(code, name), code)


INT8 = _number("b", wire.read_int8, wire.write_int8)
INT32 = _number("i", wire.read_int32, wire.write_int32)
INT64 = _number("q", wire.read_int64, wire.write_int64)
UUID = _number("16s", wire.read_uuid, wire.write_uuid)


def _count(buf: bytes, pos: int, smallest: int) -> tuple[int, int]:
    """Number of elements, each of at least `smallest` bytes: more than what is left can hold is refused here."""
    if pos + 4 > len(buf):
        raise Truncated(pos, 4)
    count = _INT32.unpack_from(buf, pos)[0]
    if count < 0:
        raise UnexpectedNull(pos)
    pos += 4
    if count * smallest > len(buf) - pos:
        raise LengthBeyondBuffer(pos, count, len(buf) - pos)
    return count, pos


# Texts


def _read_utf8(buf: bytes, pos: int) -> tuple[str, int]:
    length, pos = _count(buf, pos, 1)
    return decode_utf8(buf[pos : pos + length]), pos + length


def _write_utf8(out: bytearray, text: str) -> None:
    wire.write_nullable_bytes(out, encode_utf8(text))


def _read_modified_utf8(buf: bytes, pos: int) -> tuple[str, int]:
    start = pos + 2
    if start > len(buf):
        raise Truncated(pos, 2)
    length = _UINT16.unpack_from(buf, pos)[0]
    end = start + length
    if end > len(buf):
        raise LengthBeyondBuffer(start, length, len(buf) - start)
    return decode_modified_utf8(buf[start:end]), end


def _write_modified_utf8(out: bytearray, text: str | None) -> None:
    if text is None:
        raise NotInVersion("a topic without name")
    raw = encode_modified_utf8(text)
    if len(raw) > MAX_MODIFIED_UTF8_BYTES:
        raise TooLong(len(raw))
    out += _UINT16.pack(len(raw))
    out += raw


def _emit_text(code: str, decode: Callable[[bytes], str]) -> Emit:
    def emit(source: Source, name: str) -> None:
        raw = source.step(source.length(code, name))
        source.add(f"{name} = text{raw}")
        source.add(f"if not {name}.isascii(): {name} = {source.constant(decode)}(buf{raw})")

    return emit


# Bytes of a UTF-8 text behind a 32-bit length.
UTF8 = Codec(_read_utf8, _write_utf8, _emit_text("I", decode_utf8))
# What Java's DataInput.readUTF reads: an unsigned 16-bit number of bytes, then "modified" UTF-8.
MODIFIED_UTF8 = Codec(_read_modified_utf8, _write_modified_utf8, _emit_text("H", decode_modified_utf8))


# Names: texts that stand for "none" when empty, as they nearly always are


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A text at the end of a row. `code` is the letter of its length, `absent` how Kafka writes none."""

    read: Reader[str | None]
    write: Writer[str | None]
    code: str
    absent: bytes


def _read_chars(buf: bytes, pos: int) -> tuple[str | None, int]:
    if pos + 4 > len(buf):
        raise Truncated(pos, 4)
    units, pos = _INT32.unpack_from(buf, pos)[0], pos + 4
    if units <= 0:  # Kafka counts up to the number: a negative one is an empty loop
        return None, pos
    end = pos + 2 * units
    if end > len(buf):
        raise LengthBeyondBuffer(pos, units, len(buf) - pos)
    return decode_utf16(buf[pos:end]), end


def _write_chars(out: bytearray, text: str | None) -> None:
    raw = encode_utf16(text or "")
    out += _INT32.pack(len(raw) // 2)
    out += raw


def _read_name(buf: bytes, pos: int) -> tuple[str | None, int]:
    text, pos = wire.read_nullable_string(buf, pos)
    return text or None, pos


# UTF-16 units behind their number, and Kafka's nullable string.
CHARS = Name(_read_chars, _write_chars, "i", bytes(4))
NAME = Name(_read_name, wire.write_nullable_string, "h", b"\xff\xff")


# Rows: numbers, and perhaps a name; a tuple of the numbers, with the name at the end if there is one


def row(*numbers: Codec, name: Name | None = None) -> Codec:
    """One row."""
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
    one = row(*numbers, name=name)
    size = Packer(">" + "".join(c.code for c in numbers)).size
    stride = size + len(name.absent if name else b"")
    unpack = Packer(">" + "".join(c.code for c in numbers) + f"{stride - size}x").iter_unpack

    def read(buf: bytes, pos: int) -> tuple[tuple[Row, ...], int]:
        count, pos = _count(buf, pos, stride)
        found = []
        for _ in range(count):
            values, pos = one.read(buf, pos)
            found.append(values)
        return tuple(found), pos

    def write(out: bytearray, values: Sequence[Row]) -> None:
        out += _INT32.pack(len(values))
        for each in values:
            one.write(out, each)

    def emit(source: Source, target: str) -> None:
        count = source.length("I", target)
        source.add(f"part = buf{source.step(f'{stride} * {count}')}")
        for at, byte in enumerate(name.absent if name else b"", size):
            # The slice is compared with its own length, not the count's: an absurd count would make absurd bytes.
            source.add(f"if part[{at}::{stride}].strip({bytes([byte])!r}): raise GiveUp")
        source.add(f"{target} = tuple({source.constant(unpack)}(part))")

    return Codec(read, write, emit)


def _read_pairs(buf: bytes, pos: int) -> tuple[tuple[int, ...], int]:
    count, pos = _count(buf, pos, 8)
    return int32s(2 * count)(buf, pos), pos + 8 * count


def _write_pairs(out: bytearray, values: Sequence[int]) -> None:
    out += _INT32.pack(len(values) // 2)
    out += Packer(f">{len(values)}i").pack(*values)


def _emit_pairs(source: Source, target: str) -> None:
    source.add(f"part = buf{source.step('8 * ' + source.length('I', target))}")
    source.add(f"{target} = {source.constant(int32s)}(len(part) >> 2)(part, 0)")


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
        count, pos = _count(buf, pos, smallest)
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
        with source.loop(f"for _ in range({count}):"):
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
        with source.loop(f"for _ in range({count}):"):
            key.emit(source, at)
            inner = source.length("I", target)
            each = f"{source.constant(packer.iter_unpack)}(buf{source.step(f'{packer.size} * {inner}')})"
            source.add(f"{target} += [({at}, {columns}) for {columns} in {each}]")
        source.add(f"{target} = tuple({target})")

    return Codec(read, write, emit)
