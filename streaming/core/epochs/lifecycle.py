"""The lifecycle of KIP-848 consumer groups, and of all groups that are only counted (`counted`).

The records of a KIP-848 group state its epochs, members and assignments one by one. The session keeps the group as they
show it, closes one operation of the coordinator after the other (`operation`), and publishes each target with who has
to have what, its cause and its verdict, when its members have reached it, and the state of the group.
"""

from collections.abc import Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core.epochs import catalogue, counted, operation, timing
from rebalance_monitor.streaming.core.epochs.operation import begins_another, record_of
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.fold import clocks
from rebalance_monitor.streaming.core.fold.clocks import Leap, Passing
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, NoTopics, QuietSession, Session
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.fold.state import Envelope, LastRecord
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import CodecError, dumps, loads
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, MemberRow, OtherGroup, Row
from rebalance_monitor.streaming.core.model.results import Source, Standing
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from rebalance_monitor.streaming.core.reading.decoding import read_again

CLOSED_MS = 100
"""So long after a moment, by the clock, the coordinator has written everything of it, and it was read."""


class EpochsLifecycle(NoTopics):
    """Every group whose records are not those of a classic one."""

    name = "epochs"
    rules: tuple[Rule, ...] = catalogue.RULES
    outlive: frozenset[str] = frozenset()
    converts = True
    members: MemberFormat | None = None

    def owns(self, body: Body) -> bool:
        """Records of any other type of the coordinator's log."""
        return isinstance(body, OtherGroup)

    def open(self, view: GroupView, stored: str | None) -> Session:
        """Raises CodecError."""
        return EpochsSession(view, EpochsState() if stored is None else loads(EpochsState, stored))

    def salvage(self, stored: str) -> str | None:
        """The group as it was last known to be: a member's record comes only when it changes. What failed may be one of
        its records, so nothing is concluded from it until it is seen to be in order."""
        try:
            state = loads(EpochsState, stored)
        except CodecError:
            return None
        return dumps(replace(state, begun=(), trusted=False, underway=None, cause=(), left={}))


class EpochsSession(QuietSession):
    """One such group in one call of the fold."""

    def __init__(self, view: GroupView, state: EpochsState) -> None:
        begun = tuple(
            replace(row, body=read_again(row.body)) if isinstance(row.body, OtherGroup) else row for row in state.begun
        )
        self.view, self.state = view, replace(state, begun=begun)

    def closed_before(self, row: Row) -> Sequence[Output]:
        """What the records of an earlier moment say together."""
        return self._close() if begins_another(self.state, row) else ()

    def closed_by(self, at_ms: int) -> Sequence[Output]:
        """The same where no record of that moment can come any more."""
        begun = self.state.begun
        return self._close() if begun and begun[0].timestamp_ms + CLOSED_MS <= at_ms else ()

    def take(self, row: Row, *, hole: bool) -> Sequence[Output]:
        """A record of the moment that was begun, or of a kind that is only counted."""
        if record_of(row) is not None:
            self.state = replace(self.state, begun=(*self.state.begun, row), deleted=False)
            return ()
        body = row.body
        if not isinstance(body, OtherGroup):
            return ()
        self.state = counted.counted(self.state, body)
        known = self.view.envelope
        if self.state.shown is None and known.generation is None and not known.seen_from_start:
            return ()  # a group that never was a classic one, not even by its tombstone, is not shown yet
        word = counted.word(self.state)
        if word == self.state.shown:
            return ()
        self.state = replace(self.state, shown=word)
        view = self.view
        return [Standing(cluster=view.settings.name, group=view.group, state=word, at_ms=row.timestamp_ms)]

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
            self.state = timing.shifted(self.state, passing.unsure_ms(self.state.last.at_ms))
        return ()

    def due_ms(self) -> int | None:
        """When something has lasted too long."""
        return timing.due_ms(self.view, self.state)

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        """What has lasted too long."""
        due_ms = self.due_ms()
        if due_ms is None or due_ms > at_ms:
            return ()
        self.state, outputs = operation.fired(self.view, self.state, at_ms, historic=historic)
        return outputs

    def timed_from(self) -> tuple[Source, int] | None:
        """The last record, where something lasts."""
        last = self.state.last
        return None if last is None or self.due_ms() is None else (last.source, last.at_ms)

    def live_due_ms(self) -> int | None:
        """When the moment that was begun is over."""
        if not self.state.begun:
            return None
        due_ms = clocks.monitors_time(self.view.envelope, self.state.begun[0].timestamp_ms + CLOSED_MS)
        tick = self.view.tick
        # In history time stands still: the group is to be folded once that is over.
        return max(due_ms, tick.now_ms + 1) if tick is not None and tick.historic else due_ms

    def begin_life(self) -> None:
        """Nothing is known of anybody. Who is known by the id alone goes on to be."""
        self.state = EpochsState(members=self.state.members, shown=self.state.shown)

    def end(self, row: Row, *, historic: bool) -> None:
        """The group is deleted, or goes on as a classic one."""
        self.state = EpochsState()

    def stored(self) -> str | None:
        """The state, where anything is known."""
        return None if self.state == EpochsState() else dumps(self.state)

    def _close(self) -> Sequence[Output]:
        self.state, outputs = operation.closed(self.view, self.state)
        return outputs
