"""UTF-8 as Java's `String(bytes, UTF_8)` decodes it, malformed bytes included.

Python and Java put a different number of U+FFFD for the same malformed bytes (`ed a0 80`: Java one, Python three), and
names are compared with what Kafka's own classes read, so the slow path repeats the rules of OpenJDK's decoder.
"""

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
