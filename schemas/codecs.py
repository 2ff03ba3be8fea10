"""Building blocks for hand-written payloads, and layouts made of them.

`schemas.structs` describes what Kafka generates. Kafka Streams wrote its assignment by hand, with texts that exist
nowhere else and long arrays of small fixed-size rows. A codec is a reader and a writer of one such thing; a layout is
a list of lines, each a name and a codec with the versions (and releases) that have it, compiled once per version.
Adjacent numbers of a layout, and the rows of an array, are unpacked in one call each: that is where the time goes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from struct import Struct as Packer
from typing import Any, TypeAlias

from schemas import wire
from schemas.errors import LengthBeyondBuffer, NotInVersion, TooLong, Truncated, UnexpectedNull, UnsupportedVersion
from schemas.java_text import decode_modified_utf8, decode_utf16, encode_modified_utf8, encode_utf16
from schemas.structs import FIRST_RELEASE, LAST_RELEASE, Release, Values
from schemas.wire import Reader, Writer

Row: TypeAlias = tuple[Any, ...]

MAX_MODIFIED_UTF8_BYTES = 0xFFFF
_INT16, _UINT16, _INT32 = Packer(">h"), Packer(">H"), Packer(">i")


@dataclass(frozen=True, slots=True, eq=False)
class Codec:
    """Reader and writer of one thing. `code` is its letter in a `struct` format if its size is fixed."""

    read: Reader[Any]
    write: Writer[Any]
    code: str = ""


INT8 = Codec(wire.read_int8, wire.write_int8, "b")
INT32 = Codec(wire.read_int32, wire.write_int32, "i")
INT64 = Codec(wire.read_int64, wire.write_int64, "q")
UUID = Codec(wire.read_uuid, wire.write_uuid, "16s")


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


# Bytes and texts


def _read_bytes(buf: bytes, pos: int) -> tuple[bytes, int]:
    length, pos = _count(buf, pos, 1)
    return buf[pos : pos + length], pos + length


BYTES = Codec(_read_bytes, wire.write_nullable_bytes)


def _read_modified_utf8(buf: bytes, pos: int) -> tuple[str, int]:
    start = pos + 2
    if start > len(buf):
        raise Truncated(pos, 2)
    length = _UINT16.unpack_from(buf, pos)[0]
    end = start + length
    if end > len(buf):
        raise LengthBeyondBuffer(start, length, len(buf) - start)
    return decode_modified_utf8(buf[start:end]), end


def _write_modified_utf8(out: bytearray, text: str) -> None:
    raw = encode_modified_utf8(text)
    if len(raw) > MAX_MODIFIED_UTF8_BYTES:
        raise TooLong(len(raw))
    out += _UINT16.pack(len(raw))
    out += raw


# What Java's DataInput.readUTF reads: an unsigned 16-bit number of bytes, then "modified" UTF-8.
MODIFIED_UTF8 = Codec(_read_modified_utf8, _write_modified_utf8)


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


# Texts that name nothing when empty: UTF-16 units behind their number, and Kafka's nullable string.
CHARS = Codec(_read_chars, _write_chars, "i")
NAME = Codec(_read_name, wire.write_nullable_string, "h")


# Arrays


def rows(*codecs: Codec) -> Codec:
    """Counted elements of fixed size, as a list of tuples."""
    packer = Packer(">" + "".join(c.code for c in codecs))
    size, unpack, pack = packer.size, packer.iter_unpack, packer.pack

    def read(buf: bytes, pos: int) -> tuple[list[Row], int]:
        count, pos = _count(buf, pos, size)
        end = pos + count * size
        return list(unpack(buf[pos:end])), end

    def write(out: bytearray, values: Sequence[Row]) -> None:
        out += _INT32.pack(len(values))
        for row in values:
            out += pack(*row)

    return Codec(read, write)


def named_rows(*codecs: Codec) -> Codec:
    """Counted elements whose last part is a name, nearly always none; a tuple each, ending with the name or None.

    While no element has a name all have the same size, and the length of the name is just one more number.
    """
    *fixed, name = codecs
    head = Packer(">" + "".join(c.code for c in fixed))
    stride = Packer(head.format + name.code)
    size = stride.size

    def read(buf: bytes, pos: int) -> tuple[list[Row], int]:
        count, pos = _count(buf, pos, size)
        end = pos + count * size
        found = list(stride.iter_unpack(buf[pos:end]))
        if any(row[-1] > 0 for row in found):
            return _read_named(buf, pos, count)
        return [(*row[:-1], None) for row in found], end

    def _read_named(buf: bytes, pos: int, count: int) -> tuple[list[Row], int]:
        found = []
        for _ in range(count):
            if pos + head.size > len(buf):
                raise Truncated(pos, head.size)
            values = head.unpack_from(buf, pos)
            text, pos = name.read(buf, pos + head.size)
            found.append((*values, text))
        return found, pos

    def write(out: bytearray, values: Sequence[Row]) -> None:
        out += _INT32.pack(len(values))
        for row in values:
            out += head.pack(*row[:-1])
            name.write(out, row[-1])

    return Codec(read, write)


def array(*codecs: Codec, smallest: int, negative_is_empty: bool = False) -> Codec:
    """Counted elements of `smallest` bytes or more, a tuple each. Some readers take a negative count for none."""
    readers = tuple(c.read for c in codecs)
    writers = tuple(c.write for c in codecs)

    def read(buf: bytes, pos: int) -> tuple[list[Row], int]:
        if negative_is_empty and pos + 4 <= len(buf) and buf[pos] >= 0x80:
            return [], pos + 4
        count, pos = _count(buf, pos, smallest)
        found = []
        for _ in range(count):
            element = []
            for read_part in readers:
                value, pos = read_part(buf, pos)
                element.append(value)
            found.append(tuple(element))
        return found, pos

    def write(out: bytearray, values: Sequence[Row]) -> None:
        out += _INT32.pack(len(values))
        for row in values:
            for write_part, value in zip(writers, row, strict=True):
                write_part(out, value)

    return Codec(read, write)


# Layouts


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One field: versions `since` to `until`, in releases from `added` on and before `dropped`."""

    name: str
    codec: Codec
    since: int = 1
    until: int = 0x7FFF
    added: Release = FIRST_RELEASE
    dropped: Release = LAST_RELEASE


@dataclass(frozen=True, slots=True, eq=False)
class HandWritten:
    """A payload whose fields stand in the order of `lines`; versions 1 to `newest`."""

    name: str
    newest: int
    lines: tuple[Line, ...]


def _present(layout: HandWritten, version: int, release: Release) -> list[Line]:
    if not 1 <= version <= layout.newest:
        raise UnsupportedVersion(version)
    return [x for x in layout.lines if x.since <= version <= x.until and x.added <= release < x.dropped]


def _runs(lines: Iterable[Line]) -> list[list[Line]]:
    """Neighbours of fixed size together, everything else alone."""
    runs: list[list[Line]] = []
    for line in lines:
        if runs and line.codec.code and runs[-1][0].codec.code:
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


@cache
def reader(layout: HandWritten, version: int, release: Release) -> Reader[Values]:
    """The compiled reader of `layout` at `version` as classes of `release` read it; raises UnsupportedVersion."""
    steps: list[tuple[Packer | None, tuple[str, ...], Reader[Any]]] = []
    for run in _runs(_present(layout, version, release)):
        code = "".join(line.codec.code for line in run)
        steps.append((Packer(">" + code) if code else None, tuple(x.name for x in run), run[0].codec.read))

    def read(buf: bytes, pos: int) -> tuple[Values, int]:
        out: Values = {}
        for packer, names, read_one in steps:
            if packer is None:
                out[names[0]], pos = read_one(buf, pos)
            else:
                end = pos + packer.size
                if end > len(buf):
                    raise Truncated(pos, packer.size)
                out.update(zip(names, packer.unpack_from(buf, pos), strict=True))
                pos = end
        return out, pos

    return read


@cache
def writer(layout: HandWritten, version: int, release: Release) -> Writer[Mapping[str, Any]]:
    """The compiled writer of `layout` at `version`; raises UnsupportedVersion."""
    steps: list[tuple[str, Callable[[bytearray, Any], None]]] = [
        (line.name, line.codec.write) for line in _present(layout, version, release)
    ]

    def write(out: bytearray, values: Mapping[str, Any]) -> None:
        for name, write_field in steps:
            write_field(out, values[name])

    return write


def unnamed(values: Iterable[Row]) -> list[Row]:
    """Rows without their last part, the name; raises NotInVersion if one has a name."""
    found = list(values)
    for row in found:
        if row[-1] is not None:
            raise NotInVersion("a named topology")
    return [row[:-1] for row in found]
