"""Texts as Java reads and writes them: UTF-8 with malformed bytes included, modified UTF-8, UTF-16.

Python and Java put a different number of U+FFFD for the same malformed bytes (`ed a0 80`: Java one, Python three), and
names are compared with what Kafka's own classes read, so the slow path repeats the rules of OpenJDK's decoder.
"""

from array import array
from sys import byteorder

from .errors import MalformedText

REPLACEMENT = "\ufffd"


def decode_utf8(raw: bytes) -> str:
    """The text of `raw`; never fails."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_malformed(raw)


def encode_utf8(text: str) -> bytes:
    """The bytes Java's `getBytes(UTF_8)` gives: a lone surrogate becomes a question mark."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # A pair of surrogates that JSON left apart is one character to Java.
        joined = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
        return joined.encode("utf-8", "replace")


def _decode_malformed(raw: bytes) -> str:
    out: list[str] = []
    pos = 0
    while pos < len(raw):
        lead = raw[pos]
        if lead < 0x80:
            text, used = chr(lead), 1
        elif 0xC2 <= lead < 0xE0:
            text, used = _two(raw, pos)
        elif 0xE0 <= lead < 0xF0:
            text, used = _three(raw, pos)
        elif 0xF0 <= lead < 0xF8:
            text, used = _four(raw, pos)
        else:
            text, used = REPLACEMENT, 1
        out.append(text)
        pos += used
    return "".join(out)


def _continues(raw: bytes, pos: int) -> bool:
    return raw[pos] & 0xC0 == 0x80


def _two(raw: bytes, pos: int) -> tuple[str, int]:
    if pos + 1 < len(raw) and _continues(raw, pos + 1):
        return chr((raw[pos] & 0x1F) << 6 | raw[pos + 1] & 0x3F), 2
    return REPLACEMENT, 1


def _bad_second_of_three(raw: bytes, pos: int) -> bool:
    return (raw[pos] == 0xE0 and raw[pos + 1] & 0xE0 == 0x80) or not _continues(raw, pos + 1)


def _three(raw: bytes, pos: int) -> tuple[str, int]:
    left = len(raw) - pos
    if left >= 3:
        if _bad_second_of_three(raw, pos):
            return REPLACEMENT, 1
        if not _continues(raw, pos + 2):
            return REPLACEMENT, 2
        point = (raw[pos] & 0x0F) << 12 | (raw[pos + 1] & 0x3F) << 6 | raw[pos + 2] & 0x3F
        return (REPLACEMENT if 0xD800 <= point < 0xE000 else chr(point)), 3
    if left == 2 and _bad_second_of_three(raw, pos):
        return REPLACEMENT, 1
    return REPLACEMENT, left  # the text ends inside the character: one replacement for what is left


def _bad_second_of_four(raw: bytes, pos: int) -> bool:
    lead, second = raw[pos], raw[pos + 1]
    if lead == 0xF0 and not 0x90 <= second <= 0xBF:
        return True
    return (lead == 0xF4 and second & 0xF0 != 0x80) or not _continues(raw, pos + 1)


def _four(raw: bytes, pos: int) -> tuple[str, int]:
    left = len(raw) - pos
    if raw[pos] > 0xF4 or (left > 1 and _bad_second_of_four(raw, pos)):
        return REPLACEMENT, 1
    if left >= 4:
        if not _continues(raw, pos + 2):
            return REPLACEMENT, 2
        if not _continues(raw, pos + 3):
            return REPLACEMENT, 3
        high = (raw[pos] & 0x07) << 18 | (raw[pos + 1] & 0x3F) << 12
        return chr(high | (raw[pos + 2] & 0x3F) << 6 | raw[pos + 3] & 0x3F), 4
    if left == 3 and not _continues(raw, pos + 2):
        return REPLACEMENT, 2
    return REPLACEMENT, left


def decode_utf16(raw: bytes) -> str:
    """The text of big-endian UTF-16 units; half a surrogate pair becomes U+FFFD, for no sink could store it."""
    return raw.decode("utf-16-be", "replace")


def encode_utf16(text: str) -> bytes:
    """Big-endian UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def decode_modified_utf8(raw: bytes) -> str:
    """What `DataInput.readUTF` makes of these bytes; raises MalformedText where it throws.

    Modified UTF-8 writes U+0000 in two bytes and a character beyond U+FFFF as two surrogates of three bytes each; it
    takes every overlong form and knows no form of four bytes.
    """
    if raw.isascii():
        return raw.decode("ascii")
    if max(raw) < 0xF0:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            pass  # overlong, a surrogate, or malformed
    units = array("H")
    pos = 0
    while pos < len(raw):
        lead = raw[pos]
        extra = _EXTRA_BYTES[lead >> 4]
        if extra < 0 or pos + extra >= len(raw):
            raise MalformedText(pos)
        point = lead & _LEAD_BITS[extra]
        for byte in raw[pos + 1 : pos + 1 + extra]:
            if byte & 0xC0 != 0x80:
                raise MalformedText(pos)
            point = point << 6 | byte & 0x3F
        units.append(point)
        pos += 1 + extra
    if byteorder == "little":
        units.byteswap()
    return decode_utf16(units.tobytes())


# By the upper four bits of the first byte: bytes that follow, -1 for a byte that can't be first.
_EXTRA_BYTES = (0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, 1, 1, 2, -1)
_LEAD_BITS = (0x7F, 0x1F, 0x0F)


def encode_modified_utf8(text: str) -> bytes:
    """What `DataOutput.writeUTF` writes behind the length."""
    if text.isascii() and "\0" not in text:
        return text.encode("ascii")
    out = bytearray()
    units = encode_utf16(text)
    for at in range(0, len(units), 2):
        unit = units[at] << 8 | units[at + 1]
        if 0 < unit < 0x80:
            out.append(unit)
        elif unit < 0x800:
            out += bytes((0xC0 | unit >> 6, 0x80 | unit & 0x3F))
        else:
            out += bytes((0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F))
    return bytes(out)
