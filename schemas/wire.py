"""Readers and writers for Kafka's wire primitives, plain and compact.

A reader is `(buffer, position) -> (value, next position)`; a writer appends to a bytearray. Every length is compared
with what is left before anything is sliced or allocated. Null is `None`: the caller decides whether it is allowed.
"""

import struct
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from .errors import BadVarint, LengthBeyondBuffer, TooLong, Truncated, UnexpectedNull
from .java_text import decode_utf8, encode_utf8

T = TypeVar("T")
Reader: TypeAlias = Callable[[bytes, int], tuple[T, int]]
Writer: TypeAlias = Callable[[bytearray, T], None]

MAX_STRING_BYTES = 0x7FFF
_UNPACK_INT16 = struct.Struct(">h").unpack_from


def _integer(code: str) -> tuple[Reader[int], Writer[int]]:
    packer = struct.Struct(">" + code)
    size = packer.size
    unpack = packer.unpack_from

    def read(buf: bytes, pos: int) -> tuple[int, int]:
        if pos + size > len(buf):
            raise Truncated(pos, size)
        return unpack(buf, pos)[0], pos + size

    def write(out: bytearray, value: int) -> None:
        out += packer.pack(value)

    return read, write


read_int8, write_int8 = _integer("b")
read_int16, write_int16 = _integer("h")
read_uint16, write_uint16 = _integer("H")
read_int32, write_int32 = _integer("i")
read_int64, write_int64 = _integer("q")


class _Int32s(dict[int, Callable[[bytes, int], tuple[int, ...]]]):
    """By their count: unpacks so many numbers at a position. Small counts, which are nearly all, are kept."""

    def __missing__(self, count: int) -> Callable[[bytes, int], tuple[int, ...]]:
        unpack = struct.Struct(f">{count}i").unpack_from
        if count <= _KEPT_COUNTS:
            self[count] = unpack
        return unpack


_KEPT_COUNTS = 256
INT32S = _Int32s()


def _slice(buf: bytes, pos: int, length: int) -> tuple[bytes, int]:
    end = pos + length
    if end > len(buf):
        raise LengthBeyondBuffer(pos, length, len(buf) - pos)
    return buf[pos:end], end


def read_uuid(buf: bytes, pos: int) -> tuple[bytes, int]:
    """16 raw bytes."""
    return _slice(buf, pos, 16)


def write_uuid(out: bytearray, value: bytes) -> None:
    """16 raw bytes."""
    out += value


def read_uvarint(buf: bytes, pos: int) -> tuple[int, int]:
    """At most five bytes; as in Java the result is a signed 32-bit number, so the fifth byte can make it negative."""
    value = shift = 0
    at = pos
    while True:
        if pos >= len(buf):
            raise Truncated(pos, 1)
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise BadVarint(at)
    value &= 0xFFFFFFFF
    return (value - (1 << 32) if value >= 1 << 31 else value), pos


def write_uvarint(out: bytearray, value: int) -> None:
    """Seven bits a byte, least significant first."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_compact_length(buf: bytes, pos: int) -> tuple[int, int]:
    """Length N of a compact string, bytes or array; negative means null."""
    stored, pos = read_uvarint(buf, pos)
    # The subtraction wraps in Java: the smallest integer becomes the largest, which no buffer can hold.
    return (stored - 1 if stored != -(1 << 31) else (1 << 31) - 1), pos


def read_nullable_string(buf: bytes, pos: int) -> tuple[str | None, int]:
    """Plain string, int16 length; any negative length is null."""
    # The most frequent field of all, hence written out instead of composed.
    start = pos + 2
    if start > len(buf):
        raise Truncated(pos, 2)
    length = _UNPACK_INT16(buf, pos)[0]
    if length < 0:
        return None, start
    end = start + length
    if end > len(buf):
        raise LengthBeyondBuffer(start, length, len(buf) - start)
    return decode_utf8(buf[start:end]), end


def read_string(buf: bytes, pos: int) -> tuple[str, int]:
    """Plain string that must not be null."""
    value, end = read_nullable_string(buf, pos)
    if value is None:
        raise UnexpectedNull(pos)
    return value, end


def write_nullable_string(out: bytearray, value: str | None) -> None:
    """Plain string, -1 for null."""
    if value is None:
        write_int16(out, -1)
        return
    raw = encode_utf8(value)
    if len(raw) > MAX_STRING_BYTES:
        raise TooLong(len(raw))
    write_int16(out, len(raw))
    out += raw


def read_nullable_compact_string(buf: bytes, pos: int) -> tuple[str | None, int]:
    """Compact string; stored length 0 is null."""
    length, pos = read_compact_length(buf, pos)
    if length < 0:
        return None, pos
    if length > MAX_STRING_BYTES:
        raise TooLong(length)
    raw, pos = _slice(buf, pos, length)
    return decode_utf8(raw), pos


def write_nullable_compact_string(out: bytearray, value: str | None) -> None:
    """Compact string, 0 for null."""
    if value is None:
        out.append(0)
        return
    raw = encode_utf8(value)
    if len(raw) > MAX_STRING_BYTES:
        raise TooLong(len(raw))
    write_uvarint(out, len(raw) + 1)
    out += raw


def read_nullable_bytes(buf: bytes, pos: int) -> tuple[bytes | None, int]:
    """Plain bytes, int32 length; any negative length is null."""
    length, pos = read_int32(buf, pos)
    return (None, pos) if length < 0 else _slice(buf, pos, length)


def write_nullable_bytes(out: bytearray, value: bytes | None) -> None:
    """Plain bytes, -1 for null."""
    write_int32(out, -1 if value is None else len(value))
    out += value or b""


def read_nullable_compact_bytes(buf: bytes, pos: int) -> tuple[bytes | None, int]:
    """Compact bytes; stored length 0 is null."""
    length, pos = read_compact_length(buf, pos)
    return (None, pos) if length < 0 else _slice(buf, pos, length)


def write_nullable_compact_bytes(out: bytearray, value: bytes | None) -> None:
    """Compact bytes, 0 for null."""
    write_uvarint(out, 0 if value is None else len(value) + 1)
    out += value or b""


def read_tagged(buf: bytes, pos: int) -> tuple[bytes, int]:
    """The bytes of one tagged field: its size, then that many bytes."""
    size, pos = read_uvarint(buf, pos)
    if size < 0:
        raise UnexpectedNull(pos)
    return _slice(buf, pos, size)
