"""Where clocks differ: how long ago something was, and how far one clock is ahead of another, as an interval."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

SLACK_MS = 1_000
"""Differences of two clocks below this are the time that messages take."""
SKEW_MS = 5_000
"""How far two clocks that both are right may be apart."""
FOREVER_MS = 1 << 62
FARTHEST_MS = 12 * 3_600_000
"""A tick that is so far before the records is no time of day. One that is far behind them is: they come late."""


@dataclass(frozen=True, slots=True)
class ClockSpan:
    """So much time has surely passed, and possibly so much; negative where a clock went back."""

    sure_ms: int
    possible_ms: int

    @property
    def unsure_ms(self) -> int:
        """How much of it nobody but one clock says has passed."""
        return self.possible_ms - self.sure_ms


def confirmed(passed_ms: int, seen_ms: int | None) -> bool:
    """Whether another clock, which saw `seen_ms` pass (None: there is none), says the same as the records."""
    return seen_ms is not None and passed_ms <= seen_ms + SLACK_MS


def at_least(passed_ms: int, seen_ms: int | None) -> int:
    """What has passed at least, where records say more than another clock, or there is none."""
    return max(min(passed_ms, seen_ms or 0), 0)


QUICK_MS = SKEW_MS
"""A worker's fastest start follows the record that asks for it within this time."""


def of_known(choose: Callable[[Iterable[int]], int], *times_ms: int | None) -> int | None:
    """The least or the greatest of those that are known; None where none is."""
    known_ms = [one for one in times_ms if one is not None]
    return choose(known_ms) if known_ms else None


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """A worker's clock minus the coordinator's lies between `low_ms` and `high_ms`; None is no bound. `generation` is
    the newest one whose statuses have told of it; `slow_ms`: how late its first status was, where nobody was quick and
    so the record's time may be wrong. `start_ms`: how late its first start was that a record asked for; `quick`: this
    is its clock, for another generation says the same, or it is next to nothing."""

    low_ms: int | None = None
    high_ms: int | None = None
    generation: int = -1
    slow_ms: int | None = None
    start_ms: int | None = None
    quick: bool = False

    @property
    def best_ms(self) -> int:
        """The offset nearest to none that can be."""
        if self.high_ms is not None and self.high_ms < 0:
            return self.high_ms
        return max(self.low_ms or 0, 0)

    @property
    def early_ms(self) -> int | None:
        """How much earlier than told a status may have been written at most."""
        if self.high_ms is None:
            return None
        return max(self.high_ms, self.slow_ms or self.high_ms) - self.best_ms

    @property
    def late_ms(self) -> int | None:
        """How much later than told a status may have been written at most."""
        if self.high_ms is None or self.slow_ms is not None:
            return None
        low_ms = of_known(max, self.low_ms, self.quick_ms)
        return None if low_ms is None else self.best_ms - low_ms

    @property
    def quick_ms(self) -> int | None:
        """The least offset that a quick start leaves; None where no start is known to have been quick."""
        return self.start_ms - QUICK_MS if self.quick and self.start_ms is not None else None

    def allows(self, other: "ClockOffset") -> bool:
        """Whether the clock may have stayed as it was: some offset lies in both intervals, and quick is quick."""
        if self.quick_ms is not None and other.high_ms is not None and other.high_ms < self.quick_ms:
            return False
        low_ms, high_ms = of_known(max, self.low_ms, other.low_ms), of_known(min, self.high_ms, other.high_ms)
        return low_ms is None or high_ms is None or low_ms <= high_ms

    def narrowed(self, other: "ClockOffset") -> "ClockOffset":
        """What both say; the other alone, where the clock has been set since."""
        if not self.allows(other):
            return other
        high_ms = of_known(min, self.high_ms, other.high_ms)
        starts = sorted(one.start_ms for one in (self, other) if one.start_ms is not None)
        start_ms = starts[0] if starts else None
        again = len(starts) > 1 and starts[1] <= starts[0] + QUICK_MS and self.generation != other.generation
        quick = again or any(one.quick and one.start_ms == start_ms for one in (self, other))
        if start_ms is not None and high_ms is not None and high_ms < start_ms - QUICK_MS:
            start_ms, quick = None, False  # that start took its time
        return ClockOffset(
            low_ms=of_known(max, self.low_ms, other.low_ms),
            high_ms=high_ms,
            generation=max(self.generation, other.generation),
            start_ms=start_ms,
            quick=quick,
        )


NOT_KNOWN = ClockOffset()
