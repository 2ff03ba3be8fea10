"""The lifecycle of KIP-848 consumer groups and KIP-1071 Streams groups, and of all that are only counted (`counted`).

The records of such a group state its epochs, members and assignments one by one. The session keeps the group as they
show it, closes one operation of the coordinator after the other (`operation`), and publishes each target with who has
to have what, its cause and its verdict, when its members have reached it, and the state of the group.
"""

from collections.abc import Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core.epochs import catalogue, counted, operation, tasks_catalogue, timing
from rebalance_monitor.streaming.core.epochs.group import EpochGroup
from rebalance_monitor.streaming.core.epochs.holdings import holdings_of
from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.epochs.tally import EpochTally
from rebalance_monitor.streaming.core.fold import missing_members
from rebalance_monitor.streaming.core.fold.capabilities import Holdings, Holds
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, Lifecycle, Session
from rebalance_monitor.streaming.core.fold.missing_members import NOBODY_MISSED
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import CodecError, dumps, loads
from rebalance_monitor.streaming.core.model.records import Body, OtherGroup, Row
from rebalance_monitor.streaming.core.model.results import Standing
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from rebalance_monitor.streaming.core.targets.moment import record_of
from rebalance_monitor.streaming.core.targets.session import TargetsSession
from rebalance_monitor.streaming.core.targets.timing import silent_member_ms


class EpochsLifecycle(Lifecycle):
    """Every group whose records are not those of a classic one."""

    name = "epochs"
    rules: tuple[Rule, ...] = (*catalogue.RULES, *tasks_catalogue.RULES)
    outlive: frozenset[str] = frozenset()
    converts = True
    classic = False
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
        return dumps(replace(state, begun=(), trusted=False, underway=None, cause=(), left={}, missed=NOBODY_MISSED))


class EpochsSession(TargetsSession[EpochsState, EpochTally], Holds):
    """One such group in one call of the fold."""

    laws = operation.LAWS

    def blank(self) -> EpochsState:
        return EpochsState()

    def tally_of(self, state: EpochsState) -> EpochTally:
        return EpochTally(state.view, silent_member_ms(self.view))

    def close(self) -> tuple[EpochsState, EpochTally, Sequence[Output]]:
        return operation.closed(self.view, self.state, self.tally())

    def shifted(self, by_ms: int) -> EpochsState:
        return timing.shifted(self.state, by_ms)

    def overdue(self, at_ms: int, *, historic: bool) -> tuple[EpochsState, Sequence[Output]]:
        """The laws about time, and static members that did not come back."""
        state, outputs = super().overdue(at_ms, historic=historic)
        missed, told = missing_members.fired(self.view, state.missed, at_ms, historic=historic)
        return replace(state, missed=missed), [*outputs, *told]

    def due_ms(self) -> int | None:
        return timing.due_ms(self.view, self.state, self.tally())

    def take(self, row: Row) -> Sequence[Output]:
        """A record of the moment that was begun, or of a kind that is only counted."""
        if record_of(row) is not None:
            if self._is_left(row):
                return ()
            self.state = replace(self.state, deleted=False)
            return super().take(row)
        body = row.body
        if not isinstance(body, OtherGroup):
            return ()
        self.state = counted.counted(self.state, body)
        known = self.view.envelope
        if self.state.shown is None and known.generation is None and not known.seen_from_start:
            return ()  # a group that never was a classic one, not even by its tombstone, is not shown yet
        word = body.state or counted.word(self.state)
        if word == self.state.shown:
            return ()
        self.state = replace(self.state, shown=word)
        view = self.view
        return [Standing(cluster=view.settings.name, group=view.group, state=word, at_ms=row.timestamp_ms)]

    def holdings(self) -> Holdings | None:
        """The partitions that each member may consume."""
        return holdings_of(self.state, self.view.knowledge.topics)

    def _is_left(self, row: Row) -> bool:
        """Whether the row deletes something of a group that is deleted already, as a coordinator does with the
        topology."""
        known = self.view.envelope
        over = known.deleted or known.seen_from_start
        deletes = isinstance(row.body, OtherGroup) and row.body.deleted
        left = self.state.view
        return (
            over and deletes and not self.state.begun and not left.members and replace(left, ahead_ms=0) == EpochGroup()
        )

    def begin_life(self) -> None:
        """Nothing is known of anybody. Who is known by the id alone goes on to be."""
        self.state = EpochsState(members=self.state.members, shown=self.state.shown)
