"""One group with targets in one call of the fold: its records by moments, its deadlines, its stored state.

A protocol derives its session from `TargetsSession` and says what a closed moment and a passed deadline mean.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from rebalance_monitor.streaming.core.fold import clocks
from rebalance_monitor.streaming.core.fold.capabilities import Moments, Timed
from rebalance_monitor.streaming.core.fold.clocks import Leap, Passing
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.fold.state import Envelope, LastRecord
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.model.codec import dumps
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import MemberRow, OtherGroup, Row
from rebalance_monitor.streaming.core.targets.moment import (
    CLOSED_MS,
    begins_another,
    carried_on,
    record_of,
    records_of,
    torn_off,
)
from rebalance_monitor.streaming.core.targets.state import TargetsState
from rebalance_monitor.streaming.core.targets.tally import Tally
from rebalance_monitor.streaming.core.targets.timing import settled, shifted
from rebalance_monitor.streaming.core.targets.trust import Laws, doubted, fired

S = TypeVar("S", bound=TargetsState)
T = TypeVar("T", bound=Tally[Any, Any, Any])


class TargetsSession(Moments, Timed, Generic[S, T]):
    """A group whose records are kept until their moment is closed."""

    laws: Laws[S, T, Any]

    def __init__(self, view: GroupView, state: S) -> None:
        self.view, self.state = view, replace(state, begun=carried_on(state.begun))
        self._tally: T | None = None

    @abstractmethod
    def blank(self) -> S:
        """The state of a group that nothing is known of."""

    @abstractmethod
    def tally_of(self, state: S) -> T:
        """The sums over the members of the group in this state."""

    @abstractmethod
    def close(self) -> tuple[S, T, Sequence[Output]]:
        """The state after the moment that was set aside, its tally, and what is published of it."""

    def overdue(self, at_ms: int, *, historic: bool) -> tuple[S, Sequence[Output]]:
        """The state after this time, and what has lasted too long."""
        return fired(self.view, self.state, self.tally(), self.laws, at_ms, historic=historic)

    def shifted(self, by_ms: int) -> S:
        """The state by a clock that is so far ahead."""
        return shifted(self.state, by_ms)

    def tally(self) -> T:
        """The sums over the members as they are."""
        if self._tally is None or self._tally.group is not self.state.view:
            self._tally = self.tally_of(self.state)
        return self._tally

    def closed_before(self, row: Row) -> Sequence[Output]:
        """What the records of an earlier moment say together."""
        begun = self.state.begun
        if begun and begins_another(begun, row) and isinstance(row.body, OtherGroup) and row.body.after_hole:
            # What is missing before this record may be the end of that moment.
            self.state = doubted(self.state, begun[0].timestamp_ms)
        return self._closed() if begins_another(begun, row) else ()

    def closed_by(self, at_ms: int) -> Sequence[Output]:
        """The same where no record of that moment can come any more."""
        begun = self.state.begun
        if not begun or begun[0].timestamp_ms + CLOSED_MS > at_ms:
            return ()
        if at_ms == clocks.FOREVER_MS and torn_off(records_of(begun), self.state.view.parts()):
            self.state = doubted(self.state, begun[0].timestamp_ms)
        return self._closed()

    def take(self, row: Row) -> Sequence[Output]:
        """A record of the moment that was begun."""
        if record_of(row) is not None:
            self.state = replace(self.state, begun=(*self.state.begun, row))
        return ()

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        """No record of these groups is a generation by itself."""
        return ()

    def shares(self, member: MemberRow) -> MemberShares:
        """No record of a classic group is read for it."""
        return MemberShares()

    def last(self) -> LastRecord | None:
        """The last record of the last closed moment."""
        return self.state.last

    def rebase(self, passing: Passing) -> Sequence[Output]:
        """What lasts has lasted as long as is sure; the records of one moment count once."""
        if self.state.last is not None and not self.state.begun:
            tally = self.tally()
            self.state = self.shifted(passing.unsure_ms(self.state.last.at_ms))
            self._tally = tally.after(self.state.view, ())
        return ()

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        """What has lasted too long."""
        due_ms = self.due_ms()
        if due_ms is None or due_ms > at_ms:
            return ()
        self.state, outputs = self.overdue(at_ms, historic=historic)
        return outputs

    def closes_ms(self) -> int | None:
        """When the moment that was begun is over."""
        if not self.state.begun:
            return None
        due_ms = clocks.monitors_time(self.view.envelope, self.state.begun[0].timestamp_ms + CLOSED_MS)
        tick = self.view.tick
        # In history time stands still: the group is to be folded once that is over.
        return max(due_ms, tick.now_ms + 1) if tick is not None and tick.historic else due_ms

    def begin_life(self) -> None:
        """Nothing is known of anybody."""
        self.state = replace(self.blank(), shown=self.state.shown)

    def end(self, row: Row, *, historic: bool) -> None:
        """The group is deleted, or goes on under another protocol."""
        self.state = self.blank()

    def stored(self) -> str | None:
        """The state, where anything is known."""
        state = settled(self.state)
        return None if state == self.blank() else dumps(state)

    def _closed(self) -> Sequence[Output]:
        if not self.state.begun:
            return ()
        self.state, self._tally, outputs = self.close()
        return outputs
