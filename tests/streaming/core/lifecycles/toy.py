"""A lifecycle of another kind of group: one package, and one entry in the registry that the fold takes.

Groups of protocol type `toy` name a captain. A captain must follow within a minute, or the rule opens an incident.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebalance_monitor.streaming.core.clocks.coordinator import Leap, Passing
from rebalance_monitor.streaming.core.fold.capabilities import Timed
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView, Lifecycle, Session
from rebalance_monitor.streaming.core.fold.published import MemberShares, body_of, published_as, source_of
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice, Output
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.reasons import Reason
from rebalance_monitor.streaming.core.model.records import Body, GroupGeneration, MemberRow, Row
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Grade, Severity, Subject, Verdict
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from rebalance_monitor.streaming.core.reading.blobs import MemberFormat

PATIENCE_MS = 60_000

NO_CAPTAIN = Rule(
    code="TOY-1", title="no_captain", severity=Severity.HIGH, for_ms=0, alert="ToyNoCaptain", wrong="Nobody leads."
)


@dataclass(frozen=True, slots=True)
class ToyState:
    """The last record, and since when nobody is captain."""

    last: LastRecord | None = None
    without_ms: int | None = None


class ToyLifecycle(Lifecycle):
    """Groups of protocol type `toy`."""

    name = "toy"
    rules = (NO_CAPTAIN,)
    outlive: frozenset[str] = frozenset()
    converts = False
    classic = True
    members: MemberFormat | None = None

    def owns(self, body: Body) -> bool:
        return isinstance(body, GroupGeneration) and body.protocol_type == "toy"

    def open(self, view: GroupView, stored: str | None) -> Session:
        return ToySession(view, ToyState() if stored is None else loads(ToyState, stored))


class ToySession(Timed):
    """One toy group."""

    def __init__(self, view: GroupView, state: ToyState) -> None:
        self.view, self.state = view, state

    def shares(self, member: MemberRow) -> MemberShares:
        return MemberShares()

    def last(self) -> LastRecord | None:
        return self.state.last

    def begin_life(self) -> None:
        self.state = ToyState()

    def judge(self, row: Row, never_came: Reason | None, before: Envelope, leap: Leap) -> Sequence[Output]:
        body = body_of(row)
        captain = any(one.assignment_bytes == b"captain" for one in body.members)
        last = LastRecord(source_of(row), row.timestamp_ms)
        self.state = ToyState(last, None if captain else row.timestamp_ms)
        grade = Grade.MATCH if captain else Grade.UNEXPLAINED
        view, verdict = self.view, Verdict(grade=grade)
        published = published_as(view, row, shares=self.shares, verdict=verdict)
        moment = view.moment(row.timestamp_ms, generation=body.generation)
        over = frozenset({NO_CAPTAIN.code}) if captain else frozenset[str]()
        return [published, Notice(moment=moment, evaluated=over)]

    def end(self, row: Row, *, historic: bool) -> None:
        self.state = ToyState()

    def due_ms(self) -> int | None:
        return None if self.state.without_ms is None else self.state.without_ms + PATIENCE_MS

    def fire(self, at_ms: int, *, historic: bool) -> Sequence[Output]:
        last = self.state.last
        if last is None or self.state.without_ms is None or at_ms < self.state.without_ms + PATIENCE_MS:
            return ()
        self.state = replace(self.state, without_ms=None)
        found = Finding(
            rule=NO_CAPTAIN,
            severity=NO_CAPTAIN.severity,
            certainty=Certainty.CERTAIN,
            subjects=(Subject("group", self.view.group),),
            message="nobody is captain",
            evidence=(Evidence(source=last.source),),
        )
        return [Notice(moment=self.view.moment(at_ms, historic=historic), found=(found,))]

    def rebase(self, passing: Passing) -> Sequence[Output]:
        return ()

    def stored(self) -> str | None:
        return None if self.state == ToyState() else dumps(self.state)
