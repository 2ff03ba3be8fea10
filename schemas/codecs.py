"""Building blocks for hand-written payloads: numbers and texts (`schemas.array_codecs` has the rest).

`schemas.layouts` describes what Kafka generates. Kafka Streams wrote its assignment by hand, with texts that exist
nowhere else and long arrays of small fixed-size rows. A codec reads and writes one such thing, and can put its lines
into a compiled reader (`schemas.hand_written`), which is where the speed comes from: adjacent numbers are unpacked by
one call, and so are all rows of an array.

`read` is exact: it checks every length and says what is wrong. `emit` is an optimist: see `hand_written`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct as Packer
from typing import Any, TypeAlias

from . import wire
from .errors import LengthBeyondBuffer, NotInVersion, TooLong, Truncated, UnexpectedNull
from .java_text import decode_modified_utf8, decode_utf8, decode_utf16, encode_modified_utf8, encode_utf8, encode_utf16
from .source import Source
from .wire import Reader, Writer

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


def read_count(buf: bytes, pos: int, smallest: int) -> tuple[int, int]:
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
    length, pos = read_count(buf, pos, 1)
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
