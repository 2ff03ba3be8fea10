"""When the end of a partition passed an offset, by samples of its end offset: lag in seconds.

An end offset never falls while its topic lives. So the first record that a group has not read yet was written about
when the end passed the committed offset; between two samples the end is taken to grow evenly:

    10:00:00  ends at 100
    10:00:30  ends at 400        it passed 250 at 10:00:15
    10:01:00  ends at 400        nothing was written: it passed 400 after 10:01:00
    10:01:30  ends at 500        committed 250: 75 s behind; committed 50: 90 s behind at least

Time comes from the samples alone. Of a partition at most `MOST_POINTS` samples are kept, those of long ago farther
apart: each is about 1.5 times as old as the next one, up to a day. What lies before the oldest is "at least".
"""

from bisect import bisect_right
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import maker

MOST_POINTS = 40
"""Samples of one partition: 2 kB at most, and 1.2 kB where the partition is written evenly."""
_APART = 1.5
_LEAST_AGE_MS = 1_000
HORIZON_MS = 86_400_000
"""A sample that is older goes as soon as there are too many."""


@dataclass(frozen=True, slots=True)
class Behind:
    """How long ago the first record was written that is not read yet, ms; `at_least`: the samples do not reach back to
    it."""

    ms: int
    at_least: bool = False


CAUGHT_UP = Behind(0)


@dataclass(frozen=True, slots=True)
class PassedEnds:
    """Samples of one partition's end offset, oldest first: times (ms) and ends."""

    at_ms: tuple[int, ...]
    ends: tuple[int, ...]

    def after(self, at_ms: int, end: int) -> "PassedEnds":
        """With one more sample. A sample that is not newer changes nothing; an end that fell begins anew: the topic was
        made anew, or an unclean election lost records."""
        if at_ms <= self.at_ms[-1]:
            return self
        if end < self.ends[-1]:
            return PassedEnds((at_ms,), (end,))
        times, ends = self.at_ms, self.ends
        if len(ends) > 1 and ends[-2] == ends[-1] == end:  # the one between says nothing
            return _made((*times[:-1], at_ms), ends)
        times, ends = (*times, at_ms), (*ends, end)
        if len(times) > MOST_POINTS:
            kept = _kept(times)
            times, ends = tuple(times[one] for one in kept), tuple(ends[one] for one in kept)
        return _made(times, ends)

    def behind(self, committed: int, now_ms: int) -> Behind:
        """How far a group is behind that has committed this offset, at the time of the newest sample or later."""
        if committed >= self.ends[-1]:
            return CAUGHT_UP
        last = bisect_right(self.ends, committed) - 1
        if last < 0:
            return Behind(max(now_ms - self.at_ms[0], 0), at_least=True)
        begun_ms, begun = self.at_ms[last], self.ends[last]
        share = (committed - begun) / (self.ends[last + 1] - begun)
        passed_ms = begun_ms + share * (self.at_ms[last + 1] - begun_ms)
        return Behind(max(round(now_ms - passed_ms), 0))


_made = maker(PassedEnds)


def first_end(at_ms: int, end: int) -> PassedEnds:
    """A partition that is sampled for the first time."""
    return PassedEnds((at_ms,), (end,))


def _kept(times: tuple[int, ...]) -> list[int]:
    """Which of these samples stay: the newest two, then of those that are at most `_APART` times as old as the last one
    that stays the oldest, where there is none the next; up to the horizon. So the ends of a long pause stay, and no
    other gap is wider. Where these are too many, the oldest stays of those that are behind."""
    now_ms, at = times[-1], len(times) - 3
    kept = [at + 2, at + 1]
    while at >= 0:
        farthest_ms = _APART * max(now_ms - times[kept[-1]], _LEAST_AGE_MS)
        while at > 0 and now_ms - times[at - 1] <= farthest_ms:
            at -= 1
        if now_ms - times[at] > HORIZON_MS:
            break
        kept.append(at)
        at -= 1
    if len(kept) > MOST_POINTS:
        kept[MOST_POINTS - 1 :] = kept[-1:]
    return kept[::-1]
