"""What decoding one record can come to. The unknown is a value: no exception leaves this package's public functions."""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decoded(Generic[T]):
    """The value, and how many bytes Kafka's own reader would have left unread."""

    value: T
    remaining: int = 0


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The key was deleted."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A record that is recognised and of no interest, and why."""

    what: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that Kafka's own reader rejects too; `reason` is a short snake_case word, `detail` says where."""

    reason: str
    detail: str = ""


Outcome: TypeAlias = Decoded[T] | Tombstone | Ignored | Unreadable
