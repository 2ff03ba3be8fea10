"""What looks like a secret in bytes that are to be sent around: found, and replaced by as many stars.

    broker=sasl:x?password=hunter2&a=1      broker=sasl:x?password=*******&a=1
    jdbc:postgresql://app:hunter2@db/x      jdbc:postgresql://***********@db/x

The length stays, so a record that holds the bytes is decoded as before.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

_NAME = (
    rb"(?i:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|user[_.-]?info|(?:api|access|account|private)[_.-]?key)"
)
_SAID = rb"(?:\\*[\"']\s*[=:]\s*|\s*=\s*|\s*%3[dD]\s*|\s*:\s+|:(?!\d{1,5}(?![\w.])))"
"""What stands between a name and its value. A number of at most five digits directly behind a colon is a port."""
_QUOTED = rb"(?P<quote>\\*[\"'])(?P<of>(?!\**(?P=quote))(?:(?!(?P=quote))(?:\\.|[^\\\x00-\x1f]))+)(?P=quote)"
"""Also where the quotes are escaped, as those of JSON within JSON are. Not what is stars already."""
_CHARACTER = (
    rb"(?:[!#-%(-+\-.-:<-\[\]-|~]|\\[^\"'\x00-\x1f\x7f-\xff]"
    rb"|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})"
)
"""Of a value without quotes: no white space, quote, comma, semicolon, ampersand or closing brace. Bytes that are no
character may be the length of the next field. A backslash belongs to what is behind it."""
_BARE = rb"(?=" + _CHARACTER + rb"{3})(?P<of>\**(?!\*)" + _CHARACTER + rb"+)"
_JAAS_VALUE = rb"(?:(?P<quote>\\*[\"'])(?:(?!(?P=quote))[^\x00-\x1f])*(?P=quote)|[^\s;\"'*\\\x00]+)"

# What begins one is not asked to begin a word: the byte before it may be the length of a field, and look like a letter.
_PATTERNS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("a private key", re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<of>[^-*]+)")),
    (
        "a line of JAAS",
        re.compile(
            rb"LoginModule(?:\s|\\n)+(?:required|requisite|sufficient|optional)"
            rb"(?P<of>(?:(?:\s|\\n)+[\w.]+\s*=\s*" + _JAAS_VALUE + rb")+)"
        ),
    ),
    # A password may hold a slash or an @; a port in that place has digits alone.
    (
        "credentials in an address",
        re.compile(
            rb"[A-Za-z][A-Za-z0-9+.-]*://(?P<of>[^\s/@:\"'\\,*\x00-\x1f]*:(?!\d{1,5}[/,])[^\s\"'\\,\x00-\x1f]+"
            rb"|[^\s/@\"'\\*\x00-\x1f]+)@"
        ),
    ),
    ("a signature in an address", re.compile(rb"[?&;]sig=(?P<of>[^\s&\"'\\*\x00-\x1f]+)")),
    ("a header of HTTP", re.compile(rb"(?i:(?:bearer|basic)\s+)(?P<of>[A-Za-z0-9+/=._~-]{8,})")),
    ("a JSON web token", re.compile(rb"(?P<of>eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)")),
    ("a key of Amazon", re.compile(rb"(?P<of>(?:AKIA|ASIA)[A-Z0-9]{16})")),
    (
        "a token of a known service",
        re.compile(
            rb"(?P<of>(?:gh[opusr]_[A-Za-z0-9]{30,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
            rb"|AIza[\w-]{35}|[sr]k_live_\w{16,}))"
        ),
    ),
    ("the value of a password", re.compile(_NAME + rb"[\w.-]*" + _SAID + _QUOTED)),
    ("the value of a password", re.compile(_NAME + rb"[\w.-]*" + _SAID + _BARE)),
)


class LooksSecret(NamedTuple):
    """Where it stands in the bytes, and what it looks like."""

    start: int
    end: int
    what: str


def secrets_in(raw: bytes) -> Iterator[LooksSecret]:
    """All that look like one; what is starred already is none. They may overlap."""
    for what, pattern in _PATTERNS:
        for found in pattern.finditer(raw):
            yield LooksSecret(*found.span("of"), what)


def masked(raw: bytes) -> tuple[bytes, list[str]]:
    """The bytes with stars in place of secrets, and what each was. Nothing in them looks like one then."""
    starred, told = bytearray(raw), list[str]()
    while found := list(secrets_in(bytes(starred))):
        told += [one.what for one in found]
        for start, end, _ in found:
            starred[start:end] = b"*" * (end - start)
    return bytes(starred), told


def masked_values(value: Any, clean: Callable[[bytes], bytes], field: str = "") -> Any:
    """What JSON holds with each key and text cleaned, so that it stays JSON. The field may say that its value is a
    secret."""
    match value:
        case Mapping():
            return {
                clean(str(key).encode()).decode(): masked_values(one, clean, str(key)) for key, one in value.items()
            }
        case list() | tuple():
            return [masked_values(one, clean, field) for one in value]
        case str():
            return clean(f"{field}={value}".encode()).decode()[len(field) + 1 :]
        case _:
            return value
