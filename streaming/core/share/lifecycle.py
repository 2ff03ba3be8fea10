"""The lifecycle of share groups (KIP-932).

The records of a share group state its epochs, members, targets and the partitions that have share state one by one.
The session keeps the group as they show it, closes one moment of the coordinator after the other (`operation`), and
publishes each target with who has to have what, its cause and its verdict, when its members have reached it, and the
state of the group.
"""

from collections.abc import Sequence
from dataclasses import replace

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, Lifecycle, Session
from rebalance_monitor.streaming.core.incidents.notice import Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import CodecError, dumps, loads
from rebalance_monitor.streaming.core.model.records import Body, OtherGroup
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat
from rebalance_monitor.streaming.core.share import catalogue, operation, timing
from rebalance_monitor.streaming.core.share.group import KIND
from rebalance_monitor.streaming.core.share.state import ShareState
from rebalance_monitor.streaming.core.share.tally import ShareTally
from rebalance_monitor.streaming.core.targets.session import TargetsSession
from rebalance_monitor.streaming.core.targets.timing import silent_member_ms


class ShareLifecycle(Lifecycle):
    """Every group whose records are those of a share group."""

    name = KIND
    rules: tuple[Rule, ...] = catalogue.RULES
    outlive: frozenset[str] = frozenset()
    converts = False
    classic = False
    members: MemberFormat | None = None

    def owns(self, body: Body) -> bool:
        """Records of types 9 to 15."""
        return isinstance(body, OtherGroup) and body.kind == KIND

    def open(self, view: GroupView, stored: str | None) -> Session:
        """Raises CodecError."""
        return ShareSession(view, ShareState() if stored is None else loads(ShareState, stored))

    def salvage(self, stored: str) -> str | None:
        """The group as it was last known to be: a member's record comes only when it changes. What failed may be one of
        its records, so nothing is concluded from it until it is seen to be in order."""
        try:
            state = loads(ShareState, stored)
        except CodecError:
            return None
        return dumps(replace(state, begun=(), trusted=False, underway=None, cause=(), left={}))


class ShareSession(TargetsSession[ShareState, ShareTally]):
    """One share group in one call of the fold."""

    laws = operation.LAWS

    def blank(self) -> ShareState:
        return ShareState()

    def tally_of(self, state: ShareState) -> ShareTally:
        return ShareTally(state.view, silent_member_ms(self.view))

    def close(self) -> tuple[ShareState, ShareTally, Sequence[Output]]:
        return operation.closed(self.view, self.state, self.tally())

    def due_ms(self) -> int | None:
        return timing.due_ms(self.view, self.state, self.tally())
