"""The lifecycle of groups that are no classic ones: whether they live, and whether they have members.

Their assignments are not judged. What is published is the group's state, as far as keys and tombstones tell it:
`Empty` without a member, `Dead` once its epoch was deleted, and `Unknown`, Kafka's own word, for a group with members,
which may be stable or reconciling (coordinator-log.md 6).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.streaming.core.fold.clocks import Leap
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, NoTopics, QuietSession, Session
from rebalance_monitor.streaming.core.fold.published import MemberShares
from rebalance_monitor.streaming.core.fold.state import Envelope, LastRecord
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, MemberRow, OtherGroup, Row
from rebalance_monitor.streaming.core.model.results import Standing
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochsState:
    """`members`: those whose newest record is no tombstone. `shown`: the state published last."""

    members: frozenset[str] = frozenset()
    deleted: bool = False
    shown: str | None = None


class EpochsLifecycle(NoTopics):
    """Every group whose records are not those of a classic one."""

    name = "epochs"
    rules: tuple[Rule, ...] = ()
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
        """Who is a member: a record of a member comes only when it changes."""
        return stored


class EpochsSession(QuietSession):
    """One such group in one call of the fold."""

    def __init__(self, view: GroupView, state: EpochsState) -> None:
        self.view, self.state = view, state

    def take(self, row: Row, *, hole: bool) -> Sequence[Output]:
        """The state of the group after this record, where it changed."""
        body = row.body
        if not isinstance(body, OtherGroup):
            return ()
        if body.member is not None:
            one = frozenset({body.member})
            members = self.state.members - one if body.deleted else self.state.members | one
            self.state = replace(self.state, members=members)
        if body.whole:  # after the tombstone of its epoch nothing is left of a group but garbage
            members = frozenset[str]() if body.deleted else self.state.members
            self.state = replace(self.state, deleted=body.deleted, members=members)
        known = self.view.envelope
        if self.state.shown is None and known.generation is None and not known.seen_from_start:
            return ()  # a group that never was a classic one, not even by its tombstone, is not shown yet
        shown = "Dead" if self.state.deleted else "Unknown" if self.state.members else "Empty"
        if shown == self.state.shown:
            return ()
        self.state = replace(self.state, shown=shown)
        view = self.view
        return [Standing(cluster=view.settings.name, group=view.group, state=shown, at_ms=row.timestamp_ms)]

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        """No record of these groups is a generation."""
        return ()

    def shares(self, member: MemberRow) -> MemberShares:
        """Nothing is published of members."""
        return MemberShares()

    def last(self) -> LastRecord | None:
        """Nothing is timed."""
        return None

    def begin_life(self) -> None:
        """What is known of members goes on with their records."""

    def end(self, row: Row, *, historic: bool) -> None:
        """The group goes on as a classic one."""
        self.state = EpochsState()

    def stored(self) -> str | None:
        """The state, where anything is known."""
        return None if self.state == EpochsState() else dumps(self.state)
