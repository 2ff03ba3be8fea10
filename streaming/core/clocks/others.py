"""Who else saw the time pass: in a replay nobody reads along, so other clocks of the same input have to confirm it.

The coordinator alone stamps a group's records, and it may be another broker from one record to the next. Other records
in the coordinator's partition show whether its clock has jumped: a partition that has a record every few seconds has no
room for a jump, so each step counts up to SKEW_MS. What else has a clock, a lifecycle knows (`OtherClocks`).
"""

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import ClassVar

from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.subjects import LastRecord, Source
from .span import SKEW_MS

STRIDE_MS = 1_000
"""How finely the way of a partition's clock is kept: its commits may be many."""


@dataclass(slots=True)
class Trail:
    """One partition of the coordinator's log: how much time has passed for sure up to an offset, by its own clock."""

    offsets: "array[int]" = field(default_factory=lambda: array("q"))
    passed_ms: "array[int]" = field(default_factory=lambda: array("q"))
    newest_ms: int = 0
    _reached_ms: int = 0
    _sum_ms: int = 0

    def note(self, offset: int, at_ms: int, *, exact: bool) -> None:
        """One more record, in the order of offsets; `exact` keeps its place, whatever the stride."""
        if at_ms <= 0 or (self.offsets and offset <= self.offsets[-1]):
            return
        self.newest_ms = max(self.newest_ms, at_ms)
        ahead_ms = at_ms - self._reached_ms
        if self._reached_ms and ahead_ms > 0:
            self._sum_ms += min(ahead_ms, SKEW_MS)
        if ahead_ms > 0 or ahead_ms < -SKEW_MS:  # far back: the clock was set, and goes on from there
            self._reached_ms = at_ms
        if exact or not self.offsets or self._sum_ms - self.passed_ms[-1] >= STRIDE_MS:
            self.offsets.append(offset)
            self.passed_ms.append(self._sum_ms)

    def between(self, start: int, end: int | None) -> int:
        """What has passed at least from the record at `start` to the one at `end` (None: to the end of the input)."""
        first = bisect_left(self.offsets, start)
        last = len(self.offsets) - 1 if end is None else bisect_right(self.offsets, end) - 1
        if first > last or not self.offsets:
            return 0
        return (self._sum_ms if end is None else self.passed_ms[last]) - self.passed_ms[first]


class OtherClocks:
    """What the clocks of a whole input say of the times of one group's records. These say nothing: nobody has such an
    input."""

    __slots__ = ()
    whole: ClassVar[bool] = False
    """Whether there is a whole input."""

    def passed_ms(self, last: LastRecord | None, row: Row) -> int | None:
        """How much of the time since the last record is confirmed; None where nobody can say anything."""
        return None

    def slow_ms(self, row: Row) -> int:
        """How far the clock of this record is behind that of earlier ones; 0 where nothing tells of such a step."""
        return 0

    def until_ms(self, newest: tuple[Source, int] | None, end_ms: int) -> int:
        """Up to when the newest record (place, time in ms) was surely without a successor: its partition goes on, or
        another clock went with its coordinator's and the input ends at `end_ms`."""
        return end_ms

    def newest_ms(self) -> int | None:
        """Up to when it was so by a single clock of the input."""
        return None
