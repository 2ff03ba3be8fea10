"""How long ago something was, where clocks differ."""

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
