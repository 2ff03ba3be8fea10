"""What can be wrong with bytes. Raised inside this package only; the public decoders turn them into `Unreadable`.

SchemaError
├── Truncated           the buffer ends inside a field
├── LengthBeyondBuffer  a length or count is larger than what is left (checked before anything is allocated)
├── UnexpectedNull      a negative length where null is not allowed
├── BadVarint           an unsigned varint longer than five bytes
├── UnsupportedVersion  a layout version nobody knows
├── TooLong             a string that Kafka's writers and readers refuse
├── MalformedText       bytes that Java's reader of modified UTF-8 refuses
├── ContradictingFields fields that are readable one by one and exclude each other
└── NotInVersion        a value that the version to be written has no place for
"""

from typing import ClassVar

from .outcomes import Unreadable


class SchemaError(Exception):
    """Base of everything wrong with bytes; `reason` is the word that reaches metrics and reports."""

    reason: ClassVar[str] = "malformed"


class Truncated(SchemaError):
    """The buffer ends inside a field."""

    reason = "truncated"

    def __init__(self, at: int, need: int) -> None:
        super().__init__(f"{need} bytes needed at {at}")


class LengthBeyondBuffer(SchemaError):
    """A length or count is larger than the number of bytes left."""

    reason = "length_beyond_buffer"

    def __init__(self, at: int, length: int, left: int) -> None:
        super().__init__(f"length {length} at {at} with {left} bytes left")


class UnexpectedNull(SchemaError):
    """A negative length where the field is not nullable."""

    reason = "unexpected_null"

    def __init__(self, at: int) -> None:
        super().__init__(f"null at {at}")


class BadVarint(SchemaError):
    """An unsigned varint whose fifth byte announces a sixth."""

    reason = "bad_varint"

    def __init__(self, at: int) -> None:
        super().__init__(f"varint at {at}")


class UnsupportedVersion(SchemaError):
    """A version outside the known range."""

    reason = "unsupported_version"

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version}")


class TooLong(SchemaError):
    """A string of more bytes than its length field can say (32,767, or 65,535 in modified UTF-8)."""

    reason = "string_too_long"

    def __init__(self, length: int) -> None:
        super().__init__(f"string of {length} bytes")


class MalformedText(SchemaError):
    """Bytes that Java's reader of modified UTF-8 refuses."""

    reason = "malformed_text"

    def __init__(self, at: int) -> None:
        super().__init__(f"byte {at} of a text")


class ContradictingFields(SchemaError):
    """Fields that are readable one by one and exclude each other."""

    reason = "contradicting_fields"


class NotInVersion(SchemaError):
    """A value that the version to be written has no place for."""

    reason = "not_in_version"


def unreadable(why: SchemaError) -> Unreadable:
    """The value a public decoder answers with."""
    return Unreadable(why.reason, str(why))
