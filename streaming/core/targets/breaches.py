"""A law of a group with targets that is broken, and one that soon may be."""

from dataclasses import dataclass, replace
from typing import Generic, TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetBreach:
    """A law that is broken. `member` where one is concerned; `fell_from`: the epoch that it went back from; `since_ms`:
    since when, of a law about time."""

    member: str | None = None
    fell_from: int | None = None
    since_ms: int | None = None


B_co = TypeVar("B_co", bound=TargetBreach, covariant=True)


@dataclass(frozen=True, slots=True)
class Deadline(Generic[B_co]):
    """A law about time that something may break: since when it lasts (ms), and how long it may."""

    since_ms: int
    patience_ms: int
    breach: B_co

    @property
    def due_ms(self) -> int:
        """The first moment at which the law is broken."""
        return self.since_ms + self.patience_ms + 1

    def late(self) -> B_co:
        """The law as it is broken from then on."""
        return replace(self.breach, since_ms=self.since_ms)
