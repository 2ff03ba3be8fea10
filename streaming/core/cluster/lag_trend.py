"""Whether a group catches up or falls behind: its lag in the last samples, the earlier half against the later one.

    lag   5,000  5,100  4,900 │ 5,000  5,200  5,050     steady
    lag   5,000  6,100  7,000 │ 8,200  9,100  9,900     falling behind
    lag   9,900  9,000  8,200 │ 6,900  6,000  4,800     catching up

A commit comes every few seconds, so lag goes up and down by what is written meanwhile. A change counts if it is larger
than a tenth of the lag and than what is written in ten seconds. Once it counted, half of that keeps it.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

MOST_TOTALS = 24
"""Samples of a group that are kept: twelve minutes of one each half minute."""
_LOOKED_AT = 10
_LEAST = 4
_LEAST_SHARE = 0.1
_JITTER_MS = 10_000
_KEEPS = 0.5


class Trend(StrEnum):
    CATCHING_UP = "catching_up"
    STEADY = "steady"
    FALLING_BEHIND = "falling_behind"


class Total(NamedTuple):
    """A group in one sample: lag and end offsets summed over the partitions of which both offsets are known.
    `partitions`: which these are, as a checksum of their names; 0: there are none, so the sums say nothing. Times by
    the monitor's clock, ms."""

    asked_ms: int
    answered_ms: int
    lag: int
    ends: int
    partitions: int


def trend_of(totals: Sequence[Total], before: Trend | None) -> Trend | None:
    """The trend by these samples, oldest first; None while they are too few, partitions came and went, or no lag is
    known. `before`: the trend by all but the last."""
    newest = totals[-1]
    looked: list[Total] = []
    for one in reversed(totals[-_LOOKED_AT:]):
        if one.partitions != newest.partitions:
            break
        looked.append(one)
    if len(looked) < _LEAST or not newest.partitions:
        return None
    looked.reverse()
    half = len(looked) // 2
    earlier, later = _mean(looked[:half]), _mean(looked[-half:])
    change = later - earlier
    enough = max(_LEAST_SHARE * max(earlier, later), _written_in(looked, _JITTER_MS), 1.0)
    if change > enough or (before is Trend.FALLING_BEHIND and change > _KEEPS * enough):
        return Trend.FALLING_BEHIND
    if change < -enough or (before is Trend.CATCHING_UP and change < -_KEEPS * enough):
        return Trend.CATCHING_UP
    return Trend.STEADY


def _mean(some: Sequence[Total]) -> float:
    return sum(one.lag for one in some) / len(some)


def _written_in(some: Sequence[Total], ms: int) -> float:
    """How many records are written in so long, by these samples."""
    took_ms = some[-1].answered_ms - some[0].answered_ms
    return max(some[-1].ends - some[0].ends, 0) * ms / took_ms if took_ms > 0 else 0.0
