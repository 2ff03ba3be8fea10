"""Malformed UTF-8 gives Java's number of replacement characters, not Python's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.schemas.java_text import decode_utf8, encode_utf8

R = "\ufffd"


@pytest.mark.parametrize(
    ("hexed", "text"),
    [
        ("eda080", R),  # a surrogate is one malformed character of three bytes
        ("c080", R + R),
        ("c3", R),
        ("c341", R + "A"),
        ("e282", R),
        ("e28241", R + "A"),
        ("e08041", R + R + "A"),
        ("f09f98", R),
        ("f09f9841", R + "A"),
        ("f4908080", R * 4),
        ("f8808080", R * 4),
        ("41ff42", "A" + R + "B"),
        ("f09f9880", "😀"),
    ],
)
def test_decodes_as_java_does(hexed: str, text: str) -> None:
    assert decode_utf8(bytes.fromhex(hexed)) == text


@given(st.binary(max_size=40))
def test_any_bytes_are_some_text(raw: bytes) -> None:
    text = decode_utf8(raw)
    try:
        assert raw.decode() == text
    except UnicodeDecodeError:
        assert R in text
    assert decode_utf8(encode_utf8(text)) == text


@given(st.text(max_size=30))
def test_the_slow_path_agrees_on_sound_text(text: str) -> None:
    raw = encode_utf8(text)
    assert decode_utf8(raw + b"\xff") == decode_utf8(raw) + R


def test_a_lone_surrogate_is_written_as_a_question_mark() -> None:
    assert encode_utf8("a\ud800b") == b"a?b"
    assert encode_utf8("\ud83d\ude00") == "😀".encode()
