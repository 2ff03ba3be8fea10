"""What looks like a secret in bytes that are to be sent around: found, and replaced by as many stars.

    broker=sasl:x?password=hunter2&a=1      broker=sasl:x?password=*******&a=1
    jdbc:postgresql://app:hunter2@db/x      jdbc:postgresql://***********@db/x

The length stays, so a record that holds the bytes is decoded as before.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_NAME = rb"(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|(?:api|access|account|private)[_.-]?key)"
_SAID = rb"(?:[\"']\s*[=:]\s*|\s*=\s*|\s*:\s*(?!\d{1,5}(?![\w.])))"
"""What stands between a name and its value. A number of at most five digits behind a colon is a port."""

# What begins one is not asked to begin a word: the byte before it may be the length of a field, and look like a letter.
_PATTERNS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("a private key", re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<of>[^-*]+)")),
    ("a line of JAAS", re.compile(rb"LoginModule\s+(?:required|requisite|sufficient|optional)(?P<of>[^;*\x00]+)")),
    ("credentials in an address", re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://(?P<of>[^\s/@*\x00-\x1f]+)@")),
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
    (
        "the value of a password",
        re.compile(rb"(?i:" + _NAME + rb")[\w.-]*" + _SAID + rb"[\"']?(?P<of>[^\s\"',;&}*\x00-\x1f\x7f-\xff]{3,})"),
    ),
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
    """The bytes with stars in place of secrets, and what each was."""
    found = list(secrets_in(raw))
    if not found:
        return raw, []
    starred = bytearray(raw)
    for start, end, _ in found:
        starred[start:end] = b"*" * (end - start)
    return bytes(starred), [one.what for one in found]
