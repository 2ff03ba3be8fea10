"""What may be wrong with a group that has targets: a law that is broken, and one that soon may be."""

from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from .law import Law
from .units import NONE, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A law that is broken. `member` where one is concerned; `units` where some are: partitions or tasks; `fell_from`:
    the epoch that it went back from; `since_ms`: since when, of a law about time."""

    law: Law
    member: str | None = None
    units: Units = NONE
    fell_from: int | None = None
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Deadline:
    """A law about time that something may break: since when it lasts (ms), and how long it may."""

    since_ms: int
    patience_ms: int
    breach: Breach

    @property
    def due_ms(self) -> int:
        return self.since_ms + self.patience_ms + 1

    def late(self) -> Breach:
        """The law as it is broken from then on."""
        return replace(self.breach, since_ms=self.since_ms)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the laws of one group rest on: which of them hold of its kind, the session time-out of a silent member, and
    how long the broker waits for more members of a group that was empty (ms)."""

    laws: frozenset[Law]
    session_ms: int
    first_target_ms: int = 0
