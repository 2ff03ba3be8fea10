"""The lifecycle of one kind of groups with targets, and one such group in one call of the fold.

The records of such a group state its epochs, members and assignments one by one. The session keeps the group as they
show it, closes one operation of the coordinator after the other (`closing`), and publishes each target with who has to
have what, its cause and its verdict, when its members have reached it, and the state of the group.
"""

from collections.abc import Sequence

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks import coordinator as clocks
from rebalance_monitor.streaming.core.clocks.coordinator import Leap, Passing
from rebalance_monitor.streaming.core.fold import missing_members
from rebalance_monitor.streaming.core.fold.capabilities import Holdings, Holds, Moments, Timed
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, Lifecycle, Session
from rebalance_monitor.streaming.core.fold.missing_members import NOBODY_MISSED
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import CodecError, dumps, loads
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, MemberRow, OtherGroup, Row
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from . import closing, timing
from .group import TargetGroup
from .kind import Kind
from .operation import CLOSED_MS, begins_another, carried_on, record_of, records_of, torn_off
from .rules import each_once
from .state import TargetsState
from .tally import Tally
from .trust import doubted, found


class TargetsLifecycle(Lifecycle):
    """Every group of one kind whose records are read."""

    outlive: frozenset[str] = frozenset()
    classic = False
    members: MemberFormat | None = None

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    @property
    def name(self) -> str:
        return f"{self.kind.name}_targets"

    @property
    def rules(self) -> tuple[Rule, ...]:
        return each_once(self.kind.rules)

    @property
    def converts(self) -> bool:
        return self.kind.converts

    def owns(self, body: Body) -> bool:
        return isinstance(body, OtherGroup) and body.kind == self.kind.name and body.record is not None

    def open(self, view: GroupView, stored: str | None) -> Session:
        return TargetsSession(self.kind, view, TargetsState() if stored is None else loads(TargetsState, stored))

    def salvage(self, stored: str) -> str | None:
        """The group as it was last known to be: a member's record comes only when it changes. What failed may be one of
        its records, so nothing is concluded from it until it is seen to be in order."""
        try:
            state = loads(TargetsState, stored)
        except CodecError:
            return None
        return dumps(replace(state, begun=(), trusted=False, underway=None, cause=(), left={}, missed=NOBODY_MISSED))


class TargetsSession(Moments, Timed, Holds):
    """A group whose records are kept until their moment is closed."""

    def __init__(self, kind: Kind, view: GroupView, state: TargetsState) -> None:
        self.kind, self.view, self.state = kind, view, replace(state, begun=carried_on(state.begun))
        self._tally: Tally | None = None

    def tally(self) -> Tally:
        """The sums over the members as they are."""
        if self._tally is None or self._tally.group is not self.state.view:
            self._tally = Tally(self.state.view, self.kind.terms(timing.silent_member_ms(self.view)))
        return self._tally

    def closed_before(self, row: Row) -> Sequence[Output]:
        begun = self.state.begun
        if begun and begins_another(begun, row) and isinstance(row.body, OtherGroup) and row.body.after_hole:
            # What is missing before this record may be the end of that moment.
            self.state = doubted(self.state, begun[0].timestamp_ms)
        return self._closed() if begins_another(begun, row) else ()

    def closed_by(self, at_ms: int) -> Sequence[Output]:
        begun = self.state.begun
        if not begun or begun[0].timestamp_ms + CLOSED_MS > at_ms:
            return ()
        if at_ms == clocks.FOREVER_MS and torn_off(records_of(begun), self.kind.parts):
            self.state = doubted(self.state, begun[0].timestamp_ms)
        return self._closed()

    def take(self, row: Row) -> Sequence[Output]:
        if record_of(row) is not None and not self._is_left(row):
            self.state = replace(self.state, begun=(*self.state.begun, row))
        return ()

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        """No record of these groups is a generation by itself."""
        return ()

    def shares(self, member: MemberRow) -> MemberShares:
        """No record of a classic group is read for it."""
        return MemberShares()

    def last(self) -> LastRecord | None:
        return self.state.last

    def rebase(self, passing: Passing) -> Sequence[Output]:
        """What lasts has lasted as long as is sure; the records of one moment count once."""
        if self.state.last is not None and not self.state.begun:
            tally = self.tally()
            self.state = self.state.shifted(passing.since(self.state.last.at_ms).unsure_ms)
            self._tally = tally.after(self.state.view, ())
        return ()

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        due_ms, view = self.due_ms(), self.view
        if due_ms is None or due_ms > at_ms:
            return ()
        late = found(self.kind, view, self.state, timing.overdue(self.kind, view, self.state, self.tally(), at_ms))
        told = [Notice(moment=view.moment(at_ms, historic=historic), found=late)] if late else []
        missed, gone = missing_members.fired(view, self.state.missed, at_ms, historic=historic)
        self.state = replace(self.state, fired_ms=at_ms, missed=missed)
        return [*told, *gone]

    def due_ms(self) -> int | None:
        return timing.due_ms(self.view, self.state, self.tally())

    def holdings(self) -> Holdings | None:
        state, history = self.state, self.view.knowledge.topics
        return self.kind.holdings(state.view, history) if state.trusted else None

    def closes_ms(self) -> int | None:
        if not self.state.begun:
            return None
        due_ms = clocks.monitors_time(self.view.envelope, self.state.begun[0].timestamp_ms + CLOSED_MS)
        tick = self.view.tick
        # In history time stands still: the group is to be folded once that is over.
        return max(due_ms, tick.now_ms + 1) if tick is not None and tick.historic else due_ms

    def begin_life(self) -> None:
        self.state = TargetsState(shown=self.state.shown)

    def end(self, row: Row, *, historic: bool) -> None:
        self.state = TargetsState()

    def stored(self) -> str | None:
        state = self.state.settled()
        return None if state == TargetsState() else dumps(state)

    def _closed(self) -> Sequence[Output]:
        if not self.state.begun:
            return ()
        self.state, self._tally, outputs = closing.closed(self.kind, self.view, self.state, self.tally())
        return outputs

    def _is_left(self, row: Row) -> bool:
        """Whether the row deletes something of a group that is deleted already, as a coordinator does with the
        topology."""
        known, left = self.view.envelope, self.state.view
        over = known.deleted or known.seen_from_start
        deletes = isinstance(row.body, OtherGroup) and row.body.deleted
        blank = not left.members and replace(left, ahead_ms=0) == TargetGroup()
        return over and deletes and not self.state.begun and blank
