"""Whose clock it is: records carry the coordinator's, the tick is the monitor's, and the coordinator may move.

Brokers' clocks differ. When another broker takes over a group's partition, the times in its records jump, ahead or
back; Spark's reader does not show the failover itself. So what lies between two records counts as passed only as far
as something else confirms it: the monitor's clock when both records were read as they came, other clocks of a replay's
input, or what the lifecycle itself knows (`Session.rebase`).

    10:00:00  record 7                broker 1
    10:21:00  record 8                broker 2, whose clock is 20 minutes ahead
    tick 10:02:00 of the monitor      reads 10:22:00 for this group from now on

The rest of an interval is no proof of anything: what it alone would bring up is info at most.
"""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick, Waiting
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from .span import FARTHEST_MS, SKEW_MS, SLACK_MS, ClockSpan, at_least, confirmed
from .span import FOREVER_MS as FOREVER_MS


@dataclass(frozen=True, slots=True)
class Leap:
    """What is odd about the time between two records: `back_ms` (at most 0), how far the second one's time went back
    beyond what passed; `unsure_ms`, how much of a longer time nobody but the coordinator says has passed."""

    back_ms: int = 0
    unsure_ms: int = 0


NO_LEAP = Leap()


@dataclass(frozen=True, slots=True)
class Passing:
    """What other clocks say of the time before a record. `others_ms`: how much has passed since the last one by the
    clocks of a whole input; None where nobody can say. `behind_ms`: see `MonitorsView`. `slow_ms`: how far the record's
    clock is behind the one before by the clocks of a whole input, where they tell of such a step."""

    head: Waiting
    others_ms: int | None
    behind_ms: int | None
    slow_ms: int = 0

    def by_the_monitor(self, at_ms: int) -> int | None:
        """The time from the reading of a record of this time to that of the head; None where one of them was not read
        as it came."""
        if self.behind_ms is None or not self.head.ticked:
            return None
        return self.head.arrived_ms - (at_ms + self.behind_ms)

    def seen_ms(self, at_ms: int) -> int | None:
        """What has passed since a record of this time by another clock than the coordinator's; None without one."""
        own_ms = self.by_the_monitor(at_ms)
        return self.others_ms if own_ms is None else own_ms

    def since(self, at_ms: int) -> ClockSpan:
        """The time since a record of this time."""
        passed_ms, seen_ms = self.head.row.timestamp_ms - at_ms, self.seen_ms(at_ms)
        sure = passed_ms >= 0 and confirmed(passed_ms, seen_ms)
        return ClockSpan(passed_ms if sure else at_least(passed_ms, seen_ms), passed_ms)


class MonitorsView(Protocol):
    """How far the coordinator's clock is behind the monitor's, if that is known, and the least of it since the clocks
    changed."""

    @property
    def behind_ms(self) -> int | None: ...

    @property
    def least_behind_ms(self) -> int | None: ...


Viewed = TypeVar("Viewed", bound=MonitorsView)


def leap(known: MonitorsView, last: LastRecord | None, passing: Passing, *, finite: bool) -> Leap:
    """From the last record to this one. `finite`: of a whole input that nobody read as it came."""
    if last is None:
        return NO_LEAP
    head = passing.head
    passed_ms = head.row.timestamp_ms - last.at_ms
    if passed_ms < -SLACK_MS:
        seen_ms = passing.others_ms if finite else passing.by_the_monitor(last.at_ms)
        return Leap(back_ms=passed_ms - max(seen_ms or 0, 0))
    if finite:
        unsure_ms = passed_ms - max(passing.others_ms or 0, SKEW_MS)
    elif known.least_behind_ms is not None and head.ticked:
        unsure_ms = known.least_behind_ms - (head.arrived_ms - head.row.timestamp_ms) - SKEW_MS
    else:
        unsure_ms = 0
    return Leap(unsure_ms=max(unsure_ms, 0))


def read(known: Viewed, head: Waiting, *, live: bool, leapt: bool = False) -> Viewed:
    """After the record: how far its clock is behind the monitor's. `leapt`: it is another clock than before."""
    behind_ms: int | None = None
    if live and head.ticked:
        behind_ms = head.arrived_ms - head.row.timestamp_ms
    elif live and not head.historic:
        behind_ms = known.behind_ms
    if behind_ms is not None and behind_ms < -FARTHEST_MS:
        behind_ms = None
    least_ms = behind_ms
    if least_ms is not None and known.least_behind_ms is not None and not leapt:
        least_ms = min(least_ms, known.least_behind_ms)
    return cast(Viewed, replace(cast(Any, known), behind_ms=behind_ms, least_behind_ms=least_ms))


def groups_time(known: MonitorsView, tick_ms: int) -> int:
    """The monitor's time on the clock of the group's coordinator."""
    return tick_ms - (known.behind_ms or 0)


def monitors_time(known: MonitorsView, at_ms: int) -> int:
    """A time of the coordinator's clock on the monitor's."""
    return at_ms + (known.behind_ms or 0)


def surely_behind_ms(known: MonitorsView) -> int:
    """How far the coordinator's clock is behind the monitor's at least. Records are read some time after they were
    written, so it is no more than the least that one ever was. And where even that is more than two right clocks differ
    by, the records may come late (from a mirrored topic, a backlog), and later ones less late."""
    behind_ms = known.behind_ms if known.least_behind_ms is None else known.least_behind_ms
    return 0 if behind_ms is None or behind_ms > SKEW_MS else behind_ms


def read_ms(known: MonitorsView, newest_ms: int, at_ms: int, tick: Tick | None) -> int | None:
    """By when a record of this time in another topic was written, on the coordinator's clock; None where nobody read it
    as it came, or the tick is no time of day. `newest_ms`: the time of the group's newest record."""
    if tick is None or tick.historic or at_ms - tick.now_ms > FARTHEST_MS:
        return None
    return max(tick.now_ms - surely_behind_ms(known), newest_ms)


def timed(row: Row) -> Row:
    """A group's record that was read without its time, at the one it states itself (since version 2 of its value)."""
    if isinstance(row.body, GroupGeneration) and row.timestamp_ms <= 0 < row.body.state_ms:
        return replace(row, timestamp_ms=row.body.state_ms)
    return row
