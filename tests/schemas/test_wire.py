"""Every primitive reader keeps one contract; each primitive adds its own limits."""

from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.schemas import wire
from rebalance_monitor.schemas.errors import (
    BadVarint,
    LengthBeyondBuffer,
    SchemaError,
    TooLong,
    Truncated,
    UnexpectedNull,
)


class ReaderContract:
    """What holds for every reader: it continues where it stopped, and no prefix of its bytes reads as a value."""

    read: ClassVar[Any]
    examples: ClassVar[tuple[tuple[str, Any], ...]]

    def test_reads_the_value_and_stops_behind_it(self) -> None:
        for hexed, value in self.examples:
            raw = bytes.fromhex(hexed)
            assert type(self).read(b"\x7f" + raw + b"\x7f\x7f", 1) == (value, 1 + len(raw))

    def test_no_proper_prefix_is_a_value(self) -> None:
        for hexed, _ in self.examples:
            raw = bytes.fromhex(hexed)
            for length in range(len(raw)):
                with pytest.raises(SchemaError):
                    type(self).read(raw[:length], 0)


class TestInt8(ReaderContract):
    read = staticmethod(wire.read_int8)
    examples = (("00", 0), ("7f", 127), ("80", -128), ("ff", -1))


class TestInt16(ReaderContract):
    read = staticmethod(wire.read_int16)
    examples = (("0000", 0), ("7fff", 32767), ("8000", -32768))


class TestUint16(ReaderContract):
    read = staticmethod(wire.read_uint16)
    examples = (("1f90", 8080), ("ffff", 65535))


class TestInt32(ReaderContract):
    read = staticmethod(wire.read_int32)
    examples = (("7fffffff", 2**31 - 1), ("80000000", -(2**31)))


class TestInt64(ReaderContract):
    read = staticmethod(wire.read_int64)
    examples = (("0000018bcfe56800", 1700000000000), ("8000000000000000", -(2**63)))


class TestUuid(ReaderContract):
    read = staticmethod(wire.read_uuid)
    examples = (("00000000000000010000000000000002", bytes.fromhex("00000000000000010000000000000002")),)


class TestUvarint(ReaderContract):
    read = staticmethod(wire.read_uvarint)
    examples = (
        ("00", 0),
        ("7f", 127),
        ("8001", 128),
        ("ac02", 300),
        ("ffffffff07", 2**31 - 1),
        ("ffffffff0f", -1),  # as in Java: 32 bits, signed
    )

    def test_a_sixth_byte_is_refused(self) -> None:
        with pytest.raises(BadVarint):
            wire.read_uvarint(b"\x80\x80\x80\x80\x80\x00", 0)


class TestString(ReaderContract):
    read = staticmethod(wire.read_string)
    examples = (("0000", ""), ("000167", "g"), ("0004f09f9880", "😀"))

    def test_null_is_refused(self) -> None:
        with pytest.raises(UnexpectedNull):
            wire.read_string(b"\xff\xff", 0)


class TestNullableString(ReaderContract):
    read = staticmethod(wire.read_nullable_string)
    examples = (("ffff", None), ("8000", None), ("0000", ""))


class TestNullableCompactString(ReaderContract):
    read = staticmethod(wire.read_nullable_compact_string)
    examples = (("00", None), ("01", ""), ("026d", "m"))

    def test_more_than_kafka_writes_is_refused(self) -> None:
        with pytest.raises(TooLong):
            wire.read_nullable_compact_string(b"\x81\x80\x02" + b"a" * 0x8000, 0)


class TestNullableBytes(ReaderContract):
    read = staticmethod(wire.read_nullable_bytes)
    examples = (("ffffffff", None), ("80000000", None), ("00000000", b""), ("000000020102", b"\x01\x02"))


class TestNullableCompactBytes(ReaderContract):
    read = staticmethod(wire.read_nullable_compact_bytes)
    examples = (("00", None), ("01", b""), ("030102", b"\x01\x02"))

    def test_the_largest_length_allocates_nothing(self) -> None:
        with pytest.raises(LengthBeyondBuffer):
            wire.read_nullable_compact_bytes(b"\x80\x80\x80\x80\x08abc", 0)


def test_truncation_says_where() -> None:
    with pytest.raises(Truncated, match="4 bytes needed at 2"):
        wire.read_int32(b"\x00" * 5, 2)


@given(st.integers(0, 2**31 - 1))
def test_uvarint_round_trip(value: int) -> None:
    out = bytearray()
    wire.write_uvarint(out, value)
    assert wire.read_uvarint(bytes(out), 0) == (value, len(out))


@given(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_strings_round_trip_in_both_encodings(value: str | None) -> None:
    plain, compact = bytearray(), bytearray()
    wire.write_nullable_string(plain, value)
    wire.write_nullable_compact_string(compact, value)
    assert wire.read_nullable_string(bytes(plain), 0) == (value, len(plain))
    assert wire.read_nullable_compact_string(bytes(compact), 0) == (value, len(compact))


def test_a_string_that_does_not_fit_is_refused_when_written() -> None:
    with pytest.raises(TooLong):
        wire.write_nullable_string(bytearray(), "ü" * 16_384)
